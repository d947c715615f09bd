"""The last steps of a build: everything on the whole change, the person's yes, the tree, and a commit."""

from collections.abc import Sequence
from typing import Final, Literal

from kith.core.events import Applied, Committed, Notice, Proposed
from kith.core.git import list_paths
from kith.core.values import BuildTask, Changes, Verdict
from kith.core.workspace import ExecLimits
from kith.edits import summarise
from kith.edits.pieces import tell_left_out
from kith.features.build.judging import judge_kept, judge_whole
from kith.features.build.prompts import tell_left
from kith.features.build.state import Build
from kith.features.build.work import Work
from kith.gates.human import change_question

_SUBJECT: Final = 72  # characters of a commit's first line
_WITHOUT: Final = "The person would keep only a part of the change. What they would not:"
_WHERE: Final = {"committed": ", applied and committed", "refused": ", applied, but not committed"}
_GIT: Final = ExecLimits(seconds=30.0, output=1_000_000)


async def finish(work: Work) -> tuple[Literal["yes", "uncovered", "no"], str]:
    """All tests and gates on the whole change, and its coverage: what is missing goes to the spec author."""
    work.run.emit(Proposed(summarise(await work.changes())))
    verdict = await judge_whole(work)
    if verdict.ok:
        return "yes", ""
    if verdict.by == "coverage" and work.tools.uncovered and work.build.covers < work.options.max_retries:
        return "uncovered", verdict.feedback
    said = verdict.feedback.strip().split("\n")[0]
    tries = work.build.covers
    tried = f" Tests were added in vain, tries: {tries}." if verdict.by == "coverage" and tries else ""
    return "no", f"Nothing was applied: {verdict.by}: {said}{tried}"


async def approve(work: Work) -> tuple[Literal["yes", "revise", "no"], str]:
    """The person reads one diff: yes, no, a part of it, or what to do differently."""
    changes = await work.changes()
    decision = await work.judges.person(work.run, changes, work.tools.evidence)
    if decision.unmet:
        return "no", decision.feedback
    if not decision.ok:
        return (
            ("revise", _wish(work, changes, decision))
            if decision.feedback
            else ("no", "Nothing was applied.")
        )
    if decision.changes is None or decision.changes == changes:
        return "yes", ""
    return ("yes", "") if await _keep(work, decision.changes) else ("no", "Nothing was applied.")


def _wish(work: Work, changes: Changes, decision: Verdict) -> str:
    """Word the person's revision: their comment, and what they would leave out."""
    told = decision.changes is not None and tell_left_out(
        summarise(changes), summarise(decision.changes), work.run.limits.exec.output // 2
    )
    return f"{decision.feedback}\n\n{_WITHOUT}\n{told}" if told else decision.feedback


async def _keep(work: Work, kept: Changes) -> bool:
    """Let the trial hold what the person kept, and check that again; a no is theirs to overrule."""
    await work.trial.go_back("")
    await work.trial.apply(kept)
    verdict = await judge_kept(work)
    if verdict.ok:
        return True
    work.run.emit(Notice("The part that you kept does not pass the checks.", "warning"))
    text = f"{verdict.by} fails on the part that you kept. Apply it anyway?"
    answer = await work.run.ask(change_question(text, kept, named=work.judges.named))
    return answer.choice == "all"


async def apply(work: Work) -> tuple[Literal["applied"], str]:
    """The person's tree is changed, once; after a crash the log tells whether it was."""
    if work.build.applied is None:
        changes = await work.changes()
        change_id = await work.home.workspace.apply(changes)
        work.tell(Applied(change_id, summarise(changes)))
    return "applied", ""


async def commit(work: Work) -> tuple[Literal["committed", "skipped", "refused"], str]:
    """A commit of what was applied, where it was asked for and is not there yet."""
    applied = work.build.applied
    if not work.options.commit or applied is None:
        return "skipped", ""
    paths = [file.path for file in applied.files]
    status = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignored", "--", *paths]
    if await list_paths(work.home, status, _GIT) == ():
        return "committed", ""
    message = commit_message([piece.task for piece in work.build.done], work.request)
    commit = await work.judges.commit(paths, message)
    if not commit:
        return "refused", ""
    work.tell(Committed(applied.change_id, commit))
    return "committed", ""


def commit_message(tasks: Sequence[BuildTask], request: str) -> str:
    """One line that says what was done, then the tasks where there are several."""
    titles = [task.title for task in tasks]
    joined = "; ".join(titles)
    if len(joined) <= _SUBJECT:
        return joined
    subject = _shorten(titles[0] if len(titles) == 1 else " ".join(request.split()) or titles[0])
    return "\n".join([subject, "", *(f"- {title}" for title in titles)])


def _shorten(line: str) -> str:
    """A line of at most 72 characters, cut between words."""
    if len(line) <= _SUBJECT:
        return line
    kept = line[: _SUBJECT - 3]
    return f"{kept.rpartition(' ')[0] or kept}..."


def tell(build: Build) -> str:
    """Word the end of a finished build for the person."""
    done, all_ = len(build.done), len(build.pieces)
    outcome = build.last.outcome if build.last else ""
    where = _WHERE.get(outcome, " and applied")
    if done < all_:
        titles = "; ".join(piece.task.title for piece in build.done)
        return f"{done} of {all_} tasks are done{where}: {titles}. Not applied: {tell_left(build)}"
    if outcome == "refused":
        return f"All tasks are done{where}."
    return "All tasks are done." if all_ > 1 else "The task is done."
