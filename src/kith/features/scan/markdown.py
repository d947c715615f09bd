"""The report as a Markdown document, for a wiki, a pull request or a model."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kith.core.numbers import size_text
from kith.features.scan.report import Report

# Foreign names for documents: nothing in them can end a line, hide, or turn the direction of the text.


def visible(name: str) -> str:
    """A name as it is where every character shows, else with escapes for those that do not."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in name)


def listed(names: Sequence[str]) -> str:
    """`C, Go and Python`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def code(name: str) -> str:
    """A name as Markdown code, safe inside a table too."""
    shown = visible(name).replace("|", "\\|")
    fence = "``" if "`" in shown else "`"
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


_FEW, _MORE = 10, 20  # rows of a list


def as_markdown(report: Report) -> str:
    """The whole report, with a heading for each part that has anything to say."""
    name = f"{report.name}/{report.folder}" if report.folder else report.name
    size = report.size
    what = f"{size.files:,} files, {size.lines:,} lines, {size_text(size.bytes)}."
    parts = (
        _languages(report),
        _entries(report),
        _tests(report),
        _layout(report),
        _modules(report),
        _functions(report),
        _history(report),
        _copied(report),
        _linted(report),
    )
    return f"# {visible(name)}\n\n{what}\n" + "".join(f"\n{part}" for part in map(_section, parts) if part)


def _section(lines: Iterable[str]) -> str:
    """A heading, an empty line, and what follows; "" where only the heading is there."""
    heading, *rest = lines
    return "\n".join([f"## {heading}", "", *rest, ""]) if rest else ""


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The first column to the left, numbers in the others to the right."""
    yield f"| {' | '.join(titles)} |"
    yield f"|---{'|---:' * (len(titles) - 1)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _languages(report: Report) -> Iterator[str]:
    yield "Languages"
    rows = [
        (each.name, f"{each.files:,}", f"{each.code:,}", f"{each.comment:,}", f"{each.blank:,}")
        for each in report.languages
    ]
    yield from _table(("language", "files", "code", "comment", "blank"), rows)


def _entries(report: Report) -> Iterator[str]:
    yield "Where it starts"
    for each in report.entries[:_MORE]:
        target = f" → {code(each.target)}" if each.target else ""
        yield f"- {code(each.name)}{target} ({each.kind}, {code(each.path)})"
    if len(report.entries) > _MORE:
        yield f"- and {len(report.entries) - _MORE} more"


def _tests(report: Report) -> Iterator[str]:
    yield "Build and tests"
    for each in report.toolchains:
        yield f"- {each.name} ({visible(each.why)})"
        for word, line in (("configure", each.configure), ("build", each.build), ("test", each.test)):
            if line:
                yield f"  - {word}: {code(line)}"
    yield f"- {report.size.tests:,} files of tests, {report.size.test_lines:,} lines"
    if report.covered.source:
        yield f"- coverage: {report.covered.share:.1%} of the lines ({code(report.covered.source)})"
    else:
        yield "- coverage: not known; `kith build` measures it"


def _layout(report: Report) -> Iterator[str]:
    yield "Layout"
    if report.layout:
        yield from (f"    {line}" for line in report.layout.split("\n"))


def _modules(report: Report) -> Iterator[str]:
    modules = report.modules
    yield "Modules"
    if not modules.modules:
        return
    yield f"{modules.modules:,} modules, {modules.imports:,} imports between them."
    if modules.most_used:
        yield ""
        used = [(code(each.path), f"{each.by:,}") for each in modules.most_used[:_FEW]]
        yield from _table(("most depended on", "by"), used)
    yield ""
    yield f"Cycles: {modules.knots or 'none'}."
    for cycle in modules.cycles[:_FEW]:
        way = " → ".join(map(code, (*cycle.way, cycle.way[0])))
        yield f"- {way}" + (f" (a knot of {cycle.modules})" if cycle.modules > len(cycle.way) else "")


def _functions(report: Report) -> Iterator[str]:
    told = report.functions
    yield "Complexity"
    if not told.functions:
        return
    yield (
        f"{told.functions:,} functions, {told.types:,} types. Cyclomatic complexity {told.complexity:,}, "
        f"{told.above:,} functions above {told.limit}."
    )
    yield ""
    rows = [
        (
            f"{code(each.function.name)} in {code(f'{each.path}:{each.function.first}')}",
            *map(str, (each.function.cyclomatic, each.function.cognitive)),
            *map(str, (each.function.nesting, each.function.lines, each.function.parameters)),
        )
        for each in told.worst[:_FEW]
    ]
    if rows:
        yield from _table(("function", "cyclomatic", "cognitive", "nesting", "lines", "parameters"), rows)


def _history(report: Report) -> Iterator[str]:
    yield "Hot spots"
    if report.history.unknown:
        yield f"Not known: {report.history.unknown}."
        return
    yield "Commits in the last year times complexity."
    yield ""
    rows = [
        (code(each.path), str(each.commits), str(each.complexity), f"{each.score:.0%}")
        for each in report.history.hotspots[:_FEW]
    ]
    yield from _table(("file", "commits", "complexity", "heat"), rows)


def _copied(report: Report) -> Iterator[str]:
    yield "Duplicated code"
    if not report.copied.pairs:
        yield "None found."
        return
    yield f"{report.copied.pairs:,} pairs of places, {report.copied.lines:,} lines."
    yield ""
    for each in report.copied.longest[:_FEW]:
        places = [f"{place.path}:{place.first}-{place.last}" for place in (each.place, each.other)]
        yield f"- {each.lines} lines: {' and '.join(map(code, places))}"


def _linted(report: Report) -> Iterator[str]:
    yield "Findings"
    linted = report.linted
    if linted.tools:
        yield f"{len(linted.findings):,} of {', '.join(linted.tools)}."
    yield from (visible(problem) for problem in linted.problems)
    if linted.findings:
        yield ""
        rules = Counter((each.by, each.rule) for each in linted.findings).most_common(_FEW)
        yield from _table(("rule", "findings"), [(code(f"{by} {rule}"), str(n)) for (by, rule), n in rules])
