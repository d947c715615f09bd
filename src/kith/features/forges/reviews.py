"""Read a review that `kith review --save-json` wrote: foreign data, whose every part is checked."""

from pathlib import PurePosixPath
from typing import Final, Literal

import msgspec
from msgspec import Struct

from kith.core.errors import UsageError

MOST_BYTES: Final = 20_000_000
_MOST: Final = 2_000  # findings


class LineSpan(Struct, frozen=True):
    """The lines of a hunk around a finding, and the number of its line in the old side (None: it is new)."""

    first: int
    last: int
    old: int | None = None


class Found(Struct, frozen=True):
    """A finding as a review tells it; `place` is None where the diff does not show its line."""

    path: str
    line: int
    severity: Literal["error", "warning", "note"]
    rule: str
    text: str
    by: str
    fingerprint: str
    end: int = 0
    replacement: str | None = None
    place: LineSpan | None = None


class Parts(Struct, frozen=True):
    """The parts of a change, and those of them that the model did not review."""

    all: int = 0
    unanswered: int = 0


class Review(Struct, frozen=True):
    """A review of the commits from `base` to `head`."""

    status: str
    head: str
    findings: tuple[Found, ...] = ()
    files: tuple[str, ...] = ()
    not_reviewed: tuple[str, ...] = ()
    counts: dict[str, int] = {}
    parts: Parts = Parts()
    model: str = ""


def read_review(data: bytes, name: str) -> Review:
    """The review in a file. Raises UsageError for anything else."""
    try:
        found = msgspec.json.decode(data, type=Review)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UsageError(f"{name} holds no review of kith: {error}.") from error
    if not found.head:
        raise UsageError(f"{name} reviews no commit: use kith review --branch, or a range of commits.")
    if len(found.findings) > _MOST or not all(map(_is_sound, found.findings)) or not _is_id(found.head, 64):
        raise UsageError(f"{name} holds no review of kith: a path, a line or a name is out of bounds.")
    return found


def _is_sound(found: Found) -> bool:
    path = PurePosixPath(found.path)
    inside = bool(found.path) and not path.is_absolute() and ".." not in path.parts
    numbers = [found.line, found.end]
    numbers += [found.place.first, found.place.last, found.place.old or 0] if found.place else []
    return (
        inside and _is_id(found.fingerprint, 16) and found.line > 0 and all(0 <= n < 10**9 for n in numbers)
    )


def _is_id(text: str, most: int) -> bool:
    return 0 < len(text) <= most and all(letter in "0123456789abcdef" for letter in text)
