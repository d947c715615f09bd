"""Scan a codebase without a model: its files, its history and its own tools, as one report."""

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kith.agent.index import FedIndex
from kith.agent.project import Project
from kith.context.brief import show_layout
from kith.context.git_paths import list_paths
from kith.context.source import Tokens, tokenise
from kith.core.errors import UsageError
from kith.core.events import Event, Progress
from kith.core.run import Limits, Run
from kith.core.values import Answer, Question
from kith.core.workspace import ExecLimits
from kith.features.scan.assemble import (
    count_copied,
    find_links,
    find_matches,
    find_ways_in,
    link_modules,
    measure_functions,
    measure_languages,
    measure_size,
)
from kith.features.scan.checks import Patience, find_commands, find_coverage, lint, read_all
from kith.features.scan.duplicates import LEAST_TOKENS, Match, refine
from kith.features.scan.facts import FileFacts
from kith.features.scan.picture import draw
from kith.features.scan.report import Changed, Copied, History, Report, Survey, count_changes, find_hotspots
from kith.features.scan.survey import Notes, keep, recall, survey
from kith.memory.scanned import ScanStore
from kith.trees.git import head, is_repository

# How often each file changed in the last year, by the tree's own git.

_COMMITS: Final = 10_000
_LIMITS: Final = ExecLimits(seconds=30.0, output=50_000_000)
_LOG: Final = (
    *("log", f"-n{_COMMITS}", "--since=1 year ago", "--no-merges", "--no-renames", "--relative"),
    *("--format=", "--numstat", "-z"),
)
_SHOWN: Final = 200  # hot spots of a report: what is cooler is cold


async def find_history(run: Run, notes: Notes, head: str, facts: Mapping[str, FileFacts]) -> History:
    """The hot spots among these files; `head` is the commit that is checked out, "" for none.

    Of more than 10,000 commits in a year the latest count. What git told is kept until the next commit, or
    the next day.
    """
    if not head:
        return History(unknown="there is no git history")
    rests_on = f"{head} {datetime.now(UTC):%Y-%m-%d}"
    told = recall(notes, "history", rests_on)
    if told is None:
        records = await list_paths(run, _LOG, _LIMITS)
        if records is None:
            where = (
                "git did not answer in time" if run.workspace.confined else "there is no sandbox for git here"
            )
            return History(unknown=where)
        told = {path: [each.commits, each.lines] for path, each in count_changes(records).items()}
        keep(notes, "history", rests_on, told)
    changes = {path: Changed(*numbers) for path, numbers in told.items() if path in facts}
    if not changes:
        return History(unknown="nothing was changed in the last year")
    spots = find_hotspots(changes, {path: facts[path].complexity for path in changes})
    return History(spots[:_SHOWN])


_LAYOUT: Final = 120  # tokens of the layout: about twelve lines


async def scan(run: Run, survey: Survey, notes: Notes, head: str, folder: str, patience: Patience) -> Report:
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
    """Whether both files still hold what they held when they were looked at."""
    found, length = match.duplicate, match.duplicate.tokens
    if found.place.path not in tokens or found.other.path not in tokens:
        return False
    mine, theirs = tokens[found.place.path].ids, tokens[found.other.path].ids
    run = mine[match.at : match.at + length]
    return len(run) == length and run == theirs[match.other_at : match.other_at + length]


def _text(content: bytes) -> str:
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")


# Scans: a codebase is looked at without a model, and what is known already is not looked at again.

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
    folder = _inside(project.root, path)
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


def _inside(root: Path, path: str) -> str:
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
