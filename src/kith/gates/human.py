"""The last gate: a person reads one diff and says yes, no, or what to do differently."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Protocol

from msgspec.structs import replace

from kith.context.secrets import is_secret_file
from kith.core.events import Notice
from kith.core.evidence import Evidence, Standard
from kith.core.run import Run, new_id
from kith.core.values import Answer, Change, Changes, FileChange, Plan, Question, Verdict
from kith.edits import runs_by_itself, summarise

_ANY = Standard()


class Person(Protocol):
    """The person's decision on a change, with the evidence for it."""

    async def __call__(self, run: Run, changes: Changes, evidence: Evidence | None = None, /) -> Verdict: ...


CHOICES = ("all", "none", "some", "edit", "revise")
_SECRETS = "by its name it holds secrets, which no model was shown"
_MOST = 8  # files that the question itself names


def human_gate(named: Sequence[str] = (), standard: Standard = _ANY) -> Person:
    """Asks about the change. "some" and "edit" keep what the answer holds; "planned" keeps the files
    that the run's plan names; "revise" sends words back.

    `named`: patterns for paths that the person needs no warning of. `standard`: how much evidence is
    enough for a yes that was given beforehand.
    """

    async def judge(run: Run, changes: Changes, evidence: Evidence | None = None) -> Verdict:
        question = change_question("Apply this change?", changes, CHOICES, named, run.plan)
        if evidence is not None:
            held_back = not standard.meets(evidence)
            question = replace(question, evidence=evidence, held_back=held_back, required=standard.require)
        answer = await run.ask(question)
        if answer.choice == "none" and answer.text and any(file.warning for file in question.files):
            run.emit(Notice(answer.text, "warning"))
        return _verdict(answer, question)

    return judge


def change_question(
    text: str,
    changes: Changes,
    choices: Sequence[str] = ("all", "none"),
    named: Sequence[str] = (),
    plan: Plan | None = None,
) -> Question:
    """The question whether a change is to be applied, after a warning of each file that runs automatically.

    Those that the person `named` beforehand, by shell patterns, come without a warning. Each file is marked
    as part of the `plan` or not; where both kinds are there, the planned ones can be kept alone.
    """
    warnings = warnings_of(changes, named)
    files = tuple(
        replace(file, warning=warnings.get(file.path, ""), planned=plan.covers(file.path) if plan else None)
        for file in summarise(changes)
    )
    splits = "some" in choices and {True, False} <= {file.planned for file in files}
    offered = (*choices, "planned") if splits else tuple(choices)
    warned = (*_warn(files), *_outside(files))
    return Question(new_id(), "change", text, offered, changes, files=files, warnings=warned)


def warnings_of(changes: Changes, named: Sequence[str] = ()) -> dict[str, str]:
    """The files that run automatically, or hold secrets, but for those `named` beforehand, and why."""
    rest = (change for change in changes if not any(fnmatchcase(change.path, each) for each in named))
    return {change.path: what for change in rest if (what := runs_by_itself(change) or _secret(change))}


def _secret(change: Change) -> str:
    """The author of the new text saw no secrets of the old one."""
    return _SECRETS if is_secret_file(change.path) else ""


def _warn(files: Sequence[FileChange]) -> tuple[str, ...]:
    warned = [file for file in files if file.warning]
    lines = [f"Careful with {_on_a_line(file.path)}: {file.warning}." for file in warned[:_MOST]]
    more = len(warned) - len(lines)
    return (*lines, *([f"Careful with {more} more files of this kind."] if more else []))


def _outside(files: Sequence[FileChange]) -> tuple[str, ...]:
    """`2 files are outside the plan: a.py, b.py`."""
    paths = [_on_a_line(file.path) for file in files if file.planned is False]
    if not paths:
        return ()
    shown = ", ".join(paths[:_MOST]) + (", ..." if len(paths) > _MOST else "")
    return (f"{'1 file is' if len(paths) == 1 else f'{len(paths)} files are'} outside the plan: {shown}",)


def _on_a_line(path: str) -> str:
    return path if path.isprintable() else ascii(path)


def _verdict(answer: Answer, question: Question) -> Verdict:
    match answer.choice:
        case "all":
            return Verdict(True, by="person")
        case "some" | "edit" if answer.changes:
            return Verdict(True, by="person", changes=answer.changes)
        case "planned":
            planned = {file.path for file in question.files if file.planned}
            kept = tuple(change for change in question.changes if change.path in planned)
            return Verdict(True, by="person", changes=kept)
        case "revise" if answer.text:
            return Verdict(False, answer.text, by="person", changes=answer.changes)
        case "held":
            return Verdict(False, answer.text, by="person", unmet=True)
        case _:
            return Verdict(False, by="person")
