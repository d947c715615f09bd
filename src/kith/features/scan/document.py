"""The report as a document: its parts, drawn for a terminal or as Markdown, where nothing foreign acts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from kith.context.source import NO_CODE
from kith.core.numbers import size_text
from kith.features.scan.entries import EntryPoint
from kith.features.scan.report import Report
from kith.view.document import INSET, Block, Code, DataTable, Part, Words, markdown, plain_lines, visible
from kith.view.lines import count
from kith.view.printing import printable

_SHARE: Final = 0.02  # of all code; a language with less is not what a project is written in


class Most(Struct, frozen=True):
    """The limits of the parts, in lines."""

    languages: int
    entries: int
    layout: int
    few: int


_SCREEN: Final = Most(6, 6, 20, 5)
_DOCUMENT: Final = Most(1_000, 20, 1_000_000, 10)


# --- what is told ----------------------------------------------------------------------------


def _parts(report: Report, most: Most) -> Iterator[tuple[str, list[Part]]]:
    """The parts that have anything to say, each below its title."""
    titled = {
        "Languages": _languages(report, most),
        "Starts at": _entries(report, most),
        "Tests": _tests(report),
        "Layout": _layout(report, most),
        "Modules": _modules(report, most),
        "Complexity": _complexity(report, most),
        "Hot spots": _hotspots(report, most),
        "Duplicates": _duplicates(report, most),
        "Findings": _findings(report, most),
    }
    return ((title, parts) for title, told in titled.items() if (parts := list(told)))


def _head(report: Report) -> Iterator[str]:
    """Tell the languages and the size, and which files were not read."""
    written = [each for each in report.languages if each.name not in NO_CODE]
    least = _SHARE * sum(each.code for each in written)
    languages = [each.name for each in written if each.code >= least][:3]
    what = f"{listed(languages)}; " if languages else ""
    size = report.size
    yield f"{what}{_count(size.lines, 'line')} in {_count(size.files, 'file')}, {size_text(size.bytes)}"
    odd = (("binary", size.binary), ("too large to read", size.unread), ("the same as another", size.copies))
    if told := [f"{number:,} {'is' if number == 1 else 'are'} {word}" for word, number in odd if number]:
        yield f"of these {', '.join(told)}"


def _languages(report: Report, most: Most) -> Iterator[Part]:
    shown = report.languages[: most.languages]
    if shown:
        rows = [
            (each.name, f"{each.files:,}", f"{each.code:,}", f"{each.comment:,}", f"{each.blank:,}")
            for each in shown
        ]
        yield DataTable(("language", "files", "code", "comment", "blank"), rows)
    yield from _more(len(report.languages) - len(shown), "language")


def _entries(report: Report, most: Most) -> Iterator[Part]:
    shown = report.entries[: most.entries]
    if shown:
        rows = [(_start(each), each.kind, Code(each.path)) for each in shown]
        yield DataTable(("way in", "kind", "file"), rows)
    yield from _more(len(report.entries) - len(shown), "way in", "ways in")


def _start(entry: EntryPoint) -> Words:
    return (Code(entry.name), " = ", Code(entry.target)) if entry.target else Code(entry.name)


def _tests(report: Report) -> Iterator[Part]:
    for each in report.toolchains:
        yield f"{each.name}: {each.why}"
        commands = {"configure": each.configure, "build": each.build, "test": each.test}
        if lines := [f"{word:<10} {line}" for word, line in commands.items() if line]:
            yield Block(lines, INSET)
    if report.size.tests:
        yield f"{_count(report.size.tests, 'file')} of tests, {_count(report.size.test_lines, 'line')}"
    if not report.toolchains:
        yield "nothing here says how tests are run"
    if report.covered.source:
        yield (f"coverage {report.covered.share:.1%} of the lines, says ", Code(report.covered.source))
    elif report.toolchains:
        yield "coverage not known: kith build measures it"


def _layout(report: Report, most: Most) -> Iterator[Part]:
    lines = report.layout.split("\n") if report.layout else []
    if lines:
        yield Block(lines[: most.layout])
    yield from _more(len(lines) - most.layout, "line")


def _modules(report: Report, most: Most) -> Iterator[Part]:
    modules = report.modules
    if not modules.imports:
        return
    cycles = count(modules.knots, "cycle") if modules.knots else "no cycles"
    yield f"{modules.modules:,} modules, {modules.imports:,} imports between them, {cycles}"
    for cycle in modules.cycles[: most.few]:
        way = [piece for each in cycle.way for piece in (Code(each), " > ")]
        more = f" (and {cycle.modules - len(cycle.way)} more)" if cycle.modules > len(cycle.way) else ""
        yield ("cycle: ", *way, Code(cycle.way[0]), more)
    yield from _more(modules.knots - most.few, "cycle")
    if modules.most_used:
        rows = [(Code(each.path), f"{each.by:,}") for each in modules.most_used[: most.few]]
        yield DataTable(("most others depend on", "by"), rows)


def _complexity(report: Report, most: Most) -> Iterator[Part]:
    told = report.functions
    if not told.functions:
        return
    above = f"{told.above:,} of them above {told.limit}" if told.above else f"none above {told.limit}"
    yield f"{told.functions:,} functions and {told.types:,} types; cyclomatic complexity: {above}"
    rows: list[tuple[Words, ...]] = [
        (
            (Code(each.name), " in ", Code(f"{found.path}:{each.first}")),
            *map(str, (each.cyclomatic, each.lines, each.cognitive, each.nesting, each.parameters)),
        )
        for found in told.worst[: most.few]
        for each in [found.function]
    ]
    if rows:
        yield DataTable(
            ("function", "cyclomatic", "lines", "cognitive", "nesting", "parameters"), rows, narrow=3
        )


def _hotspots(report: Report, most: Most) -> Iterator[Part]:
    if report.history.unknown:
        yield f"not known: {report.history.unknown}"
        return
    rows = [
        (Code(each.path), str(each.commits), f"{each.complexity:,}", f"{each.score:.0%}")
        for each in report.history.hotspots[: most.few]
    ]
    if rows:
        yield "commits in the last year, times complexity"
        yield DataTable(("file", "commits", "complexity", "heat"), rows)


def _duplicates(report: Report, most: Most) -> Iterator[Part]:
    copied = report.copied
    if not copied.pairs:
        yield "none found"
        return
    pairs = "1 pair of places" if copied.pairs == 1 else f"{copied.pairs:,} pairs of places"
    yield f"{pairs}, {copied.lines:,} duplicated lines"
    rows: list[tuple[Words, ...]] = []
    for each in copied.longest[: most.few]:
        one, two = (Code(f"{place.path}:{place.first}-{place.last}") for place in (each.place, each.other))
        rows.append(((one, " and ", two), str(each.lines)))
    yield DataTable(("places", "lines"), rows)


def _findings(report: Report, most: Most) -> Iterator[Part]:
    linted = report.linted
    if linted.tools:
        told = f"{len(linted.findings):,}" if linted.findings else "none"
        yield f"{told} of {', '.join(linted.tools)}"
    rules = Counter((each.by, each.rule) for each in linted.findings)
    rows: list[tuple[Words, ...]] = []
    for (by, rule), number in rules.most_common(most.few):
        first = next(each for each in linted.findings if (each.by, each.rule) == (by, rule))
        place = Code(f"{first.path}:{first.line}")
        rows.append(((Code(f"{by} {rule}"), ", first in ", place), f"{number:,}"))
    if rows:
        yield DataTable(("rule", "findings"), rows)
    yield from _more(len(rules) - most.few, "rule")
    yield from linted.problems


def _more(number: int, noun: str, several: str = "") -> Iterator[Part]:
    if number > 0:
        yield f"and {number:,} more {noun if number == 1 else several or noun + 's'}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _name(report: Report) -> str:
    return f"{report.name}/{report.folder}" if report.folder else report.name


# --- on a terminal ---------------------------------------------------------------------------


def text_of(report: Report) -> Iterator[str]:
    """The report in lines of at most 80 columns, but for long names, which are never cut."""
    if not report.size.files:
        where = f"in {printable(report.folder)}" if report.folder else "here"
        yield f"There are no files {where}."
        return
    head, *odd = _head(report)
    yield f"{printable(_name(report))}: {head}"
    yield from (f"{INSET}{line}" for line in odd)
    for title, parts in _parts(report, _SCREEN):
        yield from ("", title)
        yield from (f"{INSET}{line}" for part in parts for line in plain_lines(part))


# --- as Markdown -----------------------------------------------------------------------------


def as_markdown(report: Report) -> str:
    """The whole report, for a wiki, a pull request or a model."""
    blocks = [f"# {visible(_name(report))}", ", ".join(_head(report))]
    for title, parts in _parts(report, _DOCUMENT):
        blocks += [f"## {title}", *map(markdown, parts)]
    return "\n\n".join(blocks) + "\n"


def listed(names: Sequence[str]) -> str:
    """`C, Go and Python`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
