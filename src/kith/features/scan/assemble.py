"""From what is in each file to what a codebase is: sums, rankings and the graph of its modules."""

import hashlib
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from kith.context.imports import Resolver
from kith.features.scan.duplicates import Match, match_prints
from kith.features.scan.entries import Entry, order_entries
from kith.features.scan.facts import LEAST_TOKENS, LIMIT, FileFacts
from kith.features.scan.graph import count_dependents, find_knots, shortest_cycle
from kith.features.scan.report import (
    Complex,
    Copied,
    Cycle,
    Functions,
    LanguageSize,
    Modules,
    Size,
    Survey,
    Used,
)
from kith.features.scan.survey import Notes, keep, recall
from kith.gates.untouched import is_test_file

# Which files a project's files import: found once for each file, and again when it or the tree changes.

# A file's imports in the project: those that are carried out with it, and those that are later.
Links = tuple[list[str], list[str]]


def find_links(survey: Survey, notes: Notes, folder: str = "") -> dict[str, Links]:
    """What each file of a survey imports of the project; files that import nothing of it are left out.

    What was found before for this folder holds as long as the same files are in the tree, and a file's
    imports are the same.
    """
    facts, name = survey.facts, f"links {folder}"
    modules = _go_modules(facts)
    rests_on = _digest(survey.files, modules)
    known = recall(notes, name, rests_on) or {}
    told: dict[str, tuple[int, list[str], list[str]]] = {}
    resolver: Resolver | None = None
    for path, each in facts.items():
        if not each.imports:
            continue
        mark = zlib.crc32("\n".join(each.imports).encode("utf-8", "surrogatepass"))
        before = known.get(path)
        if before is not None and before[0] == mark:
            told[path] = before
        else:
            resolver = resolver or Resolver(survey.files, modules)
            early, late = _part(resolver.resolve(path, each.imports))
            told[path] = (mark, early, late)
    if resolver is not None:
        keep(notes, name, rests_on, told)
    return {path: (early, late) for path, (_, early, late) in told.items() if early or late}


def _part(targets: Iterable[tuple[str, bool]]) -> Links:
    found = sorted(set(targets))
    early = [path for path, late in found if not late]
    return early, [path for path, late in found if late and path not in early]


def _digest(files: Iterable[str], modules: Mapping[str, str]) -> str:
    """What a resolved import rests on: which files there are, and what Go's modules are called."""
    hashed = hashlib.sha256("\0".join(files).encode("utf-8", "surrogatepass"))
    hashed.update(repr(sorted(modules.items())).encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


def _go_modules(facts: Mapping[str, FileFacts]) -> dict[str, str]:
    """The folder of each `go.mod`, and the name it gives to its module."""
    return {
        path.removesuffix("go.mod"): name.removeprefix("module ")
        for path, each in facts.items()
        if path.endswith("go.mod") and path.rpartition("/")[2] == "go.mod"
        for name in each.imports
    }


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


def find_ways_in(facts: Mapping[str, FileFacts]) -> tuple[Entry, ...]:
    """Where the project starts; files of tests may be started too, and are left out."""
    return order_entries(
        entry for path, each in facts.items() for entry in each.entries if not is_test_file(path)
    )


# --- modules -----------------------------------------------------------------------------------


def link_modules(facts: Mapping[str, FileFacts], links: Mapping[str, Links]) -> Modules:
    """The graph of these files, its circles, and what most others lean on.

    A circle is one of imports that are carried out when the module is. A Go package is one module.
    """
    nodes = {
        path: _node(path) for path, each in facts.items() if each.imports or each.functions or each.types
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
    return Modules(
        len(whole),
        sum(len(targets - {node}) for node, targets in whole.items()),
        tuple(Cycle(shortest_cycle(at_once, knot), len(knot)) for knot in knots[:_CYCLES]),
        tuple(Used(path, count) for path, count in used[:_USED]),
        len(knots),
    )


def _node(path: str) -> str:
    return path[: path.rfind("/") + 1] or "/" if path.endswith(".go") else path


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
    """Where code stands twice; of files that are the same as a whole one speaks for all."""
    seen: set[bytes] = set()
    prints = {}
    for path, each in survey.prints.items():
        if each.hashes and survey.digests[path] not in seen:
            seen.add(survey.digests[path])
            prints[path] = each
    return match_prints(prints, LEAST_TOKENS)


def count_copied(matches: list[Match]) -> tuple[Copied, list[Match]]:
    """The matches, summed up, and the longest of them, which are worth a closer look."""
    lines: dict[str, set[int]] = defaultdict(set)
    for match in matches:
        other = match.duplicate.other
        lines[other.path].update(range(other.first, other.last + 1))
    longest = sorted(matches, key=lambda each: (-each.duplicate.tokens, each.duplicate.place.path, each.at))
    return Copied(len(matches), sum(map(len, lines.values()))), longest[:_PAIRS]
