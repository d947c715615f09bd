"""On which line of a configuration file each key stands: for sentences that name the place of a mistake."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

# The keys from the top of a file down to a value; entries of a list are numbered from 0.
KeyPath = tuple[str | int, ...]

_PART: Final = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""")
_KEY: Final = rf"(?:{_PART.pattern})(?:[ \t]*\.[ \t]*(?:{_PART.pattern}))*"
_HEADING: Final = re.compile(rf"(\[\[?)[ \t]*({_KEY})[ \t]*\]")
_ASSIGNMENT: Final = re.compile(rf"({_KEY})[ \t]*=")
_BLANK: Final = re.compile(r"(?:\s|#[^\n]*)+")
# What a value is made of, as far as its end goes: texts hold brackets and line ends that mean nothing.
_TOKEN: Final = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*|[^"'\#\[\]{}\n]+|.''',
    re.DOTALL,
)


def _no_lines() -> Mapping[KeyPath, int]:
    return {}


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: a file, and the keys that lead to it; as a text "FILE, line N".

    `find` gives what is known of the file's lines, from 1, and is asked only then; what is not known is
    where its table begins.
    """

    file: Path | str
    find: Callable[[], Mapping[KeyPath, int]] = _no_lines
    path: KeyPath = ()

    def at(self, key: str | int) -> "Place":
        """The place of a key in this table, or of a key called `table.key`."""
        return replace(self, path=(*self.path, key))

    def __str__(self) -> str:
        lines = self.find()
        known: KeyPath = ()
        for key in self.path:
            parts = (key,) if isinstance(key, int) or (*known, key) in lines else key.split(".")
            for part in parts:
                if (*known, part) not in lines:
                    return f"{self.file}, line {lines.get(known, 1)}"
                known = (*known, part)
        return f"{self.file}, line {lines.get(known, 1)}"


def find_lines(text: str) -> dict[KeyPath, int]:
    """The lines of all keys, tables and entries of lists of tables in `text`, which is valid TOML."""
    lines: dict[KeyPath, int] = {}
    for table, parts, line, _ in _statements(text):
        path = (*table, *parts)
        for end in range(1, len(path) + 1):
            lines.setdefault(path[:end], line)
    return lines


def find_ends(text: str) -> dict[KeyPath, int]:
    """Where the last statement of each table ends that has a heading, and of the top of the file."""
    return {table: end for table, _, _, end in _statements(text)}


def read_key(text: str) -> tuple[str, ...]:
    """The parts of a key as TOML writes it: `a."b.c"` has two. Raises ValueError for what is none."""
    if not re.fullmatch(_KEY, text):
        raise ValueError(f"{text!r} is no key")
    return tuple(
        tomllib.loads(f"x = {part}")["x"] if part[0] in "\"'" else part for part in _PART.findall(text)
    )


def _follow(parts: tuple[str, ...], counts: Mapping[KeyPath, int], *, whole: bool) -> KeyPath:
    """The path of a heading: below a list of tables it means the last entry, and so does one of its own."""
    path: KeyPath = ()
    for at, part in enumerate(parts):
        path = (*path, part)
        if path in counts and (whole or at < len(parts) - 1):
            path = (*path, counts[path] - 1)
    return path


def _statements(text: str) -> Iterator[tuple[KeyPath, tuple[str, ...], int, int]]:
    """Each heading and assignment: its table, its key in that (none: a heading), its line and its end."""
    position, line, counted = 0, 1, 0
    counts: dict[KeyPath, int] = {}  # entries so far, of each list of tables
    table: KeyPath = ()
    while True:
        blank = _BLANK.match(text, position)
        position = blank.end() if blank else position
        line, counted = line + text.count("\n", counted, position), position
        if heading := _HEADING.match(text, position):
            table = _follow(read_key(heading[2]), counts, whole=heading[1] == "[")
            if heading[1] == "[[":
                counts[table] = counts.get(table, 0) + 1
                table = (*table, counts[table] - 1)
            position = _end_of_value(text, heading.end() + (heading[1] == "[["))
            yield table, (), line, position
        elif assignment := _ASSIGNMENT.match(text, position):
            position = _end_of_value(text, assignment.end())
            yield table, read_key(assignment[1]), line, position
        else:
            return


def _end_of_value(text: str, position: int) -> int:
    """Where the line ends on which a value does; its brackets may span several."""
    depth = 0
    while position < len(text) and (token := _TOKEN.match(text, position)):
        if token[0] == "\n" and not depth:
            break
        depth += (token[0] in ("[", "{")) - (token[0] in ("]", "}"))
        position = token.end()
    return position
