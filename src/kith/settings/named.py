"""Tables whose keys are the user's own names: endpoints, pools, gates, servers of tools, single projects."""

import re
from typing import Any, get_args, get_type_hints

from kith.core.errors import UsageError
from kith.settings.check import check_value, flatten, unknown_key
from kith.settings.hooks import read_hooks
from kith.settings.places import Place
from kith.settings.tool_servers import read_tool_server
from kith.settings.values import Endpoint

# What -m NAME/MODEL means already.
_TAKEN = ("replay", "file", "anthropic", "gemini", "route")


def read_named(table: str, name: str, data: Any, where: Place) -> Any:
    """What a table holds under a name. Raises UsageError saying where it stands and what is wrong."""
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


def _read_endpoint(name: str, data: Any, where: Place) -> Endpoint:
    kinds = get_args(get_type_hints(Endpoint)["kind"])
    if not isinstance(data, dict) or not isinstance(data.get("url"), str):
        raise UsageError(f"{where}: endpoint {name!r} needs a url.")
    if not re.fullmatch(r"https?://[^/\s?#][^?#]*", data["url"]):
        shown = re.split("[?#]", data["url"].rpartition("@")[2])[0]  # beside that there may be a key
        raise UsageError(
            f"{where.at('url')}: {shown!r} is no address of a server; it should look like http://host:port, "
            "and a key belongs into a variable, named by key_env."
        )
    _check_name("an endpoint", name, where)
    for key in data:
        if key not in ("kind", "url", "key_env", "cloud"):
            raise UsageError(f"{where.at(key)}: {unknown_key(key, ['kind', 'key_env', 'url', 'cloud'])}")
    if data.get("kind", "openai") not in kinds:
        raise UsageError(f"{where.at('kind')}: kind must be one of {', '.join(kinds)}, not {data['kind']!r}.")
    if not isinstance(data.get("cloud", True), bool):
        raise UsageError(f"{where.at('cloud')}: cloud must be true or false, not {data['cloud']!r}.")
    return Endpoint(data.get("kind", "openai"), data["url"], str(data.get("key_env", "")), data.get("cloud"))


def _read_pool(name: str, data: Any, where: Place) -> tuple[str, ...]:
    """The names of the endpoints (or the addresses) that share the work."""
    _check_name("a pool", name, where)
    good = isinstance(data, list) and all(isinstance(each, str) and each.strip() for each in data)
    if not good or len(data) < 2:
        raise UsageError(f"{where}: pool {name!r} must be a list of two or more endpoints.")
    return tuple(data)


def _read_project(folder: str, data: Any, where: Place) -> dict[str, Any]:
    """The user's own settings for one project, as those of a file."""
    if not isinstance(data, dict):
        raise UsageError(f"{where}: projects.{folder!r} must be a table of settings.")
    if not folder.startswith(("/", "~")):
        raise UsageError(f"{where}: {folder!r} is no absolute path of a folder.")
    return {key: _read_of_project(key, value, where.at(key)) for key, value in flatten(data)}


def _read_of_project(key: str, value: Any, where: Place) -> Any:
    if key == "hooks":
        return read_hooks(value, where, brought=False)
    if key == "mcp" and isinstance(value, dict):
        return {name: read_tool_server(name, each, where.at(name)) for name, each in value.items()}
    return check_value(key, value, where)


def _check_name(what: str, name: str, where: Place) -> None:
    if "/" in name:
        raise UsageError(f"{where}: {what} cannot be called {name!r}; a name holds no slash.")
    if name in _TAKEN:
        raise UsageError(f"{where}: {what} cannot be called {name!r}; -m {name} has a meaning of its own.")
