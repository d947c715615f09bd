"""Prepared projects: small ones with a change, and what the judge has to say of it, as data."""

import asyncio
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from gating import make_repository, write_all
from kith.agent.checks import KeptResults
from kith.agent.judges import Checking, Judges, make_judges
from kith.agent.verdicts import ask_gates
from kith.core.events import Event
from kith.core.evidence import UNCHECKED, Evidence, Grade, Reason, Standard
from kith.core.run import Run
from kith.core.values import Answer, Question, Verdict
from kith.core.workspace import ExecLimits, SizeLimits
from kith.gates.evidence.check_runs import LONG_S, SPARE_S
from kith.trees.local import open_tree

Files = Mapping[str, str | None]
# What becomes of a change under --yes: "held" waits for a person, "refused" goes back to the model.
End = Literal["applied", "held", "refused"]
Kind = Literal["right", "wrong", "useless"]
LISTS = ("fixed", "broken", "failing", "flaky", "adapted", "added", "blocked")


@dataclass(frozen=True, slots=True)
class Try:
    """A change, and the judge's word on it. `kind` is what a person knows of the change beforehand.

    `lists` are names of tests by the list they stand in; a list that is left out is empty. `final`: no
    model tries again. `says` is a part of the letter.
    """

    name: str
    kind: Kind
    files: Files
    end: End
    grade: Grade
    reason: Reason
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    request: str = ""
    claims: tuple[str, ...] = ()
    final: bool = False
    says: str = ""
    missing: tuple[str, str] | None = None  # what the receipt says is missing, where that matters
    unsure: tuple[str, ...] = ()  # tests that stand in a list by chance


@dataclass(frozen=True, slots=True)
class Project:
    """A project before any change. `commands`: the checks that a person named, None for its own."""

    name: str
    files: Mapping[str, str]
    tries: tuple[Try, ...]
    commands: tuple[str, ...] | None = None
    goal: bool = True
    no_worse: tuple[str, ...] = ()
    seconds: float = 60.0
    long_s: float = LONG_S
    spare_s: float = SPARE_S
    ignored: Mapping[str, str] = field(default_factory=dict)  # files that git ignores, in the person's tree
    slow: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """What the judge said of a change."""

    end: End
    verdict: Verdict
    evidence: Evidence

    def differs_from(self, told: Try) -> str:
        """How this is not the word that was expected; "" where it is."""
        checks, unsure = self.evidence.checks, set(told.unsure)
        names = {name: {first for each in checks for first in getattr(each, name).first} for name in LISTS}
        lists = {name: tuple(sorted(kept)) for name, each in names.items() if (kept := each - unsure)}
        is_ = (self.end, self.evidence.grade, self.evidence.reason, lists)
        wanted = (told.end, told.grade, told.reason, told.lists)
        if is_ != wanted:
            return f"{is_} and not {wanted}; {self.verdict.feedback}"
        missing = {(each.kind, each.what) for check in checks for each in check.missing}
        if told.missing and told.missing not in missing:
            return f"{told.missing} is not in {missing}"
        return (
            "" if told.says in self.verdict.feedback else f"{told.says!r} is not in {self.verdict.feedback!r}"
        )


def right(name: str, files: Files, grade: Grade, reason: Reason, **more: Any) -> Try:
    """A change that a person would want, and that is applied unless `end` says otherwise."""
    return _try(name, "right", files, grade, reason, {"end": "applied", **more})


def wrong(name: str, files: Files, reason: Reason = "broken", **more: Any) -> Try:
    """A change that loses something, or misses its goal."""
    return _try(name, "wrong", files, "unproven", reason, {"end": "refused", **more})


def useless(name: str, files: Files, reason: Reason, **more: Any) -> Try:
    """A change that does no harm, and nothing of what was asked."""
    return _try(name, "useless", files, "unproven", reason, {"end": "applied", **more})


def _try(name: str, kind: Kind, files: Files, grade: Grade, reason: Reason, more: Mapping[str, Any]) -> Try:
    lists = {each: tuple(sorted(more[each])) for each in LISTS if each in more}
    rest = {each: value for each, value in more.items() if each not in LISTS}
    return Try(name, kind, files, grade=grade, reason=reason, lists=lists, **rest)


def swap(text: str, *pairs: tuple[str, str]) -> str:
    """A text with some of its words replaced; each must be there."""
    for old, new in pairs:
        assert old in text, f"{old!r} is not in the text"
        text = text.replace(old, new)
    return text


def judge_all(project: Project, folder: Path) -> list[Judged]:
    """The judge's word on each change of a project, in a real repository with real trials."""
    root = make_repository(folder / "project", {**project.files, ".gitignore": "__pycache__/\nignored/\n"})
    for path, text in project.ignored.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)

    async def judge() -> list[Judged]:
        return [await _judge(project, each, root) for each in project.tries]

    with _own_tools():
        return asyncio.run(judge())


async def _judge(project: Project, each: Try, root: Path) -> Judged:
    state, cache = root.parent / "state", root.parent / "cache"
    tree = open_tree(root, state, cache)
    events: list[Event] = []
    run = Run(lambda event, path: events.append(event), _nobody, tree)
    checking = Checking(
        project.commands,
        True,
        ExecLimits(seconds=project.seconds),
        SizeLimits(10_000_000, 100_000_000),
        goal=project.goal,
        no_worse=project.no_worse,
        request=each.request,
        kept=KeptResults(cache, state),
        digests=tree.digests,
        long_s=project.long_s,
        spare_s=project.spare_s,
    )
    judges = make_judges(run, checking, _no_commit)
    try:
        verdict = await _ask(run, judges, each)
        evidence = verdict.evidence or UNCHECKED
        if not verdict.ok:
            return Judged("refused", verdict, evidence)
        return Judged("applied" if Standard().meets(evidence) else "held", verdict, evidence)
    finally:
        await judges.aclose()


async def _ask(run: Run, judges: Judges, each: Try) -> Verdict:
    """The gates' word on a trial in which the change was made, as by a model."""
    async with run.workspace.trial() as trial:
        await write_all(trial, each.files)
        changes = await trial.changes()
        gates = await judges.gates(changes, each.claims, "none" if each.final else "more")
        return await ask_gates(run.inside(trial), gates, changes, 1)


async def _nobody(question: Question) -> Answer:
    raise AssertionError(f"nobody answers {question.text!r}")


async def _no_commit(paths: object, message: str) -> None:
    raise AssertionError("nothing is committed")


@contextmanager
def _own_tools() -> Iterator[None]:
    """The sandbox finds this Python and its pytest, as those of an environment that is active."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIRTUAL_ENV", sys.prefix)
        yield
