"""What a source text defines, each with the line that declares it, as an index keeps it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kith.context.symbols import Sort, Symbol, find_symbols

_LONGEST: Final = 160  # characters of a signature
_HEAD_LINES: Final = 8  # that one may take
_ABOVE: Final = re.compile(r"\s*(?:@|#\[|#\s|//|/\*|\*)")  # what may stand there first: decorators, comments
_PARTS: Final = re.compile(r"::|\.")


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a name is defined: `Cache.get` in a file, its lines (from 1, both included), its head."""

    path: str
    name: str
    sort: Sort
    first: int
    last: int
    signature: str


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a name: where it is defined (or else which names are near), and which files use it.

    `users` are paths with the number of times, the most first.
    """

    definitions: tuple[Definition, ...] = ()
    near: tuple[str, ...] = ()
    users: tuple[tuple[str, int], ...] = ()


def find_definitions(path: str, text: str) -> tuple[Definition, ...]:
    """The definitions in a text, in order of their first line. Lines end with a line feed only."""
    lines = text.split("\n")
    return tuple(
        Definition(path, each.name, each.sort, each.first, each.last, _signature(lines, each))
        for each in find_symbols(path, text)
    )


def last_part(name: str) -> str:
    """The name itself, without what encloses it: `Cache.get`, `ns::Cache::get` -> `get`."""
    return _PARTS.split(name)[-1]


def choose_named(definitions: Sequence[Definition], name: str) -> tuple[Definition, ...]:
    """The definitions of a name: spelled so, else in other letter case; `Cache.get` by the end of theirs.

    What stands in front may be more than a definition's name tells (a module): then the last part decides.
    """
    for wanted in (name, last_part(name)):
        for fold in (str, str.lower):
            fitting = tuple(each for each in definitions if _ends_with(fold(each.name), fold(wanted)))
            if fitting:
                return fitting
    return ()


def _ends_with(name: str, asked: str) -> bool:
    """Whether one name is another's own end, part by part; `::` and `.` are the same."""
    parts, wanted = _PARTS.split(name), _PARTS.split(asked)
    return parts[-len(wanted) :] == wanted


def _signature(lines: Sequence[str], symbol: Symbol) -> str:
    """The head of a definition on one line: from the line that names it to where its body begins."""
    name, span = last_part(symbol.name), lines[symbol.first - 1 : symbol.last]
    begin = next((at for at, line in enumerate(span) if name in line and not _ABOVE.match(line)), 0)
    head = list[str]()
    for line in span[begin : begin + _HEAD_LINES]:
        head.append(line.strip()[:_LONGEST])
        if line.rstrip().endswith((":", "{", ";", "}")) or _closed("".join(head)):
            break
    text = " ".join(head).replace("( ", "(").replace(", )", ")")
    if symbol.sort != "constant":
        text = text.rstrip(" {:")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _closed(text: str) -> bool:
    """Whether nothing that is opened here waits for its other half."""
    return all(text.count(left) <= text.count(right) for left, right in ("()", "[]", "{}"))
