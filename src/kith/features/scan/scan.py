"""Scan a codebase without a model: files, history and its own tools as one report; known parts are reused."""

import gc
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.project import Project
from kith.context.brief import show_layout
from kith.core.errors import UsageError
from kith.core.events import Event, Progress
from kith.core.git import list_paths
from kith.core.run import Limits, Run, answer_no
from kith.core.structs import repr_without
from kith.core.workspace import ExecLimits, read_readable
from kith.features.scan.checks import Patience, find_commands, find_coverage, lint
from kith.features.scan.duplicates import LEAST_TOKENS, Match, match_prints, refine
from kith.features.scan.entries import EntryPoint, order_entries
from kith.features.scan.facts import LIMIT, SHARED_TOKENS, FileFacts, ScanCache, keep, recall
from kith.features.scan.fed_index import FedIndex
from kith.features.scan.graph import Links, count_dependents, find_knots, find_links, shortest_cycle
from kith.features.scan.picture import draw
from kith.features.scan.report import (
    Complex,
    Copied,
    Cycle,
    Functions,
    History,
    HotSpot,
    LanguageSize,
    ModuleGraph,
    Report,
    Size,
    Survey,
    Used,
)
from kith.features.scan.source_text import Tokens, text_of, tokenise
from kith.features.scan.survey import survey
from kith.gates.untouched import is_test_file
from kith.memory.caches import ScanStore
from kith.trees.git import head, is_repository

# Find where changes and complexity meet, by how often git says that each file changed in the last year.


_COMMITS: Final = 10_000
_LIMITS: Final = ExecLimits(seconds=30.0, output=50_000_000)
_LOG: Final = (
    *("log", f"-n{_COMMITS}", "--since=1 year ago", "--no-merges", "--no-renames", "--relative"),
    *("--format=", "--numstat", "-z"),
)
_SHOWN: Final = 200  # hot spots of a report: what is cooler is cold


class FileChanges(Struct, frozen=True):
    """The commits of a file, and the lines that they added and removed together."""

    commits: int
    lines: int


async def find_history(run: Run, notes: ScanCache, head: str, facts: Mapping[str, FileFacts]) -> History:
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
    changes = {path: FileChanges(*numbers) for path, numbers in told.items() if path in facts}
    if not changes:
        return History(unknown="nothing was changed in the last year")
    spots = find_hotspots(changes, {path: facts[path].complexity for path in changes})
    return History(spots[:_SHOWN])


def count_changes(records: Iterable[str]) -> dict[str, FileChanges]:
    """Read `git log --numstat`, by file; a record is `added<TAB>removed<TAB>path`, `-` for binary.

    Records of another form are left out.
    """
    found: dict[str, FileChanges] = {}
    for record in records:
        added, _, rest = record.strip("\n").partition("\t")
        removed, _, path = rest.partition("\t")
        if not path:
            continue
        known = found.get(path, FileChanges(0, 0))
        lines = sum(int(number) for number in (added, removed) if number.isdecimal())
        found[path] = FileChanges(known.commits + 1, known.lines + lines)
    return found


def find_hotspots(changes: Mapping[str, FileChanges], complexity: Mapping[str, int]) -> tuple[HotSpot, ...]:
    """The files by commits times complexity, the hottest first (after Tornhill, Your Code as a Crime Scene).

    A file without complexity (no functions, not code) or without changes is no hot spot.
    """
    products = {
        path: each.commits * complexity[path] for path, each in changes.items() if complexity.get(path, 0) > 0
    }
    most = max(products.values(), default=0) or 1
    spots = (
        HotSpot(path, changes[path].commits, complexity[path], product / most)
        for path, product in products.items()
    )
    return tuple(sorted(spots, key=lambda each: (-each.score, each.path)))


# Scan a codebase without a model: files, history and its own tools as one report; known parts are reused.


# From what is in each file to what a codebase is: sums, rankings and the graph of its modules.


_CYCLES: Final = 20  # of each, at most, in a report
_USED: Final = 20
_WORST: Final = 30
_PAIRS: Final = 12


def measure_size(survey: Survey) -> Size:
    """The files, counted; one that is the same as another, byte for byte, is a copy."""
    facts = survey.facts
    digests = Counter(digest for path, digest in survey.digests.items() if digest and survey.sizes[path])
    tests = [path for path in facts if facts[path].lines and is_test_file(path)]
    return Size(
        files=len(facts),
        bytes=sum(survey.sizes.values()),
        lines=sum(each.lines for each in facts.values()),
        binary=sum(each.binary for each in facts.values()),
        unread=sum(not digest for digest in survey.digests.values()),
        copies=sum(digests.values()) - len(digests),
        tests=len(tests),
        test_lines=sum(facts[path].lines for path in tests),
    )


def measure_languages(facts: Mapping[str, FileFacts]) -> tuple[LanguageSize, ...]:
    """The languages, the one with the most lines of code first; files of none are left out."""
    groups: dict[str, list[FileFacts]] = defaultdict(list)
    for each in facts.values():
        if each.language:
            groups[each.language].append(each)
    sizes = (_language_size(name, group) for name, group in groups.items())
    return tuple(sorted(sizes, key=lambda size: (-size.code, size.name)))


def _language_size(name: str, group: list[FileFacts]) -> LanguageSize:
    lines, blank, comment = (
        sum(getattr(each, part) for each in group) for part in ("lines", "blank", "comment")
    )
    return LanguageSize(name, len(group), lines, lines - blank - comment, comment, blank)


def find_ways_in(facts: Mapping[str, FileFacts]) -> tuple[EntryPoint, ...]:
    """Find where the project starts; files of tests are left out."""
    return order_entries(
        entry for path, each in facts.items() for entry in each.entries if not is_test_file(path)
    )


# --- modules -----------------------------------------------------------------------------------


def link_modules(facts: Mapping[str, FileFacts], links: Mapping[str, Links]) -> ModuleGraph:
    """The graph of these files, its circles, and what most others lean on.

    A circle is one of imports that are carried out when the module is. A Go package is one module.
    """
    nodes = {
        path: path[: path.rfind("/") + 1] or "/" if path.endswith(".go") else path
        for path, each in facts.items()
        if each.imports or each.functions or each.types
    }
    inside = set(nodes.values())
    whole: dict[str, set[str]] = {node: set() for node in nodes.values()}
    at_once: dict[str, set[str]] = {node: set() for node in nodes.values()}
    for path, (early, late) in links.items():
        if node := nodes.get(path):
            at_once[node].update(inside.intersection(early))
            whole[node].update(inside.intersection(early), inside.intersection(late))
    knots = [knot for knot in find_knots(at_once) if len(knot) > 1]
    used = sorted(count_dependents(whole).items(), key=lambda pair: (-pair[1], pair[0]))
    return ModuleGraph(
        len(whole),
        sum(len(targets - {node}) for node, targets in whole.items()),
        tuple(Cycle(shortest_cycle(at_once, knot), len(knot)) for knot in knots[:_CYCLES]),
        tuple(Used(path, count) for path, count in used[:_USED]),
        len(knots),
    )


# --- functions and duplicates ------------------------------------------------------------------


def measure_functions(facts: Mapping[str, FileFacts]) -> Functions:
    """The functions of all files: how many, how complex, and the worst."""
    worst = [Complex(path, each) for path, file in facts.items() for each in file.worst]
    worst.sort(key=lambda each: (-each.function.cyclomatic, each.path, each.function.first))
    return Functions(
        functions=sum(each.functions for each in facts.values()),
        types=sum(each.types for each in facts.values()),
        complexity=sum(each.complexity for each in facts.values()),
        limit=LIMIT,
        above=sum(each.above for each in facts.values()),
        worst=tuple(worst[:_WORST]),
    )


def find_matches(survey: Survey) -> list[Match]:
    """Find duplicated code; of identical files only one is compared."""
    seen: set[bytes] = set()
    prints = {}
    for path, each in survey.prints.items():
        if each.hashes and survey.digests[path] not in seen:
            seen.add(survey.digests[path])
            prints[path] = each
    return match_prints(prints, SHARED_TOKENS)


def count_copied(matches: list[Match]) -> tuple[Copied, list[Match]]:
    """The matches, summed up, and the longest of them, which are worth a closer look."""
    lines: dict[str, set[int]] = defaultdict(set)
    for match in matches:
        other = match.duplicate.other
        lines[other.path].update(range(other.first, other.last + 1))
    longest = sorted(matches, key=lambda each: (-each.duplicate.tokens, each.duplicate.place.path, each.at))
    return Copied(len(matches), sum(map(len, lines.values()))), longest[:_PAIRS]


# Scan a codebase without a model: files, history and its own tools as one report; known parts are reused.


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
        path: tokenise(path, text_of(content))
        for path, content in (await read_readable(run.workspace, sorted(paths))).items()
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


# --- a project's scan ------------------------------------------------------------------------


Hear = Callable[[Event], None]


class Scanned(Struct, frozen=True):
    """A report, and what it was made from."""

    report: Report
    survey: Survey
    __repr__ = repr_without("report", "survey")  # asyncio's runner makes the result's, and throws it away

    def picture(self) -> str:
        """The codebase as SVG: folders and files as large as their code, coloured by how hot they are."""
        return draw(self.report, self.survey)


async def run_scan(project: Project, path: str, patience: Patience, hear: Hear) -> Scanned:
    """Look at the project, or at the folder or file `path` in it ("" for all of it).

    Nothing is logged and nothing in the tree is changed. Raises UsageError for a path that is not in the
    project.
    """
    folder = _path_inside(project.root, path)

    def tell(done: int, files: int) -> None:
        hear(Progress("looking at files", done, files))

    gc.disable()  # many values and no cycles among them: looking for some takes a third of the time
    store = ScanStore(project.settings.cache, project.root)
    try:
        hear(Progress("listing files", 0))
        stamps = await project.tree.stamps()
        with closing(FedIndex(project, stamps, hear)) as index:
            known = await survey(project.root, stamps, store, tell, folder, index)
        commit = await head(project.root) if await is_repository(project.root) else ""
        run = Run(lambda event, _: hear(event), answer_no, project.tree, Limits())
        return Scanned(await scan(run, known, store, commit, folder, patience), known)
    finally:
        store.close()
        gc.enable()


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
