"""What can be suggested for a line: commands and what follows them, files after `@`, lines sent before."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Final

from kith.memory.typed import Typed, TypedLines
from kith.terminal.conversation.path_search import Paths, ProjectFiles
from kith.terminal.conversation.slash_commands import slash_commands
from kith.terminal.rendering.spans import shown

MOST: Final = 50  # suggestions for one line
_COMMAND: Final = re.compile(r"/([\w-]*)$")
_ARGUMENT: Final = re.compile(r"/([\w-]+) +(\S*)$")
_FILE: Final = re.compile(r"(?<![^\s(\[{,;:])@(\"[^\"\n]*|[^\s\"]*)$")
_OF_A_SHELL: Final = re.compile(r"!!?.*?([^\s\"'=]*)$")

_UNNAMED: Final = frozenset('"\n')  # no path with these can be named in a line

Offer = tuple[str, str]  # a word, and what it means


@dataclass(frozen=True, slots=True)
class Suggestion:
    """`text` in place of the last `replaces` letters before the cursor.

    `goes_on`: more is expected behind it, so the line is not sent with it. `whole`: it is the whole line.
    """

    text: str
    replaces: int
    shown: str
    meaning: str = ""
    goes_on: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Suggestions:
    """In their order, and which one Enter takes: -1 none, as long as the person does not choose one."""

    rows: tuple[Suggestion, ...] = ()
    first: int = 0


@dataclass(frozen=True, slots=True)
class Sources:
    """Where suggestions come from: paths, words for a command's argument (by its kind), lines sent before."""

    paths: Callable[[], Paths] = Paths
    offers: Callable[[str], Sequence[Offer]] = lambda kind: ()
    earlier: Callable[[str, int], Sequence[str]] = lambda words, most: ()


@dataclass(frozen=True, slots=True)
class LineContext:
    """What a line is told of its folder: what to suggest, and what was typed there before (`earlier`).

    What is typed now is `kept` there for the `session`, where `keeps` allows it.
    """

    files: ProjectFiles
    offers: Callable[[str], Sequence[Offer]]
    kept: TypedLines
    earlier: Sequence[Typed]
    keeps: Callable[[str], bool]
    session: Callable[[], str]


def wants_any(before: str) -> bool:
    """Whether anything may be suggested behind these words: a quick look."""
    return bool(_COMMAND.match(before) or _ARGUMENT.match(before) or _FILE.search(before))


def is_slow(before: str, sources: Sources) -> bool:
    """Whether finding suggestions takes so long that keys had to wait."""
    return not before.startswith("/") and not sources.paths().is_small


def suggest(before: str, sources: Sources, *, asked: bool = False) -> Suggestions:
    """What may follow the words before the cursor; `asked`: the person wants suggestions (Tab)."""
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
        for number, (name, command) in enumerate(slash_commands().items())
        if typed.lower() in name
    )
    rows = [_command(name, len(typed) + 1) for *_, name in ranked]
    return Suggestions(tuple(rows), 0 if typed else -1)


def _command(name: str, replaces: int) -> Suggestion:
    command = slash_commands()[name]
    needs = bool(command.rest) and not command.rest.startswith("[")
    shown = f"/{name} {command.rest}".rstrip()
    return Suggestion(f"/{name}", replaces, shown, command.meaning, goes_on=needs)


def _arguments(name: str, typed: str, sources: Sources) -> Suggestions:
    command = slash_commands().get(name)
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
