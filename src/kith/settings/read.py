"""Read settings from the user's file, the project's file, the environment and the flags."""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kith.core.errors import KithError, UsageError
from kith.core.feature import Lazy
from kith.settings.brought import Brought, Standing, find_brought
from kith.settings.check import (
    KEYS,
    LISTS,
    NAMED,
    OWN_TABLES,
    check_value,
    flatten,
    has_value,
    is_key,
    keys_in_tables,
    nearest_key,
    sections,
    tables,
)
from kith.settings.files import find_file, find_folders, parse, read_text
from kith.settings.tables import read_hooks, read_named
from kith.settings.values import Settings, ToolServer

# Even once it is trusted, a project's own file only says how the project is checked, and narrows the rest.
PROJECT_KEYS = {
    *("check", "gates", "hooks", "max_steps", "tries", "read_only", "build.coverage"),
    *("cloud", "max_task_usd", "max_day_usd"),
}
_CLOUD = ("never", "ask", "allow")  # each lets through more than the one before
_EDITORS = ("VISUAL", "EDITOR")  # every program's: what is chosen for kith goes before them
# Secrets of commands, and what hooks are told, which may call kith themselves.
_NO_SETTINGS = ("KITH_SERVE_TOKEN", "KITH_RUNTIME_TOKEN", "KITH_HOOK", "KITH_MARK", "KITH_ROOT")
# Reads the log, which only a folder with files of its own needs.
_standing_of: Final[Lazy[Callable[[Path, Path, str], Standing]]] = Lazy("kith.memory.trust:standing_of")
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
            yield name, f"{table}.{rest}" if table in tables() and rest else key


def unknown_variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables that are called like settings and are none, each with the nearest that is one, "" for none.

    They stop nobody: Kubernetes sets KITH_SERVICE_HOST beside a service that is called kith.
    """
    unknown = {name: nearest_key(key) for name, key in _own_variables(environ) if not has_value(key)}
    return {name: near and f"KITH_{near.replace('.', '_').upper()}" for name, near in unknown.items()}


def _read_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in flags.items() if value is not None}
    return {key: check_value(key, value, f"--{key.replace('_', '-')}") for key, value in given.items()}


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
