"""Configuration files: which one there is, and what it holds, in TOML or YAML."""

import re
import tomllib
from functools import partial
from pathlib import Path
from typing import Any, Final

from kith.core.errors import UsageError
from kith.settings.places import KeyPath, Place, find_lines

NAMES: Final = ("config.toml", "config.yaml", "config.yml")


def find_file(folder: Path) -> Path:
    """The configuration file of a folder, or where it would be. Raises UsageError where there are two."""
    there = [folder / name for name in NAMES if (folder / name).exists() or (folder / name).is_symlink()]
    if len(there) > 1:
        raise UsageError(f"{there[0]} and {there[1].name} are both there; keep the one that counts.")
    return there[0] if there else folder / NAMES[0]


def is_yaml(path: Path | str) -> bool:
    """Whether a file is written in YAML, by its name."""
    return str(path).endswith((".yaml", ".yml"))


def parse(path: Path, text: str) -> tuple[dict[str, Any], Place]:
    """What is written in a file, and its place, by which that of each key is found. Raises UsageError."""
    try:
        if not is_yaml(path):
            return _parse_toml(path, text), Place(path, partial(find_lines, text))
        data, lines = _parse_yaml(path, text)
        return data, Place(path, lambda: lines)
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
    from kith.settings.yaml_file import MistakeError, read_yaml  # most people write TOML

    try:
        return read_yaml(text)
    except MistakeError as error:
        place = f"{path}, line {error.line}" if error.line else f"{path}"
        raise UsageError(f"{place}: not valid YAML: {error}.") from error


def _in_place(path: Path, text: str, error: str) -> str:
    """tomllib's words ("... (at line 1, column 9)", "... (at end of document)") with the place first."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", error, re.DOTALL)
    what, line = (found[1], found[2]) if found else (error, None)
    return f"{path}, line {line or len(text.rstrip().splitlines())}: not valid TOML: {what}."
