"""Read which refactoring a person wants, of those that need no model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kith.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Rename:
    """`rename PATH:NAME NEW`."""

    path: str
    name: str
    new: str


@dataclass(frozen=True, slots=True)
class Move:
    """`move PATH:NAME[,NAME ...] TARGET.py`; no names: all of the file."""

    path: str
    names: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class Extract:
    """`extract PATH:FIRST-LAST NAME`."""

    path: str
    first: int
    last: int
    name: str


@dataclass(frozen=True, slots=True)
class Inline:
    """`inline PATH:NAME`."""

    path: str
    name: str


@dataclass(frozen=True, slots=True)
class Remove:
    """`remove PATH:NAME`: a definition that nothing uses."""

    path: str
    name: str


@dataclass(frozen=True, slots=True)
class Organise:
    """`organise-imports PATH`: a file, or all files of a folder."""

    where: str


Wanted = Rename | Move | Extract | Inline | Remove | Organise
FORMS = {
    "rename": "rename PATH:NAME NEW",
    "move": "move PATH:NAME TARGET.py",
    "extract": "extract PATH:FIRST-LAST NAME",
    "inline": "inline PATH:NAME",
    "remove": "remove PATH:NAME",
    "organise-imports": "organise-imports PATH",
}


def read_wanted(words: Sequence[str]) -> Wanted:
    """Read what a command line asks for. Raises UsageError with the form it should have."""
    kind, *given = words
    if kind not in FORMS or len(given) != len(FORMS[kind].split()) - 1:
        forms = [FORMS[kind]] if kind in FORMS else list(FORMS.values())
        raise UsageError(f"Write kith refactor {', '.join(forms)}.")
    first = given[0]
    if kind == "organise-imports":
        return Organise(_plain(first))
    if kind == "move":
        path, _, names = _plain(first).partition(":")
        return Move(path, tuple(name for name in names.split(",") if name), _plain(given[1]))
    path, rest = _split_target(first, "FIRST-LAST" if kind == "extract" else "NAME")
    if kind == "extract":
        return Extract(path, *_read_lines(rest), given[1])
    if kind == "rename":
        return Rename(path, rest, given[1])
    return Inline(path, rest) if kind == "inline" else Remove(path, rest)


def _plain(path: str) -> str:
    return path.removeprefix("./").rstrip("/") or "."


def _split_target(words: str, what: str = "NAME") -> tuple[str, str]:
    """Path and the rest. Raises UsageError when there is no colon."""
    path, colon, rest = words.rpartition(":")
    if not colon or not path or not rest:
        raise UsageError(f"{words!r} names no place; write PATH:{what}.")
    return path.removeprefix("./"), rest


def _read_lines(words: str) -> tuple[int, int]:
    """`10-24` as two numbers, `10` as one line. Raises UsageError."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", words)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 0 < first <= last:
        raise UsageError(f"{words!r} are no lines; write FIRST-LAST, such as 10-24.")
    return first, last
