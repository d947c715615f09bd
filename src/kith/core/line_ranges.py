"""Places in files as a model writes them: `path`, or `path:10-40` for some of its lines."""

import re
from typing import Final

from msgspec import Struct

# `path:10-40`, `path:10-` and `path:10`, as compilers and searches write places.
_LINES: Final = re.compile(r":(\d{1,9})(?:-(\d{1,9})?)?$")


class Passage(Struct, frozen=True):
    """Lines of a file, from 1, both ends included (`end` None: up to the file's)."""

    path: str
    start: int = 1
    end: int | None = None

    def __str__(self) -> str:
        if self.start == 1 and self.end is None and not _LINES.search(self.path):
            return self.path
        return f"{self.path}:{self.start}-{'' if self.end is None else self.end}"


def passage_of(text: str) -> Passage:
    """Parse a place; a text without lines at its end is a path, unchanged."""
    lines = _LINES.search(text)
    if not lines or not lines.start():
        return Passage(text)
    return Passage(text[: lines.start()], int(lines[1]), int(lines[2]) if lines[2] else None)
