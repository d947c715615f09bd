"""From what is in each file to what a codebase is: sums, rankings and the graph of its modules."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

from kith.features.scan.duplicates import Match, match_prints
from kith.features.scan.entries import EntryPoint, order_entries
from kith.features.scan.facts import LEAST_TOKENS, LIMIT, FileFacts
from kith.features.scan.graph import Links, count_dependents, find_knots, shortest_cycle
from kith.features.scan.report import (
    Complex,
    Copied,
    Cycle,
    Functions,
    LanguageSize,
    ModuleGraph,
    Size,
    Survey,
    Used,
)
from kith.gates.untouched import is_test_file

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
    return ModuleGraph(
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
    """Find duplicated code; of identical files only one is compared."""
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
