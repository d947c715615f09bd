"""Reviews: from what should be looked at to findings that hold, and to a change that mends some of them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from kith.agent.asking.cast import open_cast
from kith.agent.attempt import Outcome, adopt_ready
from kith.agent.models import end_of
from kith.agent.project import Project, Result
from kith.agent.roles import Cast
from kith.context.definitions import Definition
from kith.core.errors import KithError, TreeError
from kith.core.events import Notice
from kith.core.run import Answerer, Run, new_id
from kith.core.values import Finding
from kith.core.workspace import ExecLimits
from kith.features.review.parts import Lookup
from kith.features.review.review import Review, Reviewing, review
from kith.features.review.sheets import Subject, find_unreadable, make_sheets
from kith.features.review.subjects import Wish, find_subject
from kith.features.review.suggestion import as_changes
from kith.memory.index import Damaged, Index, open_index, refresh
from kith.memory.session import Listener
from kith.trees.files import read_file

_LINTER_S = 300.0  # seconds of one linter
_FEW_FILES = 5_000  # an index of a tree of this size is made in passing
_EXCERPT = 40  # lines of a definition


@dataclass(frozen=True, slots=True)
class Told:
    """A review that is over: how its session ended, what was reviewed, and what was found.

    `applied` are the findings whose suggestions are in the tree now.
    """

    result: Result
    subject: Subject
    review: Review
    applied: tuple[Finding, ...] = ()

    @property
    def left(self) -> tuple[Finding, ...]:
        """What is still wrong."""
        return tuple(each for each in self.review.findings if each not in self.applied)


@dataclass(slots=True)
class _Found:
    """What the work inside a session brought, for whoever waits outside."""

    review: Review = field(default_factory=Review)
    applied: tuple[Finding, ...] = ()


async def run_review(
    project: Project,
    wish: Wish,
    answerer: Answerer,
    listeners: Sequence[Listener] = (),
    *,
    model: bool = True,
    second_look: bool = False,
    apply: bool = False,
    id: str = "",
) -> Told:
    """Review what is wished for, in a session of its own (called `id` if given).

    With `apply`, what was suggested is proposed. Raises UsageError where there is nothing of that name.
    """
    if apply:
        project.check_writable()
    subject, id, found = await find_subject(project, wish), id or new_id(), _Found()
    subject = replace(subject, left_out=(*subject.left_out, *find_unreadable(subject.changes)))

    async def do(run: Run) -> Outcome:
        if not subject.changes:
            return Outcome("done", f"There is nothing to review in {subject.words}.")
        async with _opened(project, run, id, model) as (cast, lookup):
            how = Reviewing(ExecLimits(_LINTER_S), second_look, lookup)
            found.review = await review(run, subject, cast, how)
        if found.review.trouble and found.review.parts == found.review.unanswered:
            end = end_of(found.review.trouble)
            return Outcome(end.status, end.text)
        return await _apply(project, run, subject, found) if apply else Outcome("done", "")

    result = await project.perform(f"review {subject.words}", "review", do, answerer, listeners, id)
    return Told(result, subject, found.review, found.applied)


@asynccontextmanager
async def _opened(
    project: Project, run: Run, id: str, model: bool
) -> AsyncIterator[tuple[Cast | None, Lookup]]:
    """A cast and what knows the tree's definitions, as long as the review lasts."""
    if not model:
        yield None, lambda name: ()
        return
    async with open_cast(project, run, id) as cast, _indexed(project, run) as lookup:
        yield cast, lookup


@asynccontextmanager
async def _indexed(project: Project, run: Run) -> AsyncIterator[Lookup]:
    """The tree's definitions by name, with their text; nothing where there is no index to rely on."""
    index = await _open_index(project, run)
    if index is None:
        yield lambda name: ()
        return

    def lookup(name: str) -> list[tuple[Definition, str]]:
        with suppress(KithError, Damaged):
            return [(each, _text_of(project, each)) for each in index.defining(name)[:1]]
        return []

    try:
        yield lookup
    finally:
        index.close()


async def _open_index(project: Project, run: Run) -> Index | None:
    """The index as the tree is now; None where making it would take long, or fails, which is said."""
    try:
        index = open_index(project.settings.cache, project.root)
        if index.complete or len(await project.tree.files()) <= _FEW_FILES:
            await refresh(index, project.tree)
            return index
        index.close()
    except (KithError, Damaged) as error:
        run.emit(Notice(f"The model is shown no definitions from outside the change: {error}"))
    return None


def _text_of(project: Project, definition: Definition) -> str:
    """The lines of a definition as they are in the tree, "" when it cannot be read."""
    with suppress(TreeError, OSError):
        rows = read_file(project.root, definition.path).decode("utf-8", "replace").split("\n")
        last = min(definition.last, definition.first + _EXCERPT - 1)
        return "\n".join(rows[definition.first - 1 : last])
    return ""


async def _apply(project: Project, run: Run, subject: Subject, found: _Found) -> Outcome:
    """Propose the suggestions as one change, judged like any other."""
    suggested = [each for each in found.review.findings if each.replacement is not None]
    before = await _contents(run, {each.path for each in suggested})
    changes, fitting = as_changes(suggested, make_sheets(subject.changes), before)
    for each in suggested:  # who is asked should know why
        why = each.text if each in fitting else "The suggestion does not fit the file."
        run.emit(Notice(f"{each.path}:{each.line}: {why}"))
    if not changes:
        return Outcome("done", "There is no suggestion to apply.")
    outcome = await adopt_ready(run, changes, project.judges(run), "The suggestions are applied.")
    after = await _contents(run, {change.path for change in changes})
    whole = {change.path for change in changes if change.after == after.get(change.path)}
    found.applied = tuple(each for each in fitting if each.path in whole)
    return outcome


async def _contents(run: Run, paths: set[str]) -> dict[str, bytes]:
    """What the tree has of these files."""
    contents = dict[str, bytes]()
    for path in sorted(paths):
        with suppress(TreeError):  # the tree has it no more
            contents[path] = await run.workspace.read(path)
    return contents
