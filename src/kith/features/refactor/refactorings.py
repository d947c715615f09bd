"""`kith refactor`: suggestions, refactorings without a model, and those that a model makes."""

from collections.abc import Sequence

from kith.agent.asking.cast import open_cast
from kith.agent.attempt import Outcome, adopt_ready
from kith.agent.project import Project, Result
from kith.core.events import Event, Notice
from kith.core.run import Answerer, Run, new_id
from kith.core.values import Answer, Question
from kith.core.workspace import ExecLimits
from kith.features.refactor.by_model import Rules, is_executed, refactor_by_model, word_suggestion
from kith.features.refactor.make import make_refactoring
from kith.features.refactor.suggest import Suggestion as Suggestion
from kith.features.refactor.suggest import pick, suggest
from kith.features.refactor.wanted import FORMS, Wanted, read_wanted
from kith.features.testgen.generate import Request, generate_tests
from kith.memory.session import Listener

KIND = "refactor"
ACTIONS = tuple(FORMS)
DONE = "Done, without a model."


async def find_suggestions(project: Project, where: str = ".") -> tuple[Suggestion, ...]:
    """What could be better in a file or folder, the worst first. Raises UsageError."""
    return await suggest(Run(lambda event, path: None, _nobody, project.tree), where)


async def _nobody(question: Question) -> Answer:
    return Answer("no")


async def refactor(
    project: Project, words: Sequence[str], answerer: Answerer, listeners: Sequence[Listener] = ()
) -> Result:
    """Do what `rename PATH:NAME NEW` and its like say. Raises UsageError for words of another form."""
    return await _refactor(project, read_wanted(words), " ".join(words), answerer, listeners)


async def _refactor(
    project: Project, wanted: Wanted, words: str, answerer: Answerer, listeners: Sequence[Listener]
) -> Result:
    project.check_writable()

    async def do(run: Run) -> Outcome:
        made = await make_refactoring(run, wanted)
        for note in made.notes:
            run.emit(Notice(note))
        return await adopt_ready(run, made.changes, project.judges(run, words), DONE)

    return await project.perform(f"refactor {words}", KIND, do, answerer, listeners)


async def apply_suggestion(
    project: Project, where: str, number: int, answerer: Answerer, listeners: Sequence[Listener] = ()
) -> Result:
    """Mend one suggestion: by kith where it can, else by a model, behind tests that run the code.

    Where none do, tests are written first, and kept if the person says so. Raises UsageError.
    """
    project.check_writable()
    chosen = pick(await find_suggestions(project, where), number)
    if chosen.wanted:
        return await _refactor(project, chosen.wanted, f"{chosen.place}: {chosen.text}", answerer, listeners)
    if chosen.smell.kind == "function" and _is_held(project):
        untested = await _write_tests_first(project, chosen, answerer, listeners)
        if untested:
            return untested
    return await _by_model(project, chosen, answerer, listeners)


async def refactor_in_words(
    project: Project,
    words: str,
    answerer: Answerer,
    listeners: Sequence[Listener] = (),
    *,
    tests_locked: bool = True,
) -> Result:
    """Let a model refactor what a person says. Raises UsageError."""
    project.check_writable()
    return await _by_model(project, words, answerer, listeners, tests_locked)


def _is_held(project: Project) -> bool:
    """False when the person said that nothing is to be checked."""
    return project.settings.check != ("none",)


async def _by_model(
    project: Project,
    what: Suggestion | str,
    answerer: Answerer,
    listeners: Sequence[Listener],
    tests_locked: bool = True,
) -> Result:
    id = new_id()

    async def do(run: Run) -> Outcome:
        words = what if isinstance(what, str) else await word_suggestion(run, what)
        async with open_cast(project, run, id) as cast:
            rules = Rules(_is_held(project), tests_locked)
            return await refactor_by_model(run, cast, words, project.judges(run), rules)

    title = what if isinstance(what, str) else f"{what.place}: {what.text}"
    return await project.perform(f"refactor {title}", KIND, do, answerer, listeners, id)


async def _write_tests_first(
    project: Project, chosen: Suggestion, answerer: Answerer, listeners: Sequence[Listener]
) -> Result | None:
    """Tests for a function that none runs; how that ended when they were not kept, None when all is well."""
    limits = ExecLimits(seconds=project.settings.check_timeout)

    def tell(event: Event, path: tuple[str, ...] = ()) -> None:
        for listener in listeners:
            listener(event, path)

    run = Run(tell, answerer, project.tree)
    if not project.tree.confined or await is_executed(run, chosen, limits) is not False:
        return None
    smell = chosen.smell
    tell(Notice(f"No test runs {smell.name}; tests that hold what it does now come first."))
    told = await generate_tests(project, Request(f"{smell.path}::{smell.name}"), answerer, listeners)
    return None if told.result and told.result.report["applied"] else told.result
