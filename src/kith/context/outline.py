"""One file as the index of a project knows it: what it defines and which names it uses."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Final

from kith.context.definitions import Definition, find_definitions
from kith.context.rank import kind_of
from kith.context.references import find_references
from kith.context.words import stems_of

LARGEST: Final = 500_000  # bytes of a file that is looked into
_WIDEST: Final = 300  # bytes of an average line; beyond it nobody wrote the file by hand
_MADE_NAME: Final = re.compile(r"[.-]min\.(?:js|mjs|css)$|_pb2(?:_grpc)?\.pyi?$|\.pb\.(?:cc|h|go)$", re.I)
_MADE: Final = re.compile(rb"@generated\b|\bDO NOT EDIT\b|\bautomatically generated\b", re.I)
_HEAD: Final = 600  # bytes in which a file says that a program wrote it


@dataclass(frozen=True, slots=True)
class Outline:
    """A file's digest and number of lines, and what of code was found in it.

    `words` are the stems of the names it uses, in the spelling of a task's, each 1 + log2(times) times:
    what a search by words looks through.
    """

    path: str
    digest: bytes
    lines: int
    definitions: tuple[Definition, ...] = ()
    references: Mapping[str, int] = field(default_factory=dict)
    words: str = ""


def outline(path: str, data: bytes) -> Outline:
    """Look at one file. Pure; a secret, or what no person wrote as code, is counted and not looked into."""
    if not is_readable(path, data):
        return count_only(path, data)
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    counted, references = count_only(path, data), find_references(path, text)
    return replace(
        counted,
        definitions=find_definitions(path, text),
        references=references,
        words=" ".join(_stems(references)),
    )


def _stems(references: Mapping[str, int]) -> Iterator[str]:
    counts = Counter[str]()
    for name, count in references.items():
        for stem in stems_of(name):
            counts[stem] += count
    for stem, count in sorted(counts.items()):
        yield from repeat(stem, count.bit_length())


def outline_all(files: Iterable[tuple[str, bytes]]) -> list[Outline]:
    """Look at several files."""
    return [outline(path, data) for path, data in files]


def count_only(path: str, data: bytes) -> Outline:
    """The digest and the lines of a file; what is not text has none."""
    lines = 0 if b"\0" in data else data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
    return Outline(path, digest_of(data), lines)


def unread(path: str) -> Outline:
    """What there is to say of a file that is too large to be opened."""
    return Outline(path, b"", 0)


def is_readable(path: str, data: bytes) -> bool:
    """Whether a file is source code that a person wrote: no secret, no data, not binary, minified or made."""
    if kind_of(path) not in ("source", "test") or len(data) > LARGEST or b"\0" in data:
        return False
    minified = len(data) > _WIDEST * (data.count(b"\n") + 1)
    return not (minified or _MADE_NAME.search(path) or _MADE.search(data[:_HEAD]))


def digest_of(data: bytes) -> bytes:
    """What tells one content from another: half of its SHA-256."""
    return hashlib.sha256(data).digest()[:16]
