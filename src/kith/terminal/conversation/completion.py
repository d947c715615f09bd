"""Suggest completions for a line: commands, their arguments, files after `@`, earlier lines."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from shlex import quote
from threading import Thread
from typing import Final

from msgspec import Struct, field

from kith.memory.input_history import Typed, TypedLines
from kith.terminal.conversation.slash_commands import loaded_commands
from kith.terminal.rendering.spans import shown

# The paths of a project, found by a few letters of them, while somebody types.

_FRESH_S: Final = 5.0  # a list that is older is made again, and used meanwhile
_PIECE: Final = 1_000  # paths that are looked through at once: longer, and a key would have to wait
_BREATH_S: Final = 0.001  # between two of these: the keys have their turn
_SMALL: Final = 4_000  # paths that need no thread of their own

# Files that are not ignored, and ignored ones (whole folders with a slash at their end).
Listing = tuple[Sequence[str], Sequence[str]]


class Paths(Struct, frozen=True, eq=False):
    """Files and folders (with a slash at their end); from number `ignored` on they are ignored ones."""

    all: tuple[str, ...] = ()
    ignored: int = 0
    # The last search: its letters, and the numbers that it found; the next letter is looked for among these.
    _last: dict[str, Sequence[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Iterable[str], ignored: Iterable[str] = ()) -> "Paths":
        """With the folders that files lie in, each after the folder above it."""
        own, others = _with_folders(files), _with_folders(ignored)
        return cls((*own, *(path for path in others if path not in own)), len(own))

    @property
    def is_small(self) -> bool:
        """True if it can be searched while a key waits."""
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
    """The distance of a path from the typed letters; both in lower case."""
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
        """The paths that are known; they are read again if that is old."""
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


MOST: Final = 50  # suggestions for one line
_COMMAND: Final = re.compile(r"/([\w-]*)$")
_ARGUMENT: Final = re.compile(r"/([\w-]+) +(\S*)$")
_FILE: Final = re.compile(r"(?<![^\s(\[{,;:])@(\"[^\"\n]*|[^\s\"]*)$")
_OF_A_SHELL: Final = re.compile(r"!!?.*?([^\s\"'=]*)$")

_UNNAMED: Final = frozenset('"\n')  # no path with these can be named in a line

Offer = tuple[str, str]  # a word, and what it means


class Suggestion(Struct, frozen=True):
    """`text` in place of the last `replaces` letters before the cursor.

    `goes_on`: more is expected behind it, so the line is not sent with it. `whole`: it is the whole line.
    """

    text: str
    replaces: int
    shown: str
    meaning: str = ""
    goes_on: bool = False
    whole: bool = False


class Suggestions(Struct, frozen=True):
    """In their order, and which one Enter takes: -1 none, as long as the person does not choose one."""

    rows: tuple[Suggestion, ...] = ()
    first: int = 0


class Sources(Struct, frozen=True):
    """The sources of suggestions: paths, arguments of commands (by kind), earlier lines."""

    paths: Callable[[], Paths] = Paths
    offers: Callable[[str], Sequence[Offer]] = lambda kind: ()
    earlier: Callable[[str, int], Sequence[str]] = lambda words, most: ()


class LineContext(Struct, frozen=True):
    """The context of a line: its suggestions, and earlier lines of its folder (`earlier`).

    What is typed now is `kept` there for the `session`, where `keeps` allows it.
    """

    files: ProjectFiles
    offers: Callable[[str], Sequence[Offer]]
    kept: TypedLines
    earlier: Sequence[Typed]
    keeps: Callable[[str], bool]
    session: Callable[[], str]


def wants_any(before: str) -> bool:
    """True if anything may be suggested after these words: a quick look."""
    return bool(_COMMAND.match(before) or _ARGUMENT.match(before) or _FILE.search(before))


def is_slow(before: str, sources: Sources) -> bool:
    """True if finding suggestions would make keys wait."""
    return not before.startswith("/") and not sources.paths().is_small


def suggest(before: str, sources: Sources, *, asked: bool = False) -> Suggestions:
    """Suggest what may follow the words before the cursor; `asked`: the person pressed Tab."""
    if found := _COMMAND.match(before):
        return _commands(found[1])
    if found := _ARGUMENT.match(before):
        return _arguments(found[1], found[2], sources)
    if found := _FILE.search(before):
        return _files(found[1], sources)
    if asked and (found := _OF_A_SHELL.match(before)):
        rows = (_word(each, len(found[1])) for each in sources.paths().find(found[1], MOST))
        return Suggestions(tuple(rows))
    return Suggestions()


def search(words: str, sources: Sources) -> Suggestions:
    """Lines that were sent before and hold these words."""
    found = sources.earlier(words, MOST)
    rows = (Suggestion(line, 0, " ".join(line.split())[:200], whole=True) for line in found)
    return Suggestions(tuple(rows))


def _commands(typed: str) -> Suggestions:
    """The one of this name, those that begin so, then those that hold the letters; other names come last."""
    ranked = sorted(
        (name != typed, not name.startswith(typed), bool(command.same_as), number, name)
        for number, (name, command) in enumerate(loaded_commands().items())
        if typed.lower() in name
    )
    rows = [_command(name, len(typed) + 1) for *_, name in ranked]
    return Suggestions(tuple(rows), 0 if typed else -1)


def _command(name: str, replaces: int) -> Suggestion:
    command = loaded_commands()[name]
    needs = bool(command.rest) and not command.rest.startswith("[")
    shown = f"/{name} {command.rest}".rstrip()
    return Suggestion(f"/{name}", replaces, shown, command.meaning, goes_on=needs)


def _arguments(name: str, typed: str, sources: Sources) -> Suggestions:
    command = loaded_commands().get(name)
    if command is None or not command.takes:
        return Suggestions()
    if command.takes == "file":
        found = sources.paths().find(typed, MOST)
        return Suggestions(tuple(_word(each, len(typed)) for each in found), -1)
    offers = _matching(typed, sources.offers(command.takes))
    rows = [Suggestion(word, len(typed), shown(word), shown(means)) for word, means in offers]
    exact = any(row.text == typed for row in rows)
    return Suggestions(tuple(rows[:MOST]), -1 if exact or not typed else 0)


def _matching(typed: str, offers: Iterable[Offer]) -> list[Offer]:
    """Words that begin so, then those that hold it, or whose meaning does."""
    low = typed.lower()

    def rank(offer: Offer) -> int:
        word, means = offer[0].lower(), offer[1].lower()
        return 0 if word.startswith(low) else 1 if low in word else 2 if low in means else 3

    return sorted((each for each in offers if rank(each) < 3), key=rank)


def _files(typed: str, sources: Sources) -> Suggestions:
    letters, paths = typed.removeprefix('"'), sources.paths()
    found = [path for path in paths.find(letters, MOST) if not _UNNAMED & set(path)]
    exact = letters in found and not letters.endswith("/")
    rows = tuple(_path(path, len(typed) + 1) for path in found)
    return Suggestions(() if exact and len(rows) == 1 else rows, -1 if exact or not letters else 0)


def _path(path: str, replaces: int) -> Suggestion:
    """A path as it is named to a model: in quotes where it holds a blank; a folder goes on."""
    is_folder = path.endswith("/")
    quoted = f'@"{path}"' if any(letter.isspace() for letter in path) else f"@{path}"
    return Suggestion(quoted if is_folder else f"{quoted} ", replaces, shown(path), goes_on=True)


def _word(path: str, replaces: int) -> Suggestion:
    """A path as a shell takes it for one word, whatever a file may be called; a folder goes on."""
    quoted = quote(path)
    return Suggestion(quoted if path.endswith("/") else f"{quoted} ", replaces, shown(path), goes_on=True)
