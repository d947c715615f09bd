"""The paths of a project, found by a few letters of them, while somebody types."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from threading import Thread
from typing import Final

_FRESH_S: Final = 5.0  # a list that is older is made again, and used meanwhile
_PIECE: Final = 1_000  # paths that are looked through at once: longer, and a key would have to wait
_BREATH_S: Final = 0.001  # between two of these: the keys have their turn
_SMALL: Final = 4_000  # paths that need no thread of their own

# Files that are not ignored, and ignored ones (whole folders with a slash at their end).
Listing = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Paths:
    """Files and folders (with a slash at their end); from number `ignored` on they are ignored ones."""

    all: tuple[str, ...] = ()
    ignored: int = 0
    # The last search: its letters, and the numbers that it found; the next letter is looked for among these.
    _last: dict[str, Sequence[int]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, files: Iterable[str], ignored: Iterable[str] = ()) -> "Paths":
        """With the folders that files lie in, each after the folder above it."""
        own, others = _with_folders(files), _with_folders(ignored)
        return cls((*own, *(path for path in others if path not in own)), len(own))

    @property
    def is_small(self) -> bool:
        """Whether it is searched at once."""
        return len(self.all) <= _SMALL

    def find(self, letters: str, most: int) -> list[str]:
        """The paths that are probably meant, the likeliest first, ignored ones last.

        Without letters, or after a slash, what lies directly in that folder; else paths that hold the letters
        in this order: best right at the beginning of a name, or in one piece. A capital means a capital.
        """
        if not letters or letters.endswith("/"):
            return self._inside(letters, most)
        numbers = self._matching(letters)
        wanted = letters.lower()
        ranked = (
            (number >= self.ignored, _distance(path.lower(), wanted), len(path), path)
            for number in self._in_pieces(numbers)
            for path in (self.all[number],)
        )
        return [path for *_, path in nsmallest(most, ranked)]

    def _inside(self, folder: str, most: int) -> list[str]:
        found: list[tuple[bool, bool, str]] = []
        for number in self._in_pieces(range(len(self.all))):
            path = self.all[number]
            rest = path[len(folder) :] if path.startswith(folder) else ""
            if rest and "/" not in rest[:-1]:
                found.append((number >= self.ignored, not path.endswith("/"), path))
        return [path for *_, path in nsmallest(most, found)]

    def _matching(self, letters: str) -> Sequence[int]:
        """The numbers of the paths that hold the letters, looked for among those that held fewer of them."""
        flags = re.IGNORECASE if letters == letters.lower() else 0
        holds = re.compile(
            "".join(f"[^{re.escape(each)}]*{re.escape(each)}" for each in letters), flags
        ).match
        shorter = letters[:-1]
        known = self._last.get(shorter) if shorter == shorter.lower() else None
        numbers = range(len(self.all)) if known is None else known
        found = [number for number in self._in_pieces(numbers) if holds(self.all[number])]
        self._last.clear()
        self._last[letters] = found
        return found

    def _in_pieces(self, numbers: Sequence[int]) -> Iterator[int]:
        """These numbers, with a rest now and then where they are many."""
        for start in range(0, len(numbers), _PIECE):
            yield from numbers[start : start + _PIECE]
            if not self.is_small:
                time.sleep(_BREATH_S)


def _distance(path: str, letters: str) -> int:
    """How far a path is from what was typed; both in lower case."""
    name = path.rstrip("/").rpartition("/")[2]
    if name.startswith(letters):
        return 0 if name.partition(".")[0] == letters.partition(".")[0] else 1
    if path.startswith(letters):
        return 1
    if letters in name:
        return 2
    if letters in path:
        return 3
    return 4 if _in_order(name, letters) else 5


def _in_order(text: str, letters: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)


def _with_folders(paths: Iterable[str]) -> dict[str, None]:
    found: dict[str, None] = {}
    known = {""}
    for path in paths:
        folder = path.rstrip("/").rpartition("/")[0]
        if folder not in known:
            parts = folder.split("/")
            for deep in range(1, len(parts) + 1):
                above = "/".join(parts[:deep])
                if above not in known:
                    known.add(above)
                    found[f"{above}/"] = None
        found[path] = None
    return found


class ProjectFiles:
    """The newest list of the paths, made again beside the typing where it is old.

    `read` lists them; it is called in a thread of its own. `changed` is called there, too, once there is a
    new list.
    """

    def __init__(self, read: Callable[[], Listing], changed: Callable[[], None]) -> None:
        self._read, self._changed = read, changed
        self._paths: Paths | None = None
        self._at = 0.0
        self._reading: Thread | None = None

    @property
    def paths(self) -> Paths:
        """What is known now; it is looked again if that is old."""
        if time.monotonic() - self._at > _FRESH_S:
            self.refresh()
        return self._paths or Paths()

    def refresh(self) -> None:
        """Look again, unless somebody is looking."""
        if self._reading is None or not self._reading.is_alive():
            self._reading = Thread(target=self._refresh, daemon=True, name="kith-files")
            self._reading.start()

    def _refresh(self) -> None:
        files, ignored = self._read()
        new = Paths.of(files, ignored)
        known, self._paths, self._at = self._paths, new, time.monotonic()
        if known != new:
            self._changed()
