"""Change one setting in a configuration file: checked first, and all else in it stays as it is written."""

import os
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from kith.core.errors import UsageError
from kith.settings.check import KEYS, NAMED, check_value, is_key, keys_in_tables
from kith.settings.files import find_ends, is_yaml, parse, read_key, read_text
from kith.settings.read import PROJECT_KEYS, read_values
from kith.settings.yaml_files import drop_from_yaml, set_in_yaml


def split_key(key: str) -> tuple[str, ...]:
    """The parts of a key: `projects."~/x.y".cloud` has three. Raises UsageError."""
    table, _, rest = key.partition(".")
    if table == "projects" and rest[:1] in ("/", "~"):  # a shell took the quotes away
        ends = (
            end
            for end in range(len(rest))
            if rest[end] == "." and rest[end + 1 :] in (*KEYS, *keys_in_tables())
        )
        end = next(ends, len(rest))
        return (table, rest[:end], *filter(None, rest[end + 1 :].split(".")))
    try:
        return read_key(key)
    except ValueError as error:
        raise UsageError(f"{error}; write it as in the file, such as tries or build.coverage.") from error


def set_setting(path: Path, key: str, words: Sequence[str], *, project: bool) -> Any:
    """Set a key of the file to what the words mean, and say that; raises UsageError before it writes."""
    parts, allowed = split_key(key), PROJECT_KEYS if project else None
    text, fault = read_text(path), None
    for value in _readings(parts, words, allowed):
        changed = _changed(path, text, parts, value)
        try:
            read_values(path, changed, allowed)
        except UsageError as error:
            fault = fault or error
            continue
        write_text(path, changed)
        return value
    read_values(path, text, allowed)  # a mistake that was there before has its own place
    raise UsageError(_without_place(fault))


def unset_setting(path: Path, key: str, *, project: bool) -> None:
    """Take a key out of the file. Raises UsageError where it is not there, or the rest makes no sense."""
    parts, text = split_key(key), read_text(path)
    if not _holds(parse(path, text)[0], parts):
        _known(".".join(parts[: 1 if parts[0] in NAMED else None]))
        raise UsageError(f"{key} is not set in {path}.")
    changed = _changed(path, text, parts, None)
    if parts[0] in NAMED:  # an endpoint without its address is none
        try:
            read_values(path, changed, PROJECT_KEYS if project else None)
        except UsageError as error:
            raise UsageError(_without_place(error)) from error
    write_text(path, changed)


def write_text(path: Path, text: str) -> None:
    """Put a text in the place of a file's, all of it or nothing. Raises UsageError."""
    path = path.resolve()  # a link of the person's own, to where they keep such files
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        there = path.exists()
        mode = path.stat().st_mode & 0o777 if there else 0o644
        newline = "\r\n" if there and b"\r\n" in path.read_bytes() else "\n"
        file, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(file, "w", encoding="utf-8", newline=newline) as new:
                new.write(text)
                new.flush()
                os.fsync(new.fileno())
            Path(name).chmod(mode)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error


def _without_place(error: UsageError | None) -> str:
    """Return the error without its place, since the file was not written."""
    place, _, words = str(error).partition(": ")
    return words or place


def _readings(parts: Sequence[str], words: Sequence[str], allowed: set[str] | None) -> Iterator[Any]:
    """Yield the possible meanings of words: a setting has its type; below a name all types are allowed."""
    key = ".".join(parts)
    if parts[0] == "projects" and len(parts) > 2:
        key, allowed = ".".join(parts[2:]), None
    elif parts[0] in NAMED and len(parts) > 1:
        written = list(_literal(words[0])) if len(words) == 1 else []
        many = [each for each in written if isinstance(each, list | dict)]
        yield from (*many, *(words if len(words) == 1 else ()), list(words), *written)
        return
    if allowed is not None and key not in allowed and is_key(key):
        raise UsageError(f"A project may not set {key!r}; leave --project out.")
    value = check_value(key, words[0] if len(words) == 1 else list(words), "", allowed)
    yield list(value) if isinstance(value, tuple) else value


def _literal(word: str) -> Iterator[Any]:
    """The value that a word is in TOML, if it is any."""
    try:
        yield tomllib.loads(f"value = {word}")["value"]
    except tomllib.TOMLDecodeError:
        return


def _known(key: str) -> None:
    """Raises UsageError naming the nearest key, where there is no such one."""
    if not is_key(key) or ("." in key and key not in keys_in_tables()):
        check_value(key, None, "")


def _changed(path: Path, text: str, parts: Sequence[str], value: Any | None) -> str:
    """The text with the key set, or without it (None). Raises UsageError where only a person can do that.

    What comes out is read again: all that it says is what it said before, but for this key.
    """
    data, _ = parse(path, text)
    if ".".join(parts) in data:
        parts = [".".join(parts)]  # it was written in quotes
    wanted = _with(data, parts, value)
    try:
        changed = _edit(path, text, parts, value)
        if parse(path, changed)[0] != wanted:
            raise ValueError("its form leaves no place for it")
    except (ValueError, KeyError, UsageError) as error:
        words = f"{path} has to be changed by hand here: {str(error).rstrip('.')}."
        raise UsageError(words) from error
    return changed


def _edit(path: Path, text: str, parts: Sequence[str], value: Any | None) -> str:
    if is_yaml(path):
        return drop_from_yaml(text, parts) if value is None else set_in_yaml(text, parts, value)
    try:
        return drop_from_toml(text, parts) if value is None else set_in_toml(text, parts, value)
    except TOMLKitError as error:
        raise ValueError(str(error)) from error


def _holds(data: Mapping[str, Any], parts: Sequence[str]) -> bool:
    """True if a file's values have this key."""
    if ".".join(parts) in data:
        return True
    inner = data.get(parts[0])
    return parts[0] in data and (len(parts) == 1 or (isinstance(inner, dict) and _holds(inner, parts[1:])))


def _with(data: Mapping[str, Any], parts: Sequence[str], value: Any | None) -> dict[str, Any]:
    """The values with one of them set, or without it and the tables that hold nothing else."""
    first, rest = parts[0], parts[1:]
    copy = deepcopy(dict(data))
    inner = copy.get(first)
    if not rest:
        copy.pop(first, None)
        return copy if value is None else {**copy, first: value}
    below = _with(inner if isinstance(inner, dict) else {}, rest, value)
    if below:
        return {**copy, first: below}
    copy.pop(first, None)
    return copy


# --- one key of a TOML text, where it stands -------------------------------------------------


def set_in_toml(text: str, keys: Sequence[str], value: Any) -> str:
    """The text in which `keys` lead to `value`. Raises ValueError where something else is in their way."""
    document = tomlkit.parse(text)
    table: Any = document
    for key in keys[:-1]:
        if key not in table:
            return f"{_paragraph(text)}[{_dotted(keys[:-1])}]\n{_line(keys[-1], value)}\n"
        table = table[key]
        if not isinstance(table, MutableMapping):  # one in several places, too
            raise ValueError(f"{key} is no table there")
    ends = find_ends(text)
    if keys[-1] in table or (len(keys) > 1 and tuple(keys[:-1]) not in ends):  # written within a line
        table[keys[-1]] = value
        return tomlkit.dumps(document)
    # Behind the last line of its table: the comments that follow are about the next one.
    end = ends.get(tuple(keys[:-1]))
    if end is None:
        return f"{_line(keys[-1], value)}\n" + (f"\n{text}" if text else "")
    return f"{text[:end]}\n{_line(keys[-1], value)}{text[end:] or chr(10)}"


def drop_from_toml(text: str, keys: Sequence[str]) -> str:
    """The text without a key, and without the tables that only it was in. Raises KeyError."""
    document = tomlkit.parse(text)
    tables: list[Any] = [document]
    for key in keys[:-1]:
        tables.append(tables[-1][key])
    del tables[-1][keys[-1]]
    for table, key in zip(reversed(tables[:-1]), reversed(keys[:-1]), strict=True):
        if not table[key]:
            del table[key]
    return tomlkit.dumps(document)


def _paragraph(text: str) -> str:
    """The text, ready for a table of its own."""
    return f"{text.rstrip()}\n\n" if text.strip() else text


def _line(key: str, value: Any) -> str:
    return f"{_dotted([key])} = {tomlkit.item(value).as_string()}"


def _dotted(keys: Sequence[str]) -> str:
    return tomlkit.key(list(keys)).as_string()
