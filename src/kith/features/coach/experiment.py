"""Experiments: recorded tasks done again with a proposed way to ask and the present one, in pairs."""

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.asking.roles import find_role, make_player
from kith.agent.attempt import Outcome, attempt
from kith.agent.failed_runs import end_of
from kith.agent.knowledge import tell_notes_of
from kith.agent.project import Project, tree_at
from kith.agent.relay import Leg
from kith.agent.task_prompt import open_task
from kith.context.budget import opening_room
from kith.core.decisions import Coached, Compared
from kith.core.errors import EXIT_TRY_LATER, HopelessError, KithError, LimitError, ModelError, TreeError
from kith.core.events import Notice, Progress, RunEnded, RunStarted
from kith.core.evidence import CheckEvidence
from kith.core.model import Role
from kith.core.run import Run, Thread, new_id
from kith.core.values import Answer, Question, say
from kith.features.coach.adaptation import dress, look_at
from kith.features.coach.sequential_test import HORIZON, Pair, TestDecision, decide, measure
from kith.features.coach.strategy import (
    COACH,
    REPLAY,
    Replayed,
    Strategy,
    key_of,
    options_of,
    phrase,
    read_replays,
)
from kith.features.measure.bench.exercises import find_exercises
from kith.features.measure.rows import LegRow
from kith.memory.log import Log
from kith.memory.session import Session
from kith.models.account import Account, Budget
from kith.models.stack import Opened
from kith.tools import ReadLimits, standard_tools
from kith.trees.revisions import check_out, lay_out
from kith.trees.virtual_environments import VENVS
from kith.trees.walk import remove_tree

# Find recorded tasks that can be done again: the project's own, and kith's exercises.


# Why a part counts as it does, where that is no matter of taste or of a server that was down.
_DECIDED = frozenset({"tests", "timeout", "malformed", "failed", "limit", "accepted", "rejected"})


class Recorded(Struct, frozen=True):
    """One task. `root` and `commit` say where it began; instead of both, `exercise` names one of kith's own.

    `check` are the commands of which each must succeed; `at` when it was given (seconds since the epoch).
    """

    words: str
    kind: str
    check: tuple[str, ...]
    root: str = ""
    commit: str = ""
    exercise: str = ""
    at: float = 0.0

    @property
    def id(self) -> str:
        """The same for the same task."""
        told = "\0".join((self.words, *self.check, self.root, self.commit, self.exercise))
        return hashlib.sha256(told.encode()).hexdigest()[:12]


def find_recorded(legs: Iterable[LegRow], root: str = "") -> tuple[Recorded, ...]:
    """The tasks of the log that can be done again, the newest first, those of one folder where it is given.

    A task that was given up before its checks ran is checked as the folder's other tasks are. Only those
    count that something spoke for or against: a suite that passed before says nothing of what was done.
    """
    newest = [leg for leg in sorted(legs, key=lambda leg: -leg.at) if root in ("", leg.root)]
    usual = {leg.root: leg.check for leg in reversed(newest) if leg.check}
    found = dict[str, Recorded]()
    for leg in newest:
        check = leg.check or usual.get(leg.root, ())
        if leg.words and leg.commit and check and leg.reason in _DECIDED and not (leg.part or leg.after):
            task = Recorded(leg.words, leg.kind, check, leg.root, leg.commit, at=leg.at)
            found.setdefault(task.id, task)
    return tuple(found.values())


def find_tasks(project: Project, legs: Sequence[LegRow]) -> dict[str, tuple[Recorded, ...]]:
    """By kind of work, what can be done again: the project's own tasks, the newest first, then exercises.

    The best form of edits hardly depends on their purpose, so the exercises represent each kind.
    """
    own = find_recorded(legs, str(project.root))
    kinds = dict.fromkeys([*(task.kind for task in own), *(each.kind for each in find_exercises())])
    bundled = tuple(
        Recorded(each.words, each.kind, (each.check,), exercise=each.name) for each in find_exercises()
    )
    return {kind: (*(task for task in own if task.kind == kind), *bundled) for kind in kinds}


# Experiments: recorded tasks done again with a proposed way to ask and the present one, in pairs.


class ReplayResult(Struct, frozen=True):
    """A recorded task that was done again: whether its checks pass now, and in how many seconds."""

    solved: bool
    seconds: float = 0.0


# Does a recorded task once more, in this way; None where that says nothing (its checks pass all the same).
Replay = Callable[[Recorded, Strategy], Awaitable[ReplayResult | None]]


class Experiment(Struct, frozen=True):
    """A strategy on trial for one model's work of one kind; `champion` is the way that holds.

    `pairs`: task's id -> what was found before. `most`: how many there may be.
    """

    digest: str
    model: str
    kind: str
    champion: Strategy
    strategy: Strategy
    pairs: Mapping[str, Pair]
    most: int = HORIZON

    def tell(self, run: Run, state: Literal["proposed", "refused", "canary"], decision: TestDecision) -> None:
        """Log the strategy's present state."""
        run.emit(
            Coached(
                self.digest,
                self.model,
                self.kind,
                self.strategy.data,
                state,
                decision.why,
                self.strategy.author,
                dict(decision.figures),
            )
        )


async def try_out(
    run: Run, experiment: Experiment, tasks: Sequence[Recorded], replay: Replay, has_time: Callable[[], bool]
) -> TestDecision:
    """Do recorded tasks in both ways until that is settled, there is no time, or no task is left.

    Every pair is told as Compared before the next one begins, so that nothing is lost but the one at hand.
    What is not settled goes on another day.
    """
    pairs = dict(experiment.pairs)
    decision = decide([*pairs.values()], experiment.most)
    for task in tasks:
        if decision.verdict != "go on" or not has_time():
            break
        if task.id in pairs:
            continue
        pair = await _compare(run, experiment, task, replay)
        if pair is None:
            continue
        pairs[task.id] = pair
        decision = decide([*pairs.values()], experiment.most)
        run.emit(Progress("pairs", len(pairs), experiment.most))
    return _confirm(decision, [pairs[task.id] for task in tasks if task.id in pairs and not task.exercise])


def _confirm(decision: TestDecision, own: Sequence[Pair]) -> TestDecision:
    """A way that wins by kith's exercises is not kept where it loses on the person's own tasks."""
    figures = measure(own)
    if decision.verdict != "accept" or figures["losses"] <= figures["wins"]:
        return decision
    lost = f"worse on your own tasks: {figures['wins']:.0f} won, {figures['losses']:.0f} lost"
    return TestDecision("refuse", f"{decision.why}, but {lost}", decision.figures)


async def _compare(run: Run, experiment: Experiment, task: Recorded, replay: Replay) -> Pair | None:
    """One task in both ways; None where either says nothing."""
    before = await replay(task, experiment.champion)
    after = await replay(task, experiment.strategy) if before else None
    if before is None or after is None:
        run.emit(Notice(f"{_first_words(task.words)}: no evidence, left out."))
        return None
    run.emit(
        Compared(
            experiment.strategy.id,
            task.id,
            before.solved,
            after.solved,
            round(before.seconds, 3),
            round(after.seconds, 3),
        )
    )
    return Pair(before.solved, after.solved, before.seconds, after.seconds)


def _first_words(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


# Recorded tasks, done again: each in a checkout of its commit beside the project, on the usual path.

_KEPT: Final = 6  # checkouts; each new one takes the oldest's place
_LOOKS_S: Final = 1.0  # between looks at whether a person wants the model
_LEAST_S: Final = 0.001
T = TypeVar("T")


class Replays(Struct, frozen=True):
    """Does recorded tasks again with one opened model. `known`: (strategy, task) -> how it ended before."""

    project: Project
    opened: Opened
    known: dict[tuple[str, str], Replayed]

    @classmethod
    def open(cls, project: Project, opened: Opened) -> "Replays":
        """With what the log knows of earlier replays."""
        key = key_of(opened.facts.digest, opened.facts.name)
        return cls(project, opened, read_replays(project.log, key))

    @property
    def key(self) -> str:
        """The key of the model."""
        return key_of(self.opened.facts.digest, self.opened.facts.name)

    async def __call__(self, task: Recorded, strategy: Strategy) -> ReplayResult | None:
        """Replay the task with this strategy; while a person's task is running, this one waits.

        None without evidence: the checks pass before any work, or its commit is gone. Raises ModelError
        when the server cannot be asked.
        """
        name = strategy.id, task.id
        if name not in self.known:
            self.known[name] = await in_peace(self.project.log, lambda: self._replay(task, strategy))
        ended = self.known[name]
        return None if ended.solved is None else ReplayResult(ended.solved, max(_LEAST_S, ended.seconds))

    async def _replay(self, task: Recorded, strategy: Strategy) -> Replayed:
        try:
            beside = await _beside(self.project, task)
        except TreeError:
            return Replayed(None, 0.0)
        options = options_of(REPLAY, self.key, task.kind, strategy.id, task.id)
        with Session(self.project.log, new_id()) as session:
            run = beside.begin(session, _refuse)
            began = asyncio.get_running_loop().time()
            run.emit(beside.started(task.words, options))
            run.emit(self.opened.engaged())
            outcome = await _to_its_end(run, _attempt(beside, run, self.opened, task, strategy))
        seconds = asyncio.get_running_loop().time() - began
        return Replayed(None if outcome.status == "rejected" else outcome.status == "done", seconds)


async def _refuse(question: Question) -> Answer:
    """No to everything: nothing is applied, and nothing runs that would have to be asked about."""
    return Answer("none" if question.kind == "change" else "no")


async def _to_its_end(run: Run, work: Awaitable[Outcome]) -> Outcome:
    """The end of a replay, told in the log: done (solved), failed, or rejected (it says nothing)."""
    try:
        outcome = await work
    except KithError as error:
        run.emit(end_of(error))
        raise
    except BaseException:
        run.emit(RunEnded("interrupted", "Interrupted."))
        raise
    run.emit(RunEnded(outcome.status, outcome.text))
    return outcome


async def _attempt(project: Project, run: Run, opened: Opened, task: Recorded, strategy: Strategy) -> Outcome:
    """The task, asked in one way. What the model spends or cannot do makes it unsolved."""
    words = phrase(task.words, strategy.levers)
    try:
        words = await open_task(run, words, opening_room(opened.window), showing=look_at(strategy))
        notes = "" if task.exercise else tell_notes_of(project.settings, opened.window)
        words = f"{notes}\n\n{words}" if notes else words
        leg = Leg(_role(project, opened, strategy), Thread("task"), task.words)
        run = replace(run, limits=replace(run.limits, exec=project.exec_limits(opened.window)))
        outcome = await attempt(run, leg, say(words), project.judges(run))
    except (LimitError, HopelessError) as error:
        return Outcome("failed", str(error))
    except ModelError as error:
        if error.code == EXIT_TRY_LATER:
            raise
        return Outcome("failed", str(error))
    before = [each for each in outcome.before if not each.skipped]
    if before and all(each.ok for each in before):
        return Outcome("rejected", "The checks pass before anything is done.")
    # A change that the gates let pass was shown, and refused; one that only lost nothing has solved nothing.
    checks = outcome.evidence.checks if outcome.evidence else ()
    solved = outcome.status == "rejected" and all(_is_solved(each) for each in checks if each.after)
    return Outcome("done", "Solved.") if solved else Outcome("failed", outcome.text)


def _is_solved(check: CheckEvidence) -> bool:
    """True when a check succeeds with the change, or a test that failed before it passes."""
    return check.grade == "proven" or (check.after is not None and check.after.code == 0)


def _role(project: Project, opened: Opened, strategy: Strategy) -> Role:
    budget = Budget(project.settings.max_task_tokens, project.settings.max_task_seconds)
    tools = standard_tools(limits=ReadLimits.of_window(opened.window))
    model = opened.wrap(Account(budget), tells=False)
    return dress(make_player(project, find_role("worker"), opened, model, tools).role, strategy)


# --- the place -----------------------------------------------------------------------------------


async def _beside(project: Project, task: Recorded) -> Project:
    """The project as it was when the task was given, in kith's own cache. Raises TreeError."""
    chosen = project.settings
    name = hashlib.sha256(f"{task.root}\0{task.commit}\0{task.exercise}".encode()).hexdigest()[:16]
    folder = place = chosen.cache / "coach" / name
    if not place.exists():
        _make_room(place.parent)
    if task.exercise:
        files = next(each.files for each in find_exercises() if each.name == task.exercise)
        await lay_out(files, place)
    else:
        folder = await check_out(Path(task.root), task.commit, place)
        _borrow_environment(Path(task.root))
    origin = {**chosen.origin, "check": "flag"}
    settings = replace(chosen, check=task.check, read_only=False, review=False, origin=origin)
    return replace(project, root=folder, settings=settings, tree=tree_at(folder, settings))


def _make_room(folder: Path) -> None:
    """Delete the checkouts that were not used for longest."""
    found = [each for each in folder.iterdir() if each.is_dir()] if folder.is_dir() else []
    for old in sorted(found, key=lambda each: each.stat().st_mtime)[: max(0, len(found) - _KEPT + 1)]:
        remove_tree(old)


def _borrow_environment(root: Path) -> None:
    """A checkout has no ignored files; its commands see the virtual environment as active."""
    for name in VENVS:
        if (root / name / "pyvenv.cfg").is_file():
            os.environ.setdefault("VIRTUAL_ENV", str(root / name))


# --- the person comes first ----------------------------------------------------------------------


async def in_peace(log: Log, work: Callable[[], Awaitable[T]], looks_s: float = _LOOKS_S) -> T:
    """Do something while no task of a person's is running: it waits, and starts over where one begins."""
    while True:
        while is_busy(log):
            await asyncio.sleep(looks_s)
        doing = asyncio.ensure_future(work())
        try:
            while not doing.done() and not is_busy(log):
                await asyncio.wait({doing}, timeout=looks_s)
            if doing.done():
                return doing.result()
        finally:
            doing.cancel()
            await asyncio.wait({doing})


def is_busy(log: Log) -> bool:
    """True if an open session has an unfinished task, other than coaching."""
    for lock in (log.path.parent / "locks").glob("*.lock"):
        if log.is_open(lock.stem) and _works(log, lock.stem):
            return True
    return False


def _works(log: Log, session: str) -> bool:
    kind, working = "", False
    for record in log.events(session, kinds=frozenset({"RunStarted", "RunEnded"})):
        if isinstance(record.event, RunStarted):
            kind, working = record.event.options.kind, True
        else:
            working = False
    return working and kind not in (COACH, REPLAY)
