"""`kith profile`: what was measured so far, with how sure that is; as text, JSON, CSV or a page."""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, Literal

from msgspec import Struct

from kith.agent.project import Project
from kith.core.errors import EXIT_DONE
from kith.core.numbers import dollars, median
from kith.core.values import Timing, Usage
from kith.features.measure.intervals import Share, Spread
from kith.features.measure.measured_rows import VerdictRow
from kith.features.measure.profile import (
    Profile,
    ProfileScope,
    counts_of,
    describe_caches,
    describe_errors,
    describe_gates,
    describe_money,
    describe_profile,
    facts_of,
    read_profile,
)
from kith.features.measure.rows import CallRow, LegRow
from kith.features.measure.speed_and_success import ModelSpeed, Success, write_rate
from kith.features.measure.trends import LAST, Shift, Trend
from kith.terminal.options import find_root
from kith.terminal.streams import write_output
from kith.view.lines import WIDTH, count, day, figure, from_home, paragraph, tokens
from kith.view.printing import printable

# A profile on 80 columns, with its plots: for each model its speed, its work and its tokens.


# Plots in a terminal: bars, shares with their intervals, values over time; plain text, without colour.

Point = tuple[float, float]


class ChartGlyphs(Struct, frozen=True):
    """The characters of plots. `rising`: parts of a cell, from the lowest to the whole one.

    `parts`: the fillings of a bar of several parts.
    """

    rising: str
    line: str
    low: str
    high: str
    dot: str
    axis: str
    corner: str
    parts: str


BLOCKS: Final = ChartGlyphs("▁▂▃▄▅▆▇█", "─", "├", "┤", "●", "│", "└", "█▒░")
ASCII: Final = ChartGlyphs(".:#", "-", "|", "|", "o", "|", "+", "#=.")


def choose_glyphs(stream: IO[str]) -> ChartGlyphs:
    """Blocks and lines, or ASCII where the stream's encoding has none."""
    every = "".join(getattr(BLOCKS, name) for name in ChartGlyphs.__struct_fields__)
    try:
        every.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def draw_share(share: float, low: float, high: float, width: int, glyphs: ChartGlyphs = BLOCKS) -> str:
    """A share (0 to 1) as a dot on a line, between the bounds of its interval.

    `───├──●────┤────────`: the line's ends are 0 and 100 percent.
    """
    cells = [glyphs.line] * width
    for place, char in ((low, glyphs.low), (high, glyphs.high), (share, glyphs.dot)):
        cells[_shown_cell(place, width)] = char
    return "".join(cells)


def draw_parts(parts: Sequence[float], whole: float, width: int, glyphs: ChartGlyphs = BLOCKS) -> str:
    """A bar whose parts are filled each in its own way, as long as they are of `whole`."""
    bar, total = "", 0.0
    for part, char in zip(parts, glyphs.parts, strict=False):
        total += part
        end = round(width * total / whole) if whole else 0
        bar += char * (end - len(bar))
    return bar


def draw_time(points: Sequence[Point], width: int, height: int, glyphs: ChartGlyphs = BLOCKS) -> list[str]:
    """Values over time as columns from 0 on, each the median of its part of the time; gaps stay gaps.

    `points` are (moment, value); the lines are as wide as `width`, their scale on the left included.
    """
    if not points:
        return []
    top = max(value for _, value in points) or 1.0
    scale = max(len(_short(top)), 1)
    room = width - scale - 2
    columns = _columns(points, room)
    rows = []
    for row in range(height, 0, -1):
        label = _short(top) if row == height else _short(top / 2) if row * 2 == height else ""
        cells = "".join(_rise(value, top, row, height, glyphs) for value in columns)
        rows.append(f"{label:>{scale}} {glyphs.axis}{cells}".rstrip())
    rows.append(f"{'0':>{scale}} {glyphs.corner}{glyphs.line * room}")
    return rows


def _columns(points: Sequence[Point], room: int) -> list[float | None]:
    """The median of what falls into each column, the first moment on the left, the last on the right."""
    first, last = min(at for at, _ in points), max(at for at, _ in points)
    cells: list[list[float]] = [[] for _ in range(room)]
    for at, value in points:
        cells[_shown_cell((at - first) / (last - first) if last > first else 0.0, room)].append(value)
    return [median(found) if found else None for found in cells]


def _rise(value: float | None, top: float, row: int, height: int, glyphs: ChartGlyphs) -> str:
    """The piece of a column in a row (the lowest is 1)."""
    if value is None:
        return " "
    steps = len(glyphs.rising)
    filled = max(1, round(value / top * height * steps)) - (row - 1) * steps
    return " " if filled <= 0 else glyphs.rising[min(filled, steps) - 1]


def _shown_cell(place: float, width: int) -> int:
    return min(width - 1, max(0, round(place * (width - 1))))


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


_BAR, _HEIGHT, _PLOTTED = 22, 4, 8  # columns, lines, and calls from which on a plot says anything
_SURE: Final = 6  # values, with fewer of which there is no interval
_DAY_S: Final = 86_400
_INSET: Final = 29 * " "  # where the words of a row that has a name in front go on
_LABEL: Final = 26  # columns of a model's name


def profile_lines(profile: Profile, glyphs: ChartGlyphs, *, detailed: bool = False) -> Iterator[str]:
    """The whole profile as lines; `detailed`: also by purpose, as when one model was asked for."""
    yield from _headline(profile)
    for model in profile.models:
        yield ""
        yield from _model_lines(profile, model, glyphs, detailed)
    for title, lines in (
        (f"the last {LAST} against those before", _trend_lines(profile.trends, profile.calls)),
        ("what changed", map(_shift_line, profile.shifts)),
        ("money", _money_lines(profile)),
        ("said yes to their work", _gate_lines(profile)),
        ("errors", _error_lines(profile)),
        *((each.title, each.lines) for each in profile.added),
    ):
        found = list(lines)
        if found:
            yield from ("", title, *found)


def _headline(profile: Profile) -> Iterator[str]:
    where = printable(from_home(profile.root)) or "all folders"
    yield where if len(where) <= WIDTH else f"...{where[3 - WIDTH :]}"
    since = f" since {day(profile.since)}" if profile.since else ""
    yield f"{', '.join(counts_of(profile))}{since}"


# --- one model -------------------------------------------------------------------------------


def _model_lines(profile: Profile, model: str, glyphs: ChartGlyphs, detailed: bool) -> Iterator[str]:
    calls = [call for call in profile.calls if call.model == model]
    facts = ", ".join(facts_of(calls))
    yield printable(f"{model}  {facts}" if facts else model)
    speeds = [each for each in profile.speeds if each.model == model]
    yield from _speed_lines(speeds, detailed)
    points = [(call.at, rate) for call in calls if not call.error and (rate := write_rate(call))]
    if len(points) >= _PLOTTED:
        yield ""
        yield from (f"  {line}" for line in draw_time(points, WIDTH - 2, _HEIGHT, glyphs))
        yield _dates(points[0][0], points[-1][0])
    successes = [each for each in profile.successes if each.model == model]
    yield from _success_lines(successes, glyphs, detailed)
    yield from _token_lines(calls, glyphs)


def _speed_lines(speeds: Sequence[ModelSpeed], detailed: bool) -> Iterator[str]:
    whole = next((each for each in speeds if not each.purpose and not each.size), None)
    if whole is None:
        return
    yield f"  {'prompt':10}{'calls':>6}{'read tokens/s':>20}{'write tokens/s':>20}{'first token s':>20}"
    yield _speed_line("any", whole)
    sizes = [each for each in speeds if not each.purpose and each.size]
    if len(sizes) > 1:
        yield from (_speed_line(f"to {tokens(each.size)}", each) for each in sizes)
    purposes = [each for each in speeds if each.purpose and not each.size]
    if detailed and len(purposes) > 1:
        yield from (_speed_line(each.purpose, each) for each in purposes)
    if whole.load.number:
        seconds = f"{whole.load.median:.1f} s" if whole.load.median is not None else ""
        yield f"  It was loaded {count(whole.load.number, 'time')}, in {seconds}."


def _speed_line(name: str, speed: ModelSpeed) -> str:
    cells = "".join(f"{_spread(each):>20}" for each in (speed.read, speed.write, speed.first))
    return f"  {printable(name)[:10]:10}{speed.calls:>6}{cells}".rstrip()


def _spread(spread: Spread) -> str:
    """`612 (598-640)`: the median and its interval; `(4)` counts the values where these are too few."""
    if spread.median is None:
        return "-"
    if not spread.interval:
        return f"{figure(spread.median)} ({spread.number} only)"
    low, high = spread.interval
    return f"{figure(spread.median)} ({figure(low)}-{figure(high)})"


def _success_lines(successes: Sequence[Success], glyphs: ChartGlyphs, detailed: bool) -> Iterator[str]:
    if not successes:
        return
    yield ""
    axis = f"{'0':{_BAR // 2}}{'50':{_BAR - _BAR // 2 - 4}}{'100%':>4}"
    yield f"  {'solved':16} {axis} {'':4} {'95 % sure':9} {'judged':>7} {'p50 s':>6} {'p90 s':>6}"
    kinds = [each for each in successes if not each.size]
    for each in kinds[1:] if len(kinds) == 2 else kinds:  # the only kind is all there is
        yield _success_line(each.kind or "any", each, glyphs)
    sizes = [each for each in successes if each.size and not each.kind]
    if len(sizes) > 1:
        yield from (_success_line(f"to {tokens(each.size)} prompt", each, glyphs) for each in sizes)
    if detailed:
        whole = successes[0]
        shares = {
            "well-formed": whole.parsed,
            "edits landed": whole.applied,
            "checks passed": whole.passed,
            "kept by you": whole.adopted,
            "undone later": whole.undone,
        }
        yield from (_share_line(name, share, glyphs) for name, share in shares.items() if share.number)


def _success_line(name: str, success: Success, glyphs: ChartGlyphs) -> str:
    if not success.solved.number:
        tasks = count(success.tasks, "task")
        return f"  {printable(name)[:16]:16} {tasks}, no evidence of success"
    took = f"{figure(success.seconds.median):>6} {figure(success.seconds.p90):>6}"
    judged = f"{success.solved.number}/{success.tasks}"
    return f"{_bar_of(name, success.solved, glyphs)} {judged:>7} {took}"


def _share_line(name: str, share: Share, glyphs: ChartGlyphs) -> str:
    return f"{_bar_of(name, share, glyphs)} {share.number:>7}"


def _bar_of(name: str, share: Share, glyphs: ChartGlyphs) -> str:
    assert share.share is not None and share.interval is not None
    low, high = share.interval
    bar = draw_share(share.share, low, high, _BAR, glyphs)
    bounds = f"({100 * low:.0f}-{100 * high:.0f})"
    return f"  {printable(name)[:16]:16} {bar} {share.share:>4.0%} {bounds:9}"


def _token_lines(calls: Sequence[CallRow], glyphs: ChartGlyphs) -> Iterator[str]:
    """Show the prompt tokens computed and cached, and the tokens written."""
    found = describe_caches(calls)
    if not found:
        return
    (cache,) = found
    written = sum(call.usage.output for call in calls)
    parts = [cache["computed"], cache["input"] - cache["computed"], written]
    bar = draw_parts(parts, sum(parts), WIDTH - 11, glyphs)
    spared = f"from the cache ({cache['spared']:.0%} of prompts)"
    marks = zip(glyphs.parts, parts, ("read", spared, "written"), strict=True)
    yield ""
    yield f"  tokens   {bar}"
    yield f"           {'  '.join(f'{mark} {tokens(part)} {name}' for mark, part, name in marks)}"


# --- all of them -----------------------------------------------------------------------------


def _trend_lines(trends: Iterable[Trend], calls: Sequence[CallRow]) -> Iterator[str]:
    """Show real changes; unchanged figures get one line for each model."""
    same: dict[str, list[str]] = {}
    for trend in trends:
        name = printable(trend.model)
        same.setdefault(name, [])
        if trend.real:
            verdict = "better" if trend.better else "WORSE"
            before, last = (_value(trend, each) for each in (trend.before, trend.last))
            yield f"  {_label(name)} {trend.what:15} {before:>7} -> {last:>7}  {verdict}"
        else:
            same[name].append(trend.what)
    for name, whats in same.items():
        if whats:
            yield from paragraph(f"  {_label(name)} no real difference: {', '.join(whats)}", "", _INSET)
    if not same and calls:
        yield f"  Too little to compare: that takes {LAST} calls or tasks, and {_SURE} before them."


def _value(trend: Trend, value: float) -> str:
    return f"{value:.0%}" if trend.what == "solved" else figure(value)


def _shift_line(shift: Shift) -> str:
    before, after = (printable(each)[:24] for each in (shift.before, shift.after))
    return f"  {day(shift.at)} {printable(shift.model)[:26]}: {shift.what} {before} -> {after}"


def _label(model: str) -> str:
    """A model in its column: without its provider where both have no room."""
    name = printable(model)
    return f"{(name if len(name) <= _LABEL else name.partition('/')[2] or name)[:_LABEL]:{_LABEL}}"


def _money_lines(profile: Profile) -> Iterator[str]:
    rows = [row for row in describe_money(profile) if row["usd"] or row["unpriced"]]
    for row in rows:
        usd = "no price is known" if row["usd"] is None else dollars(row["usd"])
        each = f", {dollars(row['usd_per_solved'])} for each solved task" if row["usd_per_solved"] else ""
        unknown = f"; {count(row['unpriced'], 'call')} without a price" if row["unpriced"] else ""
        yield f"  {_label(row['model'])} {usd}{each}{unknown if row['usd'] is not None else ''}"


def _gate_lines(profile: Profile) -> Iterator[str]:
    by_gate: dict[str, Share] = {}
    for row in describe_gates(profile.verdicts):
        was = by_gate.get(row["gate"], Share())
        by_gate[row["gate"]] = Share(was.good + row["good"], was.number + row["number"])
    for name, share in by_gate.items():
        low, high = share.interval or (0.0, 1.0)
        sure = f"({100 * low:.0f}-{100 * high:.0f})"
        yield f"  {printable(name)[:52]:52} {share.share or 0:>4.0%} {sure:>9} of {share.number}"


def _error_lines(profile: Profile) -> Iterator[str]:
    for row in describe_errors(profile):
        sorts = {**row["by_sort"], **row["mistakes"]}
        if not sorts:
            continue
        most = sorted(sorts.items(), key=lambda pair: -pair[1])
        words = ", ".join(f"{number} {sort.replace('_', ' ')}" for sort, number in most)
        failed = f"{row['failed']} of {count(row['calls'], 'call')} failed"
        yield from paragraph(f"  {_label(row['model'])} {failed}; {words}", "", _INSET)


# --- figures ---------------------------------------------------------------------------------


def _dates(first: float, last: float) -> str:
    """The ends of a plot's time under it, and between them what is plotted."""
    form = "%Y-%m-%d" if last - first >= _DAY_S else "%H:%M"
    left, right = (time.strftime(form, time.localtime(at)) for at in (first, last))
    return f"     {left}{'tokens/s written':^{WIDTH - 5 - len(left) - len(right)}}{right}"


# `kith profile`: what was measured so far, with how sure that is; as text, JSON, CSV or a page.


# Measured rows as flat tables with columns that stay: for CSV, JSON, and programs that read them.

Sort = Literal["calls", "tasks", "verdicts"]
_KINDS: Final[dict[Sort, type[Struct]]] = {"calls": CallRow, "tasks": LegRow, "verdicts": VerdictRow}
# Values within a row become columns of their own.
_WITHIN: Final[dict[str, type[Struct]]] = {"usage": Usage, "timing": Timing}


def columns_of(sort: Sort) -> tuple[str, ...]:
    """The names of the columns, in their order; new ones only ever come at the end of their group."""
    return tuple(
        name
        for field in _KINDS[sort].__struct_fields__
        for name in (_inner(field) if field in _WITHIN else (field,))
    )


def tabulate(profile: Profile, sort: Sort) -> list[dict[str, Any]]:
    """A profile's rows of one sort, flat, in the order of time."""
    rows: dict[Sort, Iterable[Any]] = {
        "calls": profile.calls,
        "tasks": profile.legs,
        "verdicts": profile.verdicts,
    }
    return [_flat(row) for row in rows[sort]]


def _inner(name: str) -> tuple[str, ...]:
    return tuple(f"{name}_{field}" for field in _WITHIN[name].__struct_fields__)


def _flat(row: Struct) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in row.__struct_fields__:
        value = getattr(row, field)
        if isinstance(value, Struct):
            for inner in value.__struct_fields__:
                found[f"{field}_{inner}"] = getattr(value, inner)
        else:
            found[field] = list(value) if isinstance(value, tuple) else value
    return found


_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet takes a text for something to run


def profile_command(args: argparse.Namespace) -> int:
    """Speed, success, trends, money and errors of every model; what the builds teach."""
    project = Project.open(find_root(args.folder), {})
    profile = read_profile(
        project, ProfileScope(args.all, args.model or "", args.kind or "", args.since or 0.0)
    )
    if args.json:
        shown: Any = tabulate(profile, args.rows) if args.rows else describe_profile(profile)
        print(json.dumps(shown, indent=2))
    elif args.csv:
        _write_csv(profile, args.rows or "calls", args.csv)
    elif args.html:
        from kith.features.measure.page.profile import profile_page

        _write(args.html, profile_page(profile))
    elif not profile.calls and not any(each.lines for each in profile.added):
        place = "anywhere" if args.all else f"in {printable(str(project.root))}"
        print(
            f"Nothing was measured {place} yet. kith measures every task that a model does.", file=sys.stderr
        )
    else:
        print("\n".join(profile_lines(profile, choose_glyphs(sys.stdout), detailed=bool(args.model))))
    return EXIT_DONE


def _write_csv(profile: Profile, sort: Any, target: str) -> None:
    """The rows with a header; lists within a cell are JSON."""
    import csv
    import io

    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns_of(sort))
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in tabulate(profile, sort))
    _write(target, text.getvalue())


def _cell(value: Any) -> Any:
    """A value as CSV holds it; a foreign text never begins like a formula."""
    if isinstance(value, (list, dict)):
        return json.dumps(value) if value else ""
    if isinstance(value, bool):
        return int(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _write(target: str, text: str) -> None:
    """To a file, or to stdout for `-`. Raises UsageError where the file cannot be written."""
    if target == "-":
        sys.stdout.write(text)
        return
    write_output(Path(target), text)
    print(f"Written to {printable(target)}.", file=sys.stderr)
