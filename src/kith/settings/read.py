"""Read settings from the user's file, the project's file, the environment and the flags."""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from msgspec.structs import replace

from kith.core.errors import KithError, UsageError
from kith.core.feature import Lazy
from kith.settings.brought import Brought, Standing, find_brought
from kith.settings.check import (
    KEYS,
    LISTS,
    NAMED,
    OWN_TABLES,
    check_value,
    fit,
    flatten,
    has_value,
    in_words,
    is_key,
    keys_in_tables,
    nearest_key,
    sections,
    tables,
    unknown_key,
)
from kith.settings.files import KeyPlace, find_file, find_folders, parse, read_text
from kith.settings.values import Hook, NamedEndpoint, Settings, ToolServer

# Tables whose keys are the user's own names: endpoints, pools, gates, hooks, servers of tools, projects.


# What -m NAME/MODEL means already.
_TAKEN = ("replay", "file", "anthropic", "gemini", "route")
_OTHER_PROTOCOLS: Final = ("ollama", "anthropic", "gemini")
_OF_OPENAI: Final = ("path", "fields", "renames")
_HELD: Final = {"messages", "tools", "stream"}  # without these there is no conversation
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110, 5.6.2


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
        if key not in NamedEndpoint.__struct_fields__:
            raise UsageError(f"{where.at(key)}: {unknown_key(key, sorted(NamedEndpoint.__struct_fields__))}")
    kind = data.get("kind", "openai")
    if kind not in kinds:
        raise UsageError(f"{where.at('kind')}: kind must be one of {', '.join(kinds)}, not {kind!r}.")
    if not isinstance(data.get("cloud", True), bool):
        raise UsageError(f"{where.at('cloud')}: cloud must be true or false, not {data['cloud']!r}.")
    for key in _OF_OPENAI:
        if key in data and kind in _OTHER_PROTOCOLS:
            raise UsageError(f"{where.at(key)}: {key} does not apply to {kind}.")
    _check_manner(data, where)
    return NamedEndpoint(**{**data, "kind": kind, "key_env": str(data.get("key_env", ""))})


def _check_manner(data: Mapping[str, Any], where: KeyPlace) -> None:
    """Check the ways in which a server differs. Raises UsageError."""
    for key in ("headers", "headers_env", "renames", "fields"):
        table = data.get(key, {})
        texts = key == "fields" or (
            isinstance(table, dict) and all(isinstance(v, str) for v in table.values())
        )
        if not isinstance(table, dict) or not texts:
            raise UsageError(f"{where.at(key)}: {key} must be a table{' of texts' * (key != 'fields')}.")
    for key in ("headers", "headers_env"):
        for name, value in data.get(key, {}).items():
            if not _HEADER.fullmatch(name) or not (value.isascii() and value.isprintable()):
                raise UsageError(f"{where.at(key)}: {name!r} with this value is no HTTP header.")
    for key in ("fields", "renames"):
        if held := sorted(_HELD & set(data.get(key, {}))):
            raise UsageError(f"{where.at(key)}: {held[0]} is what kith sends, and cannot be in {key}.")
    path = data.get("path", "/v1")
    if not isinstance(path, str) or not re.fullmatch(r"(/[\w.~-]+)*/?", path):
        raise UsageError(f"{where.at('path')}: path must look like /v1 or /api/v3, not {path!r}.")


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


# Settings from where they stand: the user's file, the project's file, the environment, the flags.


# Even once it is trusted, a project's own file only says how the project is checked, and narrows the rest.
PROJECT_KEYS = {
    *("check", "gates", "hooks", "max_steps", "tries", "read_only", "build.coverage"),
    *("cloud", "max_task_usd", "max_day_usd"),
}
_CLOUD = ("never", "ask", "allow")  # each lets through more than the one before
_EDITORS = ("VISUAL", "EDITOR")  # every program's: what is chosen for kith goes before them
# Secrets of commands, and what hooks are told, which may call kith themselves.
_NO_SETTINGS = (
    "KITH_SERVE_TOKEN",
    "KITH_RUNTIME_TOKEN",
    "KITH_FLEET_DSN",
    "KITH_FLEET_TOKEN",
    "KITH_GITHUB_TOKEN",
    "KITH_GITLAB_TOKEN",
    "KITH_GITEA_TOKEN",
    "KITH_HOOK",
    "KITH_MARK",
    "KITH_ROOT",
)
# Reads the log, which only a folder with files of its own needs.
_standing_of: Final[Lazy[Callable[[Path, Path, str], Standing]]] = Lazy("kith.memory.permits:standing_of")
# Where two name the same setting, the later one wins.
_PEOPLES_VARIABLES = {
    "OLLAMA_HOST": "ollama_host",
    "OPENAI_BASE_URL": "openai_base_url",
    "OPENAI_API_KEY": "openai_api_key",
    "ANTHROPIC_BASE_URL": "anthropic_base_url",
    "ANTHROPIC_API_KEY": "anthropic_api_key",
    "GOOGLE_GEMINI_BASE_URL": "gemini_base_url",
    "GOOGLE_API_KEY": "gemini_api_key",
    "GEMINI_API_KEY": "gemini_api_key",
}


def load_settings(
    root: Path, flags: Mapping[str, Any], environ: Mapping[str, str] = os.environ, *, trusting: bool = False
) -> Settings:
    """Load the settings for a run in `root`. Raises UsageError naming file, line and the nearest key.

    Only this function reads a project's own files. They count once the person trusts them as they are, or if
    `trusting` is set.
    """
    config, state, cache = find_folders(environ)
    brought = find_brought(root)
    if brought.files:
        brought = replace(brought, standing="trusted" if trusting else _standing(brought, root, state))
    editors = [environ[name] for name in _EDITORS if environ.get(name)]
    layers: list[tuple[str, dict[str, Any]]] = [("environment", {"editor": each}) for each in editors[:1]]
    user_file, project_file = find_file(config), root / brought.config
    users = read_values(user_file, read_text(user_file), None)
    of_projects = users.pop("projects", {})
    layers.append((str(user_file), users))
    layers += [(str(user_file), values) for folder, values in of_projects.items() if _holds(folder, root)]
    layers.append((str(project_file), read_brought(root, brought)))
    layers.append(("environment", _read_environment(environ)))
    layers.append(("flag", _read_flags(flags)))
    merged: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for source, layer in layers:
        for key, value in layer.items():
            if source == str(project_file) and not _narrows(key, value, merged):
                continue
            merged[key] = _joined(key, merged[key], value) if key in merged else value
            origin[key] = source
    tables = {name: _take_table(merged, name) for name in OWN_TABLES}
    of_features = {name: _take_table(merged, name) for name in sections()}
    places: dict[str, Any] = {"state": state, "cache": cache, "config": config}
    return replace(
        Settings(), **merged, **tables, **places, sections=of_features, origin=origin, brought=brought
    )


def _joined(key: str, before: Any, value: Any) -> Any:
    """A setting in two places: the later one, but of hooks and tool servers both."""
    if key in LISTS:
        return (*before, *value)
    return {**before, **value} if key == "mcp" else value


def read_brought(root: Path, brought: Brought) -> dict[str, Any]:
    """Read the settings of a project's own file, if it is trusted. Raises UsageError for any other key."""
    return read_values(root / brought.config, brought.text(brought.config), PROJECT_KEYS)


def _standing(brought: Brought, root: Path, state: Path) -> Standing:
    """Return the person's decision on these files; "new" where the log cannot tell."""
    try:
        return _standing_of.load()(state, root, brought.digest)
    except KithError:
        return "new"


def _holds(folder: str, root: Path) -> bool:
    """True if the user's settings for a folder apply to a project: the folder or one below it."""
    place = Path(folder).expanduser()
    return place == root or place in root.parents


def _take_table(merged: dict[str, Any], table: str) -> Any:
    """The group of settings called `table`, taken out of all values."""
    names = [key for key in merged if key.startswith(f"{table}.")]
    return tables()[table](**{name.partition(".")[2]: merged.pop(name) for name in names})


def _narrows(key: str, value: Any, merged: Mapping[str, Any]) -> bool:
    """True if a project's value allows no more than the user does."""
    if key in ("check", "gates", "hooks"):  # they run in the sandbox, or are asked about
        return True
    if key == "build.coverage":
        return bool(value >= (merged.get(key) or 0))
    present = merged.get(key, getattr(Settings(), key))
    if key == "cloud":
        return _CLOUD.index(value) <= _CLOUD.index(present)
    if present is None:  # there was no limit
        return True
    return bool(value >= present if isinstance(value, bool) else value <= present)


def read_values(path: Path, text: str, allowed: set[str] | None) -> dict[str, Any]:
    """The values of a configuration file; `allowed` are the keys that it may hold, None for all.

    Raises UsageError naming the line, and the nearest key.
    """
    data, place = parse(path, text)
    values: dict[str, Any] = {}
    for key, value in flatten(data):
        where = place.at(key)
        if allowed is not None and key not in allowed and is_key(key):
            raise UsageError(f"{where}: a project may not set {key!r}; put it into your own configuration.")
        if key in NAMED and isinstance(value, dict):
            values[key] = {name: read_named(key, name, each, where.at(name)) for name, each in value.items()}
        elif key == "hooks":
            values[key] = read_hooks(value, where, brought=allowed is not None)
        else:
            values[key] = check_value(key, value, where, allowed)
    return values


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {
        key: environ[name] for name, key in _PEOPLES_VARIABLES.items() if environ.get(name)
    }
    for name, key in _own_variables(environ):
        if has_value(key):
            values[key] = check_value(key, environ[name], f"environment variable {name}")
    return values


def _own_variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The variables that are called like settings, each with the key that it would set."""
    for name in environ:
        if name.startswith("KITH_") and name not in _NO_SETTINGS:
            key = name.removeprefix("KITH_").lower()
            table, _, rest = key.partition("_")
            if f"sampling.{key}" in keys_in_tables():  # KITH_TEMPERATURE
                yield name, f"sampling.{key}"
            else:
                yield name, f"{table}.{rest}" if table in tables() and rest else key


def unknown_variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables that are called like settings and are none, each with the nearest that is one, "" for none.

    They stop nobody: Kubernetes sets KITH_SERVICE_HOST beside a service that is called kith.
    """
    unknown = {name: nearest_key(key) for name, key in _own_variables(environ) if not has_value(key)}
    return {name: near and f"KITH_{near.replace('.', '_').upper()}" for name, near in unknown.items()}


def _read_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in flags.items() if value is not None}
    return {key: check_value(key, value, _flag_of(key)) for key, value in given.items()}


def _flag_of(key: str) -> str:
    return f"--{key.rpartition('.')[2].replace('_', '-')}"


# --- for people: each key, its value, and where it came from ---------------------------------


_PASSWORD = re.compile(r"(^|//)[^/@\s]*:[^/@\s]*@")  # of an address
_KEY = re.compile(r"(?i)((?:key|token|secret|passw\w*)=).+")
_QUERY = re.compile(r"^(https?://[^\s?#]*)[?#]\S+")


def describe_settings(settings: Settings) -> list[tuple[str, str, str]]:
    """Each key, its value in words ("-": nobody chose), and where it came from; secrets are not shown."""
    values = {key: getattr(settings, key) for key in KEYS} | {"window": settings.window or None}
    rows = [(key, _show(value), settings.origin.get(key, "default")) for key, value in values.items()]
    for key in keys_in_tables():
        table, _, name = key.partition(".")
        value = getattr(
            settings.sections[table] if table in settings.sections else getattr(settings, table), name
        )
        rows.append((key, _show(value), settings.origin.get(key, "default")))
    for name, endpoint in settings.endpoints.items():
        rows.append(
            (f"endpoints.{name}", _show(f"{endpoint.kind} {endpoint.url}"), settings.origin["endpoints"])
        )
    for name, members in settings.pools.items():
        rows.append((f"pools.{name}", _show(members), settings.origin["pools"]))
    for name, server in settings.mcp.items():
        off = " (off)" if server.off else ""
        rows.append((f"mcp.{name}", describe_server(server) + off, settings.origin["mcp"]))
    for hook in settings.hooks:
        about = f" ({', '.join(hook.tool)})" if hook.tool != ("*",) else ""
        rows.append(("hooks", f"{hook.on}{about}: {hook.command}", hook.place))
    for name, command in settings.gates.items():
        rows.append((f"gates.{name}", command, settings.origin["gates"]))
    return rows


def describe_server(server: ToolServer) -> str:
    """Describe the address of a tool server, without keys."""
    words = [_KEY.sub(r"\1***", word) for word in server.command]
    return _show(server.url or shlex.join(words))


def _show(value: Any) -> str:
    if value is None or value in ((), ""):
        return "-"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return _QUERY.sub(r"\1?***", _PASSWORD.sub(r"\1***@", str(value)))
