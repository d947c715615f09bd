"""What the user chose: defaults, then the user's file, the project's file, the environment, the flags."""

import difflib
import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from kith.core.errors import UsageError
from kith.core.values import Sampling

# A project's own file is not trusted: it may say how the project is checked, and narrow the rest.
PROJECT_KEYS = {"check", "max_steps", "tries", "read_only"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model server that the user named: `kith -m NAME/model` asks it."""

    kind: Literal["ollama", "openai", "llama-server", "lmstudio", "vllm"]
    url: str
    key_env: str = ""


@dataclass(frozen=True, slots=True)
class Engine:
    """How kith's own engine runs a model file; None and "" leave the choice to kith or to the engine."""

    program: Literal["auto", "xllamacpp", "llama-server", "off"] = "auto"
    ngl: int | None = None  # layers on the GPU
    flash_attn: Literal["auto", "on", "off"] = "auto"
    threads: int | None = None
    cache_type_k: str = ""
    cache_type_v: str = ""
    args: tuple[str, ...] = ()  # handed to llama-server as they are
    idle: float = 300.0  # seconds without anybody before it stops


@dataclass(frozen=True, slots=True)
class Settings:
    """Every choice, read once. `origin` tells where each value that is not a default came from."""

    model: str = ""
    window: int = (
        0  # tokens; 0: from the model and the memory where kith starts it, else what the server runs
    )
    think: bool | None = None
    think_tokens: int | None = None
    stall: float = 600.0  # seconds without a sign of life before a server counts as hung
    discovery: Literal["on", "off"] = "on"  # off: only servers that are configured are asked
    model_folders: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    check_timeout: float = 900.0
    command_timeout: float = 300.0
    tries: int = 3
    max_steps: int = 50
    max_task_tokens: int | None = None
    max_task_seconds: float | None = None
    read_only: bool = False
    offline: bool = False
    sandbox: Literal["auto", "require", "off"] = "auto"
    max_file_bytes: int = 1_000_000
    max_change_bytes: int = 2_000_000
    sampling: Sampling = Sampling()
    engine: Engine = Engine()
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    ollama_host: str = ""
    openai_base_url: str = ""
    openai_api_key: str = ""
    state: Path = Path()
    cache: Path = Path()
    config: Path = Path()
    origin: Mapping[str, str] = field(default_factory=dict)


# Groups of settings: each is a table in the file, and its keys are called `table.key`.
_TABLES: Mapping[str, type] = {"sampling": Sampling, "engine": Engine}
_NOT_KEYS = {"origin", "state", "cache", "config", "openai_api_key", "endpoints", *_TABLES}
_HINTS = get_type_hints(Settings)
_KEYS = {each.name: _HINTS[each.name] for each in fields(Settings) if each.name not in _NOT_KEYS}
_IN_TABLES = {
    f"{table}.{name}": hint
    for table, kind in _TABLES.items()
    for name, hint in get_type_hints(kind).items()
    if name not in _HINTS  # what has a key of its own (think) is not said twice
}
_PASSWORD = re.compile(r"(^|//)[^/@\s]*:[^/@\s]*@")  # of an address
_BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
# Less than this makes no sense. Numbers that are not here may be anything.
_LEAST: Mapping[str, float] = {
    "window": 256,
    "think_tokens": 0,
    "max_task_tokens": 1,
    "max_task_seconds": 1,
    "engine.threads": 1,
    "engine.ngl": 0,
    "engine.idle": 1,
    "stall": 1,
    "check_timeout": 1,
    "command_timeout": 1,
    "tries": 1,
    "max_steps": 1,
    "max_file_bytes": 1,
    "max_change_bytes": 1,
}
_PEOPLES_VARIABLES = {
    "OLLAMA_HOST": "ollama_host",
    "OPENAI_BASE_URL": "openai_base_url",
    "OPENAI_API_KEY": "openai_api_key",
}


def load_settings(root: Path, flags: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Settings:
    """Settings for a run in `root`. Raises UsageError naming file, line and the nearest valid key."""
    config, state, cache = find_folders(environ)
    layers: list[tuple[str, dict[str, Any]]] = []
    user_file, project_file = config / "config.toml", root / ".kith" / "config.toml"
    layers.append((str(user_file), _read_file(user_file, None)))
    layers.append((str(project_file), _read_file(project_file, PROJECT_KEYS)))
    layers.append(("environment", _read_environment(environ)))
    layers.append(("flag", _read_flags(flags)))
    merged: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for source, layer in layers:
        for key, value in layer.items():
            if source == str(project_file) and key != "check" and not _narrows(key, value, merged):
                continue
            merged[key] = value
            origin[key] = source
    tables = {name: _take_table(merged, name) for name in _TABLES}
    return replace(
        Settings(),
        **merged,
        **tables,
        state=state,
        cache=cache,
        config=config,
        origin=origin,
    )


def _take_table(merged: dict[str, Any], table: str) -> Any:
    """The group of settings called `table`, taken out of all values."""
    names = [key for key in merged if key.startswith(f"{table}.")]
    return _TABLES[table](**{name.partition(".")[2]: merged.pop(name) for name in names})


def _narrows(key: str, value: Any, merged: Mapping[str, Any]) -> bool:
    """Whether a project's value asks for no more than the user already allows."""
    present = merged.get(key, getattr(Settings(), key))
    return bool(value >= present if isinstance(value, bool) else value <= present)


def find_folders(environ: Mapping[str, str] = os.environ) -> tuple[Path, Path, Path]:
    """Where configuration, state and cache live (XDG on Linux). Raises UsageError without a home."""
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


def _read_file(path: Path, allowed: set[str] | None) -> dict[str, Any]:
    """The values of a configuration file; `allowed` are the keys that it may hold, None for all."""
    text = _read_text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(_in_place(path, text, str(error))) from error
    values: dict[str, Any] = {}
    for key, value in _flatten(data):
        where = f"{path}, line {_line_of(text, key)}"
        if allowed is not None and key not in allowed and _is_key(key):
            raise UsageError(f"{where}: a project may not set {key!r}; put it into your own configuration.")
        if key == "endpoints" and isinstance(value, dict):
            values[key] = {
                name: _read_endpoint(name, each, f"{path}, line {_line_of(text, name)}")
                for name, each in value.items()
            }
        else:
            values[key] = _check_value(key, value, where, allowed)
    return values


def _read_text(path: Path) -> str:
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


def _in_place(path: Path, text: str, error: str) -> str:
    """tomllib's words ("... (at line 1, column 9)", "... (at end of document)") with the place first."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", error, re.DOTALL)
    what, line = (found[1], found[2]) if found else (error, None)
    return f"{path}, line {line or len(text.rstrip().splitlines())}: not valid TOML: {what}."


def _is_key(key: str) -> bool:
    return key in _KEYS or key in ("endpoints", *_TABLES) or key.partition(".")[0] in _TABLES


def _flatten(data: Mapping[str, Any]) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in data.items():
        if key in _TABLES and isinstance(value, dict):
            pairs += [(f"{key}.{name}", item) for name, item in value.items()]
        else:
            pairs.append((key, value))
    return pairs


def _read_endpoint(name: str, data: Any, where: str) -> Endpoint:
    kinds = get_args(get_type_hints(Endpoint)["kind"])
    if not isinstance(data, dict) or not isinstance(data.get("url"), str):
        raise UsageError(f"{where}: endpoint {name!r} needs a url.")
    if not re.match(r"https?://[^/\s]", data["url"]):
        raise UsageError(
            f"{where}: {data['url']!r} is no address of a server; it should look like http://host:port."
        )
    if "/" in name or name == "replay":
        raise UsageError(f"{where}: an endpoint cannot be called {name!r}, since -m {name}/MODEL means else.")
    for key in data:
        if key not in ("kind", "url", "key_env"):
            raise UsageError(f"{where}: {_unknown(key, ['kind', 'key_env', 'url'])}")
    if data.get("kind", "openai") not in kinds:
        raise UsageError(f"{where}: kind must be one of {', '.join(kinds)}, not {data['kind']!r}.")
    return Endpoint(data.get("kind", "openai"), data["url"], str(data.get("key_env", "")))


def _check_value(key: str, value: Any, where: str, allowed: set[str] | None = None) -> Any:
    """The value in its key's type. Raises UsageError naming the nearest key, or what is expected."""
    if key in ("endpoints", *_TABLES):
        raise UsageError(f"{where}: {key!r} is a table of its own, not a value.")
    hint: Any = _IN_TABLES.get(key) or _KEYS.get(key)
    if hint is None:
        known = sorted(allowed or [*_KEYS, "endpoints", *_IN_TABLES])
        raise UsageError(f"{where}: {_unknown(key, known)}")
    fitted = _fit(value, hint)
    if fitted is None:
        raise UsageError(f"{where}: {key} must be {_in_words(hint)}, not {value!r}.")
    if key in _LEAST and not fitted >= _LEAST[key]:
        raise UsageError(f"{where}: {key} must be at least {_LEAST[key]:g}, not {value!r}.")
    if key == "check" and ("none" in fitted[1:] or fitted[:1] == ("none",) != fitted):
        raise UsageError(f"{where}: check is either 'none' or commands, not both.")
    return fitted


def _unknown(key: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(key, known, 1)
    return f"unknown key {key!r}; " + (
        f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known)}."
    )


def _fit(value: Any, hint: Any) -> Any:
    """The value as the hint's type (strings from the environment included), or None."""
    if get_origin(hint) is Literal:
        return value if value in get_args(hint) else None
    if get_origin(hint) is tuple:
        items = [value] if isinstance(value, str) else value
        good = isinstance(items, list | tuple) and all(
            isinstance(each, str) and each.strip() for each in items
        )
        return tuple(items) if good else None
    options = get_args(hint) or (hint,)
    if bool in options:
        value = _BOOLEANS.get(value.lower()) if isinstance(value, str) else value
        return value if isinstance(value, bool) else None
    if isinstance(value, str) and str not in options:
        value = _number(value)
    if float in options and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, options) and value is not None else None


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _in_words(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(get_args(hint))
    if get_origin(hint) is tuple:
        return "a text or a list of texts"
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return " or ".join(names[each] for each in (get_args(hint) or (hint,)) if each in names)


def _line_of(text: str, key: str) -> int:
    name = re.escape(key.split(".")[-1])
    pattern = re.compile(rf"\s*(\[\s*)?[\"']?(\w+\.)?{name}\b")
    return next((n for n, line in enumerate(text.split("\n"), 1) if pattern.match(line)), 1)


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in environ.items():
        if name in _PEOPLES_VARIABLES and value:
            values[_PEOPLES_VARIABLES[name]] = value
        elif name.startswith("KITH_"):
            key = name.removeprefix("KITH_").lower()
            table, _, rest = key.partition("_")
            if table in _TABLES and rest:
                key = f"{table}.{rest}"
            values[key] = _check_value(key, value, f"environment variable {name}")
    return values


def _read_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in flags.items() if value is not None}
    return {key: _check_value(key, value, f"--{key.replace('_', '-')}") for key, value in given.items()}


def describe_settings(settings: Settings) -> list[tuple[str, str, str]]:
    """Each key, its value in words ("-": nobody chose), and where it came from; secrets are not shown."""
    values = {key: getattr(settings, key) for key in _KEYS} | {"window": settings.window or None}
    rows = [(key, _show(value), settings.origin.get(key, "default")) for key, value in values.items()]
    for key in _IN_TABLES:
        table, _, name = key.partition(".")
        value = getattr(getattr(settings, table), name)
        rows.append((key, _show(value), settings.origin.get(key, "default")))
    for name, endpoint in settings.endpoints.items():
        rows.append(
            (f"endpoints.{name}", _show(f"{endpoint.kind} {endpoint.url}"), settings.origin["endpoints"])
        )
    return rows


def _show(value: Any) -> str:
    if value is None or value in ((), ""):
        return "-"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return _PASSWORD.sub(r"\1***@", str(value))
