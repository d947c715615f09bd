"""plan -> attempt -> gates -> adopt: a change is made on the side, judged, and adopted or thrown away."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kith.core.errors import TreeError
from kith.core.events import Applied, Judged, Notice, Proposed, Status
from kith.core.loop import begin_turn, converse
from kith.core.model import Role
from kith.core.run import Gate, Run, Thread, new_id
from kith.core.values import Change, Changes, Question, Verdict, say
from kith.core.workspace import Trial
from kith.edits import EditError, find_edits, make_changes, paths_of, summarise
from kith.workflows.judges import Judges
from kith.workflows.plan import PlanRejected, agree_on_plan, with_request
from kith.workflows.roles import as_planner

BESIDE = (
    "Nothing was changed: your edits stood beside tool calls, and only edits in a reply without tool calls "
    "are taken. Send them again, in a reply of their own or as calls of the edit tool."
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended."""

    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a task has come; a resumed task begins with what its log says of this.

    `refusals`: noes of gates since a person last spoke. `refusal`: the last one, while the model has not been
    told of it. `compared`: the checks have run on the untouched tree. `landed`: the edits in the last
    message are in the trial.
    """

    attempts: int = 0
    refusals: int = 0
    refusal: Verdict | None = None
    compared: bool = False
    landed: bool = False


async def attempt(
    run: Run,
    role: Role,
    thread: Thread,
    task: str,
    judges: Judges,
    *,
    name: str = "",
    plan: Literal["no", "yes", "show"] = "no",
    earlier: Progress | None = None,
) -> Outcome:
    """Let a role do `task` in a trial called `name` until gates and person agree, then adopt the change.

    With `earlier`, the thread already holds the task and the work goes on where it stopped.
    """
    async with run.workspace.trial(name) as trial:
        inside = run.inside(trial)
        if earlier is None:
            begin_turn(inside, thread, say(task if plan == "no" else with_request(task)))
        try:
            if plan != "no":
                await agree_on_plan(inside, as_planner(role), thread, ask=plan == "show")
            return await _work(run, trial, role, thread, judges, earlier or Progress())
        except PlanRejected as no:
            return Outcome("rejected", str(no))
        except TreeError as error:
            # The trial no longer fits the tree (or the disk): keeping it would only repeat this.
            return Outcome("failed", str(error))


async def _work(
    run: Run, trial: Trial, role: Role, thread: Thread, judges: Judges, progress: Progress
) -> Outcome:
    """Attempt after attempt; every no, a gate's or the person's, is the next message."""
    inside = run.inside(trial)
    while progress.refusals < run.limits.tries:
        if progress.refusal:
            thread.add(inside, say(progress.refusal.feedback, progress.refusal.by))
        progress = replace(progress, attempts=progress.attempts + 1, refusal=None)
        with inside.step(f"attempt {progress.attempts}") as step:
            changes, verdict = await _try(step, trial, role, thread, judges, progress)
        progress = replace(progress, landed=False, compared=progress.compared or verdict.by != "edits")
        if not verdict.ok:
            progress = replace(progress, refusal=verdict, refusals=progress.refusals + 1)
            continue
        if not changes:
            return Outcome("done", thread.last_words)
        await _tell_notes(inside, changes, role if judges.review else None, thread)
        decision = await judges.person(inside, changes)
        if decision.ok:
            return await adopt(run, trial, judges, changes, decision, thread.last_words)
        if not decision.feedback:
            return Outcome("rejected", "Nothing was applied.")
        progress = replace(progress, refusal=decision, refusals=0)
    tries = f"{progress.refusals} tries" if progress.refusals > 1 else "one try"
    return Outcome("failed", f"Nothing was applied: after {tries}, {_reason(progress.refusal)}")


async def _tell_notes(run: Run, changes: Changes, role: Role | None, thread: Thread) -> None:
    """What a reviewer would say, beside the diff."""
    from kith.workflows.review.notes import tell_notes  # linters and their readers, when there is a change

    await tell_notes(run, changes, role, thread)


def _reason(refusal: Verdict | None) -> str:
    """A gate's no for the person, in a line; the letter to the model is in the log."""
    if refusal is None:
        return "the checks had said no."
    first = (refusal.feedback.strip() or "it does not say why").splitlines()[0]
    if refusal.ran:
        ran = refusal.ran[-1]
        how = "timed out" if ran.timed_out else f"ends with exit code {ran.code}"
        return f"`{ran.command}` {how} ({first}). Other checks: --check CMD, or --check none."
    return f"{refusal.by}: {first}"


async def _try(
    run: Run, trial: Trial, role: Role, thread: Thread, judges: Judges, progress: Progress
) -> tuple[Changes, Verdict]:
    """One attempt of the model, and what the gates say of it."""
    number = progress.attempts
    await converse(run, role, thread, number)
    verdict = Verdict(True, by="edits")
    if not progress.landed:
        verdict = await land_edits(run, trial, thread, number)
    changes = await trial.changes()
    run.emit(Proposed(summarise(changes)))
    if verdict.ok and not changes and _edits_beside_calls(thread):
        verdict = Verdict(False, BESIDE, "edits")
        run.emit(Judged("edits", False, number, BESIDE))
    if verdict.ok and (changes or judges.must_check):
        verdict = await judge(run, judges, changes, number, compare=not progress.compared)
    return changes, verdict


async def land_edits(run: Run, trial: Trial, thread: Thread, attempt: int) -> Verdict:
    """Bring the edits that the last reply holds as text into the trial: all of them or none."""
    replies = (m for m in reversed(thread.messages) if m.role == "assistant" and m.author != "kith")
    words = next((message.text for message in replies), "")
    try:
        known = frozenset(await trial.files())
        edits = find_edits(words, known)
        if not edits:
            return Verdict(True, by="edits")
        contents = {path: await _read_or_none(trial, path, known) for path in paths_of(edits)}
        await _write_all(trial, make_changes(edits, contents))
        verdict = Verdict(True, by="edits")
    except (EditError, TreeError) as error:
        verdict = Verdict(False, str(error), "edits")
    run.emit(Judged("edits", verdict.ok, attempt, verdict.feedback))
    return verdict


async def _write_all(trial: Trial, changes: Changes) -> None:
    """Write every file, keeping its mode; what the trial refuses takes the others back."""
    written: list[Change] = []
    try:
        for change in changes:
            await trial.write(change.path, change.after)
            written.append(change)
    except TreeError:
        for change in reversed(written):
            await trial.write(change.path, change.before)
        raise


async def _read_or_none(trial: Trial, path: str, known: frozenset[str]) -> bytes | None:
    try:
        return await trial.read(path)
    except TreeError:
        if path in known:
            raise
        return None


def _edits_beside_calls(thread: Thread) -> bool:
    """Whether the model wrote edits in a message that also called tools, since somebody last spoke."""
    for message in reversed(thread.messages):
        if message.role == "user":
            return False
        try:
            if message.calls and find_edits(message.text):
                return True
        except EditError:
            return True
    return False


async def judge(run: Run, judges: Judges, changes: Changes, attempt: int, *, compare: bool) -> Verdict:
    """Ask the gates in turn; the first no ends it. With `compare`, the untouched tree is checked too."""
    if not compare:
        return await _ask_gates(run, await judges.gates(), changes, attempt)
    if not run.workspace.confined:  # two runs in one unconfined place would get in each other's way
        await _compare(run, judges)
        return await _ask_gates(run, await judges.gates(), changes, attempt)
    before = asyncio.ensure_future(judges.baseline())
    try:
        verdict = await _ask_gates(run, await judges.gates(), changes, attempt)
        for judged in await before:
            run.emit(judged)
        return verdict
    finally:
        before.cancel()
        await asyncio.wait([before])


async def _compare(run: Run, judges: Judges) -> frozenset[str]:
    """Check the untouched tree; returns the gates that say no to it."""
    compared = await judges.baseline()
    for judged in compared:
        run.emit(judged)
    return frozenset(judged.gate for judged in compared if not judged.ok)


async def _ask_gates(
    run: Run, gates: Sequence[Gate], changes: Changes, attempt: int, forgiven: frozenset[str] = frozenset()
) -> Verdict:
    """The first no, or yes. A no of a gate that is `forgiven` is told, and the next gate is asked."""
    for gate in gates:
        verdict = await gate(run, changes)
        skipped = verdict.ok and bool(verdict.feedback)
        run.emit(_judged(verdict, attempt, skipped))
        if not verdict.ok and verdict.by not in forgiven:
            return verdict
        if not verdict.ok:
            run.emit(Notice(f"{verdict.by} fails, as it did before the change.", "warning"))
    return Verdict(True, by="gates")


def _judged(verdict: Verdict, attempt: int, skipped: bool) -> Judged:
    return Judged(
        verdict.by,
        verdict.ok,
        attempt,
        verdict.feedback,
        verdict.ran,
        skipped=skipped,
        figures=dict(verdict.figures),
    )


async def adopt(
    run: Run, trial: Trial, judges: Judges, changes: Changes, decision: Verdict, text: str
) -> Outcome:
    """Bring the change, or what the person kept of it, into the user's tree."""
    kept = changes if decision.changes is None else decision.changes
    if kept != changes and not await _still_good(run, judges, kept):
        return Outcome("rejected", "Nothing was applied.")
    messages = await trial.commits()
    change_id = await run.workspace.apply(kept)
    run.emit(Applied(change_id, summarise(kept)))
    if messages and kept == changes:
        await judges.commit([change.path for change in kept], "\n\n".join(messages))
    elif messages:
        run.emit(Notice("Not committed, since only a part was kept.", "warning"))
    return Outcome("done", text)


async def _still_good(run: Run, judges: Judges, kept: Changes) -> bool:
    """Check again what the person kept; if a gate says no to it, the person has the last word."""
    async with run.workspace.trial() as trial:
        await trial.apply(kept)
        verdict = await _ask_gates(run.inside(trial), await judges.gates(), kept, attempt=0)
    if verdict.ok:
        return True
    run.emit(Notice("What you kept does not pass the checks.", "warning"))
    text = f"{verdict.by} fails on what you kept. Apply it all the same?"
    answer = await run.ask(Question(new_id(), "change", text, ("all", "none"), kept))
    return answer.choice == "all"


async def adopt_ready(run: Run, changes: Changes, judges: Judges, text: str) -> Outcome:
    """The same gates and the same question for a change that needed no model."""
    async with run.workspace.trial() as trial:
        await trial.apply(changes)
        inside = run.inside(trial)
        inside.emit(Proposed(summarise(changes)))
        # What failed before is no fault of this change, and there is no model to mend it.
        failed_before = await _compare(inside, judges)
        verdict = await _ask_gates(inside, await judges.gates(), changes, 1, failed_before)
        if not verdict.ok:
            return Outcome("failed", f"Nothing was applied: {_reason(verdict)}")
        decision = await judges.person(inside, changes)
        if not decision.ok:
            return Outcome("rejected", "Nothing was applied.")
        return await adopt(run, trial, judges, changes, decision, text)
