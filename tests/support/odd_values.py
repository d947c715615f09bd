"""Odd instances of typed values, and what is wrong with the lines that are drawn of them."""

import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct
from rich.cells import cell_len

LONG_WORD = "y" * 300
MANY_WORDS = " ".join(f"wd{number:03}" for number in range(80))
TEXTS = (
    "",
    "plain words",
    LONG_WORD,
    MANY_WORDS,
    "漢字かな" * 60,
    "a\x1b[31mred\rb\x00c\u202ed\tE",
    "the nearest text is:\n  12  first\n  13  second",
    "\n\nlate\nwords\n",
    "it's 'quoted' [b]bold[/b] \\ {braces} %s",
)
_NUMBERS = (0, 1, 123_456_789)


def instances(kind: type) -> Iterator[Any]:
    """A struct with the same sort of odd value everywhere, once for each sort."""
    for at in range(len(TEXTS)):
        for full in (False, True):
            yield made(kind, at, full=full)


def made(hint: Any, at: int, *, full: bool, depth: int = 0) -> Any:
    """A value of a type; `full`: lists hold something, and what may be missing is there."""

    def part(inner: Any) -> Any:
        return made(inner, at, full=full and depth < 4, depth=depth + 1)

    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return inner[at % len(inner)]
    if origin in (Union, types.UnionType):
        real = [each for each in inner if each is not type(None)]
        return None if len(real) < len(inner) and not full else part(real[at % len(real)])
    if origin is tuple:
        if inner[1:] != (...,):
            return tuple(map(part, inner))
        return tuple(part(inner[0]) for _ in range(3)) if full else ()
    if origin in (list, Sequence):
        return [part(inner[0])] if full else []
    if origin in (dict, Mapping):
        return {part(inner[0]): part(inner[1])} if full else {}
    if isinstance(hint, type) and issubclass(hint, Struct):
        hints = get_type_hints(hint)
        return hint(**{name: part(hints[name]) for name in hint.__struct_fields__})
    if isinstance(hint, TypeVar) or hint is Any or hint is object:
        return TEXTS[at]
    return _PLAIN[hint](at)


_PLAIN: Mapping[Any, Callable[[int], Any]] = {
    str: lambda at: TEXTS[at],
    int: lambda at: _NUMBERS[at % 3],
    float: lambda at: float(_NUMBERS[at % 3]),
    bool: lambda at: at % 2 == 0,
    bytes: lambda at: TEXTS[at].encode(),
    Path: lambda at: Path(TEXTS[at].replace("\0", "") or "."),
    type(None): lambda at: None,
}
_REPR = re.compile(r"\('[^']*',\)|\['|PosixPath\(|<[\w.]+ object|\b(?:None|True|False)\b|frozenset\(")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
_CUT = ("…", "...", "not shown", "more")


def faults(text: str, width: int | None = None) -> list[str]:
    """What is wrong with a piece of text as it is drawn; `width`: columns that it has."""
    found = []
    lines = text.split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "")
    if last.rstrip().endswith(":"):
        found.append("an empty ending after a colon")
    if _REPR.search(text):
        found.append("a repr of Python's")
    if "kith: kith" in text:
        found.append("a doubled prefix")
    if _CONTROL.search(text):
        found.append("a control character")
    if width is not None and any(cell_len(line) > width for line in lines):
        found.append("a line over the width")
    if _is_cut(text) and not any(mark in text for mark in _CUT):
        found.append("words cut without an ellipsis")
    return found


def _is_cut(text: str) -> bool:
    """Whether a beginning of the long texts is there without its end."""
    joined = re.sub(r"\s", "", text)
    run = max(map(len, re.findall("y{20,}", joined)), default=0)
    words = re.findall(r"wd\d{1,3}", joined)
    return 0 < run < len(LONG_WORD) or (bool(words) and "wd079" not in joined)
