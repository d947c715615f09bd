"""Draw what stands together on the screen: the TODO list, a receipt, rows in columns, a question, keys."""

from collections.abc import Sequence
from typing import Final

from kith.core.values import TodoItem
from kith.terminal.rendering.glyphs import UNICODE, Glyphs
from kith.terminal.rendering.spans import (
    Line,
    Span,
    cells,
    columns_of,
    cut,
    merged,
    pad,
    plain,
    shown,
    words,
    wrap,
)
from kith.view.printing import printable

_TODO: Final = 8  # lines of the list
_WIDEST: Final = 72  # columns of a bar
_GAP: Final = Span("  ")  # between two cells
_SHADES: Final = ("bar1", "bar2", "bar3", "bar4", "bar5", "bar6")


def todo_lines(
    items: Sequence[TodoItem], width: int, glyphs: Glyphs = UNICODE, most: int = _TODO
) -> list[Line]:
    """The list with how far it is; of a long one what is next, and the rest counted."""
    if not items:
        return []
    done = sum(item.state == "done" for item in items)
    head: Line = (Span("Todo", "title"), Span(f"  {done} of {len(items)} done", "dim"))
    first = next((number for number, item in enumerate(items) if item.state != "done"), 0)
    begin = max(min(first - 1, len(items) - most), 0) if len(items) > most else 0
    seen = items[begin : begin + most]
    lines = [cut(_todo_line(item, glyphs), width, glyphs.more) for item in seen]
    left = len(items) - begin - len(seen)
    above = [(Span(f"  {glyphs.more} {begin} done above", "dim"),)] if begin else []
    below = [(Span(f"  {glyphs.more} {left} more", "dim"),)] if left else []
    return [head, *above, *lines, *below]


def _todo_line(item: TodoItem, glyphs: Glyphs) -> Line:
    sign = {"pending": glyphs.todo, "active": glyphs.active, "done": glyphs.done}[item.state]
    role = {"pending": "", "active": "strong", "done": "dim"}[item.state]
    mark = {"pending": "dim", "active": "accent", "done": "good"}[item.state]
    return (Span(f"  {sign} ", mark), Span(shown(item.text), role))


def context_lines(
    parts: Sequence[tuple[str, int]], window: int, width: int, glyphs: Glyphs = UNICODE, title: str = ""
) -> list[Line]:
    """The use of a window of so many tokens (0: unknown), as a bar and a table."""
    used = sum(tokens for _, tokens in parts)
    whole = max(window, used, 1)
    share = f" of {window:,} tokens ({used / whole:.0%})" if window else " tokens"
    head = (Span(f"{shown(title)}  " if title else "", "title"), Span(f"{used:,}{share}"))
    rows = [(name, tokens, _shade(number, glyphs)) for number, (name, tokens) in enumerate(parts)]
    rows += [("free", window - used, Span(glyphs.free, "bar.free"))] if window > used else []
    bar = _segments(rows, whole, min(width, _WIDEST))
    names = max([cells(shown(name)) for name, _, _ in rows], default=0)
    wide = max([len(f"{tokens:,}") for _, tokens, _ in rows], default=0)
    table = [
        cut(
            (
                Span("  "),
                sign,
                Span(f" {shown(name)}{' ' * (names - cells(shown(name)))}  {tokens:>{wide},}"),
                Span(f"  {_percent(tokens / whole):>4}", "dim"),
            ),
            width,
            glyphs.more,
        )
        for name, tokens, sign in rows
    ]
    return [cut(merged(head), width, glyphs.more), bar, *table]


def _shade(number: int, glyphs: Glyphs) -> Span:
    """A sign and a colour of its own for each part, so that it is found without colours, too."""
    return Span(glyphs.shades[number % len(glyphs.shades)], _SHADES[number % len(_SHADES)])


def _percent(share: float) -> str:
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def _segments(rows: Sequence[tuple[str, int, Span]], whole: int, width: int) -> Line:
    """A bar in which each part has its share; what is not nothing is seen."""
    spans, at, seen = [], 0, 0
    for _, tokens, sign in rows:
        at += tokens
        end = max(round(width * at / whole), seen + (tokens > 0))
        spans.append(Span(sign.text * (min(end, width) - seen), sign.role))
        seen = min(end, width)
    return merged(spans)


def receipt_panel(lines: Sequence[str], width: int, glyphs: Glyphs = UNICODE) -> list[Line]:
    """The receipt of a task, as `report.receipt_lines` words it, each check with its sign."""
    out: list[Line] = [(Span("Receipt", "title"),)]
    for line in lines:
        sign, role = _receipt_sign(line, glyphs)
        begin = (Span(f"  {sign} ", role),)
        out += wrap(words(line, "dim" if sign == glyphs.note else ""), width, begin, (Span("    "),))
    return out


def _receipt_sign(line: str, glyphs: Glyphs) -> tuple[str, str]:
    _, _, said = line.partition(": ")
    if said.startswith("passed"):
        return glyphs.good, "good"
    if said.startswith("failed"):
        return glyphs.bad, "bad"
    return (glyphs.warning, "note") if line.startswith("not checked") else (glyphs.note, "dim")


def pairs_lines(pairs: Sequence[tuple[str, str]], width: int, first: int = 0) -> list[Line]:
    """Names and what is to be said of each, side by side; below each other where there is no room.

    `first`: columns of the names at the least, by which several lists stand in line.
    """
    begin = 4 + max([first, *(cells(shown(name)) for name, _ in pairs)])
    if begin > width // 2:
        return [
            line
            for name, said in pairs
            for line in (
                (Span("  "), *words(name, "title")),
                *wrap(words(said), width, (Span("    "),), (Span("    "),)),
            )
        ]
    lines: list[Line] = []
    for name, said in pairs:
        head = pad((Span("  "), *words(name, "title")), begin)
        lines += wrap(words(said), width, head, (Span(" " * begin),))
    return lines


def in_rows(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Rows to pick from, each as one printable line; only its last cell is cut where there is no room."""
    cells = [[words(" ".join(cell.split())) for cell in row] for row in rows]
    wide = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]
    return [plain(_row(row, wide, width)) for row in cells]


def _row(row: Sequence[Line], wide: Sequence[int], width: int) -> Line:
    padded = [(*pad(cell, room), _GAP) for cell, room in zip(row[:-1], wide, strict=False)]
    return cut(tuple(span for cell in (*padded, row[-1]) for span in cell), width, "...")


# A question and its keys, `Keep it? [y]es  [n]o`, on as many lines as they take.

GAP: Final = "  "  # between two keys


def key_lines(text: str, width: int) -> list[Line]:
    """Lines that are broken between two keys; the keys themselves, in brackets, are seen first."""
    return [_strong(line) for line in fit_keys(text, width)]


def fit_keys(text: str, width: int) -> list[str]:
    """The same without roles."""
    lines: list[str] = []
    for row in printable(text).split("\n"):
        lines.append("")
        for part in row.split(GAP):
            longer = f"{lines[-1]}{GAP}{part}" if lines[-1] else part
            if lines[-1] and cells(longer) > width:
                lines.append(part)
            else:
                lines[-1] = longer
    return lines


def _strong(line: str) -> Line:
    found: list[Span] = []
    for part in line.replace("[", "\0[").replace("]", "]\0").split("\0"):
        is_key = part.startswith("[") and part.endswith("]")
        found += [Span(part, "strong" if is_key else "")] if part else []
    return tuple(found)
