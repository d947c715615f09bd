"""Configuration files: their places, their content in TOML or YAML, and the line of each key."""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import UsageError
from kith.core.feature import Lazy
from kith.settings.values import KeyPath, MistakeError

# Most people write TOML.
_read_yaml: Final[Lazy[Callable[[str], tuple[dict[str, Any], dict[KeyPath, int]]]]] = Lazy(
    "kith.settings.yaml_files:read_yaml"
)


def find_folders(environ: Mapping[str, str] = os.environ) -> tuple[Path, Path, Path]:
    """Find the folders of configuration, state and cache (XDG on Linux). Raises UsageError without a home."""
    import platformdirs

    try:
        if environ.get("HOME") == "":
            raise RuntimeError("an empty HOME would mean the root folder")
        dirs = platformdirs.PlatformDirs("kith", appauthor=False)
        return dirs.user_config_path, dirs.user_state_path, dirs.user_cache_path
    except RuntimeError as error:  # neither HOME nor the password database knows one
        raise UsageError(
            "There is no home folder to keep the log in; set HOME to an absolute path."
        ) from error


# --- on which line a key stands --------------------------------------------------------------


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


class KeyPlace(Struct, frozen=True):
    """The place of a key: a file, and the keys that lead to it; as a text "FILE, line N".

    `find` returns the known lines of the file, from 1; it is called only then. A key without a known line
    gets the line of its table.
    """

    file: Path | str
    find: Callable[[], Mapping[KeyPath, int]] = _no_lines
    path: KeyPath = ()

    def at(self, key: str | int) -> "KeyPlace":
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
    """Find the end of the last statement in each table with a heading, and of the file's top."""
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
    """Find the end of the line on which a value ends; its brackets may span several."""
    depth = 0
    while position < len(text) and (token := _TOKEN.match(text, position)):
        if token[0] == "\n" and not depth:
            break
        depth += (token[0] in ("[", "{")) - (token[0] in ("]", "}"))
        position = token.end()
    return position


# --- what a file holds -----------------------------------------------------------------------


NAMES: Final = ("config.toml", "config.yaml", "config.yml")


def find_file(folder: Path) -> Path:
    """The configuration file of a folder, or where it would be. Raises UsageError where there are two."""
    there = [folder / name for name in NAMES if (folder / name).exists() or (folder / name).is_symlink()]
    if len(there) > 1:
        raise UsageError(f"{there[0]} and {there[1].name} both exist; keep one of them.")
    return there[0] if there else folder / NAMES[0]


def is_yaml(path: Path | str) -> bool:
    """True if a file is written in YAML, by its name."""
    return str(path).endswith((".yaml", ".yml"))


def parse(path: Path, text: str) -> tuple[dict[str, Any], KeyPlace]:
    """Parse a file; also return its place, which locates each key. Raises UsageError."""
    try:
        if not is_yaml(path):
            return _parse_toml(path, text), KeyPlace(path, partial(find_lines, text))
        data, lines = _parse_yaml(path, text)
        return data, KeyPlace(path, lambda: lines)
    except RecursionError as error:
        raise UsageError(f"{path}: its values are nested too deeply.") from error


def read_text(path: Path) -> str:
    """The file's text, "" when there is none. Raises UsageError."""
    try:
        if path.exists() and not path.is_file():  # a pipe or a device would never end
            raise UsageError(f"{path} is not a file.")
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not written in UTF-8 (byte {error.start}).") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error


def _parse_toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(_in_place(path, text, str(error))) from error


def _parse_yaml(path: Path, text: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    try:
        return _read_yaml.load()(text)
    except MistakeError as error:
        place = f"{path}, line {error.line}" if error.line else f"{path}"
        raise UsageError(f"{place}: not valid YAML: {error}.") from error


def _in_place(path: Path, text: str, error: str) -> str:
    """tomllib's words ("... (at line 1, column 9)", "... (at end of document)") with the place first."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", error, re.DOTALL)
    what, line = (found[1], found[2]) if found else (error, None)
    return f"{path}, line {line or len(text.rstrip().splitlines())}: not valid TOML: {what}."
