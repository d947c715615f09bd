"""Tables whose keys are the user's own names: endpoints, pools, gates, hooks, servers of tools, projects."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from kith.core.errors import UsageError
from kith.settings.check import check_value, fit, flatten, in_words, unknown_key
from kith.settings.files import KeyPlace
from kith.settings.values import Hook, NamedEndpoint, ToolServer

# What -m NAME/MODEL means already.
_TAKEN = ("replay", "file", "anthropic", "gemini", "route")


def read_named(table: str, name: str, data: Any, where: KeyPlace) -> Any:
    """Read a named table. Raises UsageError with the place and the error."""
    match table:
        case "endpoints":
            return _read_endpoint(name, data, where)
        case "pools":
            return _read_pool(name, data, where)
        case "gates":
            if not isinstance(data, str) or not data.strip():
                raise UsageError(f"{where}: gate {name!r} must be a command.")
            return data
        case "mcp":
            return read_tool_server(name, data, where)
        case _:
            return _read_project(name, data, where)


def _read_endpoint(name: str, data: Any, where: KeyPlace) -> NamedEndpoint:
    kinds = get_args(get_type_hints(NamedEndpoint)["kind"])
    if not isinstance(data, dict) or not isinstance(data.get("url"), str):
        raise UsageError(f"{where}: endpoint {name!r} needs a url.")
    if not re.fullmatch(r"https?://[^/\s?#][^?#]*", data["url"]):
        shown = re.split("[?#]", data["url"].rpartition("@")[2])[0]  # beside that there may be a key
        raise UsageError(
            f"{where.at('url')}: {shown!r} is not a server address such as http://host:port. "
            "A key belongs in a variable, named by key_env."
        )
    _check_name("an endpoint", name, where)
    for key in data:
        if key not in ("kind", "url", "key_env", "cloud"):
            raise UsageError(f"{where.at(key)}: {unknown_key(key, ['kind', 'key_env', 'url', 'cloud'])}")
    if data.get("kind", "openai") not in kinds:
        raise UsageError(f"{where.at('kind')}: kind must be one of {', '.join(kinds)}, not {data['kind']!r}.")
    if not isinstance(data.get("cloud", True), bool):
        raise UsageError(f"{where.at('cloud')}: cloud must be true or false, not {data['cloud']!r}.")
    return NamedEndpoint(
        data.get("kind", "openai"), data["url"], str(data.get("key_env", "")), data.get("cloud")
    )


def _read_pool(name: str, data: Any, where: KeyPlace) -> tuple[str, ...]:
    """The names of the endpoints (or the addresses) that share the work."""
    _check_name("a pool", name, where)
    good = isinstance(data, list) and all(isinstance(each, str) and each.strip() for each in data)
    if not good or len(data) < 2:
        raise UsageError(f"{where}: pool {name!r} must be a list of two or more endpoints.")
    return tuple(data)


def _read_project(folder: str, data: Any, where: KeyPlace) -> dict[str, Any]:
    """The user's own settings for one project, as those of a file."""
    if not isinstance(data, dict):
        raise UsageError(f"{where}: projects.{folder!r} must be a table of settings.")
    if not folder.startswith(("/", "~")):
        raise UsageError(f"{where}: {folder!r} is not an absolute path.")
    return {key: _read_of_project(key, value, where.at(key)) for key, value in flatten(data)}


def _read_of_project(key: str, value: Any, where: KeyPlace) -> Any:
    if key == "hooks":
        return read_hooks(value, where, brought=False)
    if key == "mcp" and isinstance(value, dict):
        return {name: read_tool_server(name, each, where.at(name)) for name, each in value.items()}
    return check_value(key, value, where)


def _check_name(what: str, name: str, where: KeyPlace) -> None:
    if "/" in name:
        raise UsageError(f"{where}: {what} cannot be called {name!r}; a name holds no slash.")
    if name in _TAKEN:
        raise UsageError(f"{where}: {what} cannot be called {name!r}; -m {name} is reserved.")


# --- commands at moments of the work: `[[hooks]]` --------------------------------------------


_HOOK_HINTS: Final = {key: get_type_hints(Hook)[key] for key in ("on", "command", "tool", "seconds", "where")}
_MOMENTS: Final = get_args(_HOOK_HINTS["on"])
_ABOUT_TOOLS: Final = ("before_tool", "after_tool")


def read_hooks(data: Any, place: KeyPlace, *, brought: bool) -> tuple[Hook, ...]:
    """The hooks of one file; `brought`: of a project's. Raises UsageError saying where and what is wrong."""
    if not isinstance(data, list):
        raise UsageError(f"{place}: hooks are a list of tables, each headed by [[hooks]].")
    return tuple(_read_hook(each, place.at(number), brought) for number, each in enumerate(data))


def _read_hook(data: Any, place: KeyPlace, brought: bool) -> Hook:
    if not isinstance(data, dict):
        raise UsageError(f"{place}: a hook is a table with `on` and `command`.")
    values: dict[str, Any] = {"where": "trial" if brought else "machine"}
    for key, value in data.items():
        if key not in _HOOK_HINTS:
            raise UsageError(f"{place.at(key)}: {unknown_key(key, sorted(_HOOK_HINTS))}")
        values[key] = fit(value, _HOOK_HINTS[key])
        if values[key] in (None, "", ()):
            raise UsageError(f"{place.at(key)}: {key} must be {in_words(_HOOK_HINTS[key])}, not {value!r}.")
    if "on" not in data or not values.get("command", "").strip():
        raise UsageError(f"{place}: a hook needs `on` ({', '.join(_MOMENTS)}) and a `command`.")
    if "tool" in data and values["on"] not in _ABOUT_TOOLS:
        raise UsageError(f"{place.at('tool')}: a hook on {values['on']!r} takes no tool.")
    if not values.get("seconds", 1) > 0:
        raise UsageError(f"{place.at('seconds')}: seconds must be more than 0, not {data['seconds']!r}.")
    if brought and values["where"] != "trial":
        raise UsageError(f"{place.at('where')}: a project's hooks run in the trial, never on the machine.")
    return Hook(**values, brought=brought, place=str(place))


# --- servers that offer tools: `[mcp.NAME]` --------------------------------------------------


_SERVER_HINTS: Final = get_type_hints(ToolServer)
_TABLES: Final = ("env", "headers_env")  # of texts, by names
_OF_PROGRAMS: Final = ("env", "pass_env", "cwd")
_OF_ADDRESSES: Final = ("key_env", "headers_env")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_ADDRESS: Final = re.compile(r"https?://[^/\s?#@]+([/?][^\s#]*)?")
_MOST_SECONDS: Final = 600


def read_tool_server(name: str, data: Any, where: KeyPlace) -> ToolServer:
    """A server under its name. Raises UsageError saying the place and the error."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{where}: a tool server cannot be called {name!r}: letters, digits, - and _, at most 32."
        )
    if not isinstance(data, dict):
        raise UsageError(f"{where}: mcp.{name} must be a table with a command or a url.")
    values = {key: _read_value(key, value, where) for key, value in data.items()}
    if bool(values.get("command")) == bool(values.get("url")):
        raise UsageError(f"{where}: mcp.{name} needs either a command or a url.")
    kind, others = ("url", _OF_PROGRAMS) if values.get("url") else ("command", _OF_ADDRESSES)
    if strange := [key for key in others if key in data]:
        raise UsageError(f"{where.at(strange[0])}: {strange[0]} does not apply to a {kind}.")
    _check_places(values, where)
    return ToolServer(**values)


def _read_value(key: str, value: Any, where: KeyPlace) -> Any:
    if key not in _SERVER_HINTS:
        raise UsageError(f"{where.at(key)}: {unknown_key(key, sorted(_SERVER_HINTS))}")
    if key in _TABLES:
        if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value.values()):
            raise UsageError(f"{where.at(key)}: {key} must be a table of texts.")
        return dict(value)
    words = _split(value, where.at(key)) if key == "command" and isinstance(value, str) else value
    fitted = fit(words, _SERVER_HINTS[key])
    if fitted is None:
        raise UsageError(f"{where.at(key)}: {key} must be {in_words(_SERVER_HINTS[key])}, not {value!r}.")
    if key == "seconds" and not 0 < fitted <= _MOST_SECONDS:
        raise UsageError(f"{where.at(key)}: seconds must be more than 0 and at most {_MOST_SECONDS}.")
    return fitted


def _split(command: str, where: KeyPlace) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{where}: {command!r} is no command: {error}.") from error


def _check_places(values: Mapping[str, Any], where: KeyPlace) -> None:
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
            f"{where.at('url')}: that is not a server address such as https://host/mcp. A key "
            "belongs in a variable, named by key_env."
        )


def _is_anchored(path: str) -> bool:
    return Path(path).is_absolute() or path.startswith(("~", "{project}"))
