"""Scan a codebase without a model: files, history and its own tools as one report; known parts are reused."""

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from kith.agent.index import FedIndex
from kith.agent.project import Project
from kith.context.brief import show_layout
from kith.context.source import NO_CODE, Tokens, tokenise
from kith.core.errors import UsageError
from kith.core.events import Event, Progress
from kith.core.run import Limits, Run
from kith.core.values import Answer, Question
from kith.features.scan.assemble import (
    count_copied,
    find_matches,
    find_ways_in,
    link_modules,
    measure_functions,
    measure_languages,
    measure_size,
)
from kith.features.scan.checks import Patience, find_commands, find_coverage, lint, read_all
from kith.features.scan.duplicates import LEAST_TOKENS, Match, refine
from kith.features.scan.facts import ScanCache
from kith.features.scan.graph import find_links
from kith.features.scan.history import find_history
from kith.features.scan.markdown import as_markdown
from kith.features.scan.picture import draw
from kith.features.scan.report import Copied, Report, Survey
from kith.features.scan.survey import survey
from kith.memory.caches import ScanStore
from kith.trees.git import head, is_repository

_LAYOUT: Final = 120  # tokens of the layout: about twelve lines


async def scan(
    run: Run, survey: Survey, notes: ScanCache, head: str, folder: str, patience: Patience
) -> Report:
    """Tell what the files of a survey are; `folder` is the part it is of, `head` the commit checked out.

    Nothing is written to the tree. Linters run in a trial; git runs confined or not at all.
    """
    facts = survey.facts
    report = Report(run.workspace.root.name, folder, measure_size(survey))
    if not facts:
        return report
    run.emit(Progress("putting it together", 0))
    copied, longest = count_copied(find_matches(survey))
    report = replace(
        report,
        languages=measure_languages(facts),
        layout=show_layout(list(facts), _LAYOUT),
        entries=find_ways_in(facts),
        toolchains=await find_commands(run, survey.files),
        covered=await find_coverage(run, survey.files),
        modules=link_modules(facts, find_links(survey, notes, folder)),
        functions=measure_functions(facts),
        copied=await _look_closer(run, copied, longest),
    )
    run.emit(Progress("reading the history", 0))
    history = await find_history(run, notes, head, facts)
    return replace(report, history=history, linted=await lint(run, notes, survey, folder, patience))


async def _look_closer(run: Run, copied: Copied, matches: Sequence[Match]) -> Copied:
    """The longest duplicates, at their full length: fingerprints end a little early."""
    paths = {place.path for each in matches for place in (each.duplicate.place, each.duplicate.other)}
    tokens = {
        path: tokenise(path, _text(content)) for path, content in (await read_all(run, sorted(paths))).items()
    }
    there = [each for each in matches if _is_there(each, tokens)]
    return replace(copied, longest=refine(there, tokens, LEAST_TOKENS))


def _is_there(match: Match, tokens: Mapping[str, Tokens]) -> bool:
    """Tell whether both files still hold what they held when they were looked at."""
    found, length = match.duplicate, match.duplicate.tokens
    if found.place.path not in tokens or found.other.path not in tokens:
        return False
    mine, theirs = tokens[found.place.path].ids, tokens[found.other.path].ids
    run = mine[match.at : match.at + length]
    return len(run) == length and run == theirs[match.other_at : match.other_at + length]


def _text(content: bytes) -> str:
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")


# --- a project's scan ------------------------------------------------------------------------


__all__ = ["NO_CODE", "Patience", "Report", "Scanned", "as_markdown", "run_scan"]

Hear = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Scanned:
    """A report, and what it was made from."""

    # Without a repr: Python's runner of asyncio makes the result's, and throws it away.
    report: Report = field(repr=False)
    survey: Survey = field(repr=False)

    def picture(self) -> str:
        """The codebase as SVG: folders and files as large as their code, coloured by how hot they are."""
        return draw(self.report, self.survey)


async def run_scan(project: Project, path: str, patience: Patience, hear: Hear) -> Scanned:
    """Look at the project, or at the folder or file `path` in it ("" for all of it).

    Nothing is logged and nothing in the tree is changed. Raises UsageError for a path that is not in the
    project.
    """
    folder = _path_inside(project.root, path)
    gc.disable()  # many values and no cycles among them: looking for some takes a third of the time
    store = ScanStore(project.settings.cache, project.root)
    try:
        hear(Progress("listing files", 0))
        stamps = await project.tree.stamps()
        with closing(FedIndex(project, stamps, hear)) as index:
            known = await survey(project.root, stamps, store, _tell(hear), folder, index)
        commit = await head(project.root) if await is_repository(project.root) else ""
        run = Run(lambda event, _: hear(event), _nobody, project.tree, Limits())
        return Scanned(await scan(run, known, store, commit, folder, patience), known)
    finally:
        store.close()
        gc.enable()


def _tell(hear: Hear) -> Callable[[int, int], None]:
    return lambda done, count: hear(Progress("looking at files", done, count))


async def _nobody(question: Question) -> Answer:
    """A scan asks nothing."""
    return Answer("no")


def _path_inside(root: Path, path: str) -> str:
    """A path that the person typed, relative to the root; "" for the root itself."""
    if not path:
        return ""
    given = Path(path)
    if not given.exists():
        raise UsageError(f"There is no {path!r}.")
    inside = os.path.relpath(given.resolve(), root)
    if inside == os.pardir or inside.startswith(os.pardir + os.sep):
        raise UsageError(f"{path!r} is not in the project at {root}.")
    return "" if inside == os.curdir else inside.replace(os.sep, "/")
