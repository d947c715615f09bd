"""A question and its keys, `Keep it? [y]es  [n]o`, on as many lines as they take."""

from typing import Final

from kith.terminal.rendering.spans import Line, Span, cells
from kith.view.printing import printable

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
