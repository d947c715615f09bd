"""Servers that offer tools, as they are written: `[mcp.NAME]`."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_type_hints

from kith.core.errors import UsageError
from kith.settings.check import fit, in_words, unknown_key
from kith.settings.places import Place
from kith.settings.values import ToolServer

_HINTS: Final = get_type_hints(ToolServer)
_TABLES: Final = ("env", "headers_env")  # of texts, by names
_OF_PROGRAMS: Final = ("env", "pass_env", "cwd")
_OF_ADDRESSES: Final = ("key_env", "headers_env")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_ADDRESS: Final = re.compile(r"https?://[^/\s?#@]+([/?][^\s#]*)?")
_MOST_SECONDS: Final = 600


def read_tool_server(name: str, data: Any, where: Place) -> ToolServer:
    """A server under its name. Raises UsageError saying where it stands and what is wrong."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{where}: a server of tools cannot be called {name!r}: letters, digits, - and _, at most 32."
        )
    if not isinstance(data, dict):
        raise UsageError(f"{where}: mcp.{name} must be a table with a command or a url.")
    values = {key: _read_value(key, value, where) for key, value in data.items()}
    if bool(values.get("command")) == bool(values.get("url")):
        raise UsageError(f"{where}: mcp.{name} needs either a command or a url.")
    kind, others = ("url", _OF_PROGRAMS) if values.get("url") else ("command", _OF_ADDRESSES)
    if strange := [key for key in others if key in data]:
        raise UsageError(f"{where.at(strange[0])}: {strange[0]} means nothing beside a {kind}.")
    _check_places(values, where)
    return ToolServer(**values)


def _read_value(key: str, value: Any, where: Place) -> Any:
    if key not in _HINTS:
        raise UsageError(f"{where.at(key)}: {unknown_key(key, sorted(_HINTS))}")
    if key in _TABLES:
        if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value.values()):
            raise UsageError(f"{where.at(key)}: {key} must be a table of texts.")
        return dict(value)
    words = _split(value, where.at(key)) if key == "command" and isinstance(value, str) else value
    fitted = fit(words, _HINTS[key])
    if fitted is None:
        raise UsageError(f"{where.at(key)}: {key} must be {in_words(_HINTS[key])}, not {value!r}.")
    if key == "seconds" and not 0 < fitted <= _MOST_SECONDS:
        raise UsageError(f"{where.at(key)}: seconds must be more than 0 and at most {_MOST_SECONDS}.")
    return fitted


def _split(command: str, where: Place) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{where}: {command!r} is no command: {error}.") from error


def _check_places(values: Mapping[str, Any], where: Place) -> None:
    """Programs are named so that no project's folder can slip in another one; addresses hold no keys."""
    command, cwd, url = values.get("command", ()), values.get("cwd", ""), values.get("url", "")
    if command and not _is_anchored(command[0]) and re.search(r"[/\\]", command[0]):
        raise UsageError(
            f"{where.at('command')}: {command[0]!r} must be a program's name or an absolute path."
        )
    if cwd and not _is_anchored(cwd):
        raise UsageError(f"{where.at('cwd')}: {cwd!r} must be an absolute path, or begin with {{project}}.")
    if url and not _ADDRESS.fullmatch(url):
        raise UsageError(
            f"{where.at('url')}: that is no address of a server; it should look like https://host/mcp, and a "
            "key belongs into a variable, named by key_env."
        )


def _is_anchored(path: str) -> bool:
    return Path(path).is_absolute() or path.startswith(("~", "{project}"))
