"""Tests written, and present ones measured: from a person's words to the result on the screen."""

from collections.abc import Sequence

from msgspec import Struct, field

from kith.agent.asking.cast import open_cast
from kith.agent.attempt import Outcome
from kith.agent.project import Project, Result
from kith.core.errors import UsageError
from kith.core.events import Notice
from kith.core.run import Answerer, Run, new_id
from kith.core.values import Question
from kith.core.workspace import ExecLimits
from kith.features.review.changed_files import ReviewRequest as Subject
from kith.features.review.changed_files import find_subject
from kith.features.testgen.judge import TestsWritten
from kith.features.testgen.mutation import Mutation, mutation_score
from kith.features.testgen.target import (
    CodeUnderTest,
    TestLocation,
    find_place,
    find_target,
    find_tests,
    target_of_change,
)
from kith.features.testgen.write import TestgenLimits, write_tests
from kith.gates.untouched import is_test_file
from kith.memory.session import Listener

KIND = "test"


class TestgenRequest(Struct, frozen=True):
    """A request: what to test ("": what is not committed), where to write, and how much."""

    target: str = ""
    out: str = ""
    bounds: TestgenLimits = TestgenLimits()


class TestgenOutcome(Struct):
    """The outcome, with the tests that were written, or the score of the present ones."""

    result: Result | None = None
    targets: list[CodeUnderTest] = field(default_factory=list)
    written: tuple[TestsWritten, ...] = ()
    score: Mutation | None = None


async def generate_tests(
    project: Project, request: TestgenRequest, answerer: Answerer, listeners: Sequence[Listener] = ()
) -> TestgenOutcome:
    """Let the tester write tests in a session of its own. Raises UsageError for what does not exist."""
    if project.settings.read_only:
        raise UsageError("Nothing may be written here (read_only); --score only measures the present tests.")
    told, id = TestgenOutcome(targets=await _targets(project, request.target)), new_id()
    work = [(target, await _place(project, target, request.out)) for target in told.targets]

    async def do(run: Run) -> Outcome:
        if not await _may_run(run, [place.toolchain.test for _, place in work]):
            return Outcome("rejected", "The tests were not allowed to run.")
        async with open_cast(project, run, id) as cast:
            limits = ExecLimits(seconds=project.settings.check_timeout)
            judges = project.judges(run)
            outcome, told.written = await write_tests(run, cast, work, limits, request.bounds, judges)
            return outcome

    words = f"tests for {', '.join(target.label for target in told.targets)}"
    told.result = await project.perform(words, KIND, do, answerer, listeners, id)
    return told


async def score_tests(
    project: Project, request: TestgenRequest, answerer: Answerer, listeners: Sequence[Listener] = ()
) -> TestgenOutcome:
    """Count the planted faults that the present tests notice; no model is asked. Raises UsageError."""
    told = TestgenOutcome(targets=await _targets(project, request.target))
    first = told.targets[0]
    tests = await find_tests(project.tree, first)
    if not tests:
        raise UsageError(f"No file of tests speaks of {first.path}.")
    place = await find_place(project.tree, first, tests[0], _commands(project))

    async def do(run: Run) -> Outcome:
        if not await _may_run(run, [place.toolchain.test]):
            return Outcome("rejected", "The tests were not allowed to run.")
        only = tests if place.toolchain.runner.direct else ()
        limits = ExecLimits(seconds=project.settings.check_timeout)
        async with run.workspace.trial() as trial:
            told.score = await mutation_score(
                run.inside(trial),
                place.toolchain,
                told.targets,
                only,
                limits,
                request.bounds.seconds,
                request.bounds.mutants,
            )
        return Outcome("done", "")

    words = f"score of the tests of {', '.join(target.label for target in told.targets)}"
    told.result = await project.perform(words, KIND, do, answerer, listeners)
    return told


async def _targets(project: Project, words: str) -> list[CodeUnderTest]:
    """Raises UsageError where there is nothing to test."""
    if words:
        return [await find_target(project.tree, words)]
    changes = (await find_subject(project, Subject())).changes
    found = [target_of_change(change) for change in changes if not is_test_file(change.path)]
    targets = [target for target in found if target is not None]
    if not targets:
        raise UsageError("Nothing that is not committed could be tested; name a file: kith test FILE.")
    return targets


async def _place(project: Project, target: CodeUnderTest, out: str) -> TestLocation:
    return await find_place(project.tree, target, out, _commands(project))


def _commands(project: Project) -> tuple[str, ...]:
    return tuple(command for command in project.settings.check if command != "none")


async def _may_run(run: Run, commands: Sequence[str]) -> bool:
    """Ask about each command before the first one runs, where nothing confines them."""
    if run.workspace.confined:
        return True
    for command in dict.fromkeys(commands):
        text = f"Run `{command}` without a sandbox? It runs this project's code on your machine."
        answer = await run.ask(Question(new_id(), "trust", text, ("yes", "no")))
        if answer.choice != "yes":
            run.emit(Notice("Tests that cannot run cannot be judged.", "warning"))
            return False
    return True
