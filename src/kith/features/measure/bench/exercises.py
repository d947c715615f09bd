"""Small tasks that come with kith: a project with a failing test each, which a model solves in a trial."""

import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.attempt import attempt
from kith.agent.judges import Checking, make_judges
from kith.agent.relay import Leg
from kith.agent.roles import Player, read_front_matter
from kith.agent.task_prompt import open_task
from kith.context.budget import opening_room
from kith.core.errors import LimitError, ModelError, TreeError, UsageError
from kith.core.model import Billed
from kith.core.run import Limits, Run, Thread
from kith.core.values import Answer, Charge, Question, say
from kith.core.workspace import ExecLimits, ShellCommand, SizeLimits, Workspace
from kith.features.measure.bench.result import Score, TriedExercise

_FILE: Final = re.compile(r"^## (\S+)\n```\w*\n(.*?)^```$\n?", re.M | re.S)
_TEST: Final = re.compile(r"(?:^|/)test_[^/]*\.py$")


class Exercise(Struct, frozen=True):
    """One task: what sort of work it is, the project's files by path, what is asked, and the judge.

    `check` is a command that fails in the project as it is, and succeeds when the task is solved.
    """

    name: str
    kind: str
    files: Mapping[str, str]
    words: str
    check: str

    @property
    def tests(self) -> tuple[str, ...]:
        """The files that judge, which nobody may change."""
        return tuple(path for path in self.files if _TEST.search(path))


@cache
def find_exercises() -> tuple[Exercise, ...]:
    """All exercises, those that ask for the least first."""
    folder = files("kith.features.measure.bench") / "tasks"
    read = (
        read_exercise(entry.name.removesuffix(".md"), entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".md")
    )
    return tuple(sorted(read, key=lambda each: (sum(map(len, each.files.values())), each.name)))


def read_exercise(name: str, text: str) -> Exercise:
    """The exercise written in `text`: `kind` and `check`, the words, then each file below its name.

    Raises UsageError naming what is missing.
    """
    written = read_front_matter(text, f"{name}.md", ("kind", "check"))
    found = dict(_files(written.words))
    if not found:
        raise UsageError(f"{name}.md: it has no files, each below a line such as `## name.py`.")
    words = written.words.partition("\n## ")[0].strip()
    return Exercise(name, written.values["kind"], found, words, written.values["check"])


def _files(text: str) -> Iterator[tuple[str, str]]:
    for found in _FILE.finditer(text):
        yield found[1], found[2]


# Small real tasks on the bench: the way every task goes, in a trial, and a test that nobody could
# touch.

TASKS = "tasks"
STEPS, TRIES = 15, 2
# Tokens of an exercise that goes well: the worker's prompt with its tools and the files, and a few replies.
TASK_READ, TASK_WRITTEN = 2_000, 250
UNCONFINED = "no sandbox on this machine, and a model's code is not run without one"
CHECK = ExecLimits(seconds=30.0)

# A tree of its own for an exercise, thrown away afterwards.
Place = Callable[[Exercise], AbstractAsyncContextManager[Workspace]]
# Who works on the next exercise, within so many seconds.
Worker = Callable[[float], Awaitable[Player]]


class TaskPace(NamedTuple):
    """Exercises are done `until` the clock (monotonic) says so, each within `each_s` seconds.

    `usual_s`: what one is expected to take, before the first is done.
    """

    until: float
    each_s: float
    usual_s: float


async def solve_all(
    run: Run, exercises: Sequence[Exercise], place: Place, worker: Worker, pace: TaskPace
) -> Score:
    """One exercise after the other, as far as the time goes.

    One that the end of the benchmark interrupts is not counted. A server in trouble ends it.
    """
    tried: list[TriedExercise] = []
    for number, exercise in enumerate(exercises):
        left = pace.until - time.monotonic()
        usual_s = sum(each.seconds for each in tried) / len(tried) if tried else pace.usual_s
        needed_s = round(min(usual_s, pace.each_s), 1)
        if left < needed_s:
            return Score(TASKS, tuple(tried), len(exercises) - number, needed_s=needed_s)
        try:
            async with place(exercise) as tree:
                if not tree.confined:
                    return Score(TASKS, (), len(exercises), UNCONFINED)
                one = await solve(run, exercise, tree, await worker(min(left, pace.each_s)))
        except ModelError as error:
            return Score(TASKS, tuple(tried), len(exercises) - number, str(error))
        if one.why and time.monotonic() >= pace.until:
            return Score(TASKS, tuple(tried), len(exercises) - number, needed_s=needed_s)
        tried.append(one)
    return Score(TASKS, tuple(tried))


async def solve(run: Run, exercise: Exercise, tree: Workspace, player: Player) -> TriedExercise:
    """Do one exercise in `tree`, which holds its files; the exit code of its check decides.

    Raises ModelError where the server is in trouble: that says nothing of the model.
    """
    began, tokens = time.monotonic(), 0

    def take(charge: Charge) -> None:
        nonlocal tokens
        tokens += charge.usage.new + charge.usage.output

    player = replace(player, role=replace(player.role, model=Billed(player.role.model, take)))
    limits = Limits(STEPS, TRIES, replace(CHECK, output=run.limits.exec.output))
    with Run(run.sink, _agree, tree, limits, run.path).step(f"exercise {exercise.name}") as inside:
        why = await _work(inside, exercise, player) or await _judge(exercise, tree)
    return TriedExercise(exercise.name, why, round(time.monotonic() - began, 1), tokens)


async def _work(inside: Run, exercise: Exercise, player: Player) -> str:
    """Let the model do it, as every task is done; why that came to nothing, else ""."""
    checking = Checking((exercise.check,), True, CHECK, SizeLimits())
    judges = make_judges(inside, checking, _commit_nothing)
    try:
        words = await open_task(inside, exercise.words, opening_room(player.window))
        thread = Thread(f"exercise {exercise.name}")
        outcome = await attempt(inside, Leg(player.role, thread, exercise.words), say(words), judges)
    except LimitError as error:
        return str(error)
    except ModelError as error:
        if error.retryable:
            raise
        return str(error)
    return "" if outcome.status == "done" else outcome.text


async def _agree(question: Question) -> Answer:
    return Answer("all" if question.kind == "change" else "no")


async def _judge(exercise: Exercise, tree: Workspace) -> str:
    """Check a result with the original tests; return the fault, "" for none."""
    try:
        async with tree.trial() as trial:
            for path in exercise.tests:
                await trial.write(path, exercise.files[path].encode())
            ran = await trial.check(ShellCommand(exercise.check), CHECK)
    except TreeError as error:
        return str(error)
    return "" if ran.code == 0 else "its tests fail"


async def _commit_nothing(paths: Sequence[str], message: str) -> str:
    """A commit of the trial is of no use beyond the exercise."""
    return ""
