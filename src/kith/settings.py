"""What the user chose: defaults, then the user's file, the project's file, the environment, the flags."""

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
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
class Settings:
    """Every choice, read once. `origin` tells where each value that is not a default came from."""

    model: str = ""
    window: int = 16_384  # tokens; what Ollama is asked for on every call, never more than the model has
    think: bool | None = None
    stall: float = 600.0  # seconds without a byte before a server counts as hung
    check: tuple[str, ...] = ()
    check_timeout: float = 900.0
    command_timeout: float = 120.0
    tries: int = 3
    max_steps: int = 50
    read_only: bool = False
    offline: bool = False
    sandbox: Literal["auto", "require", "off"] = "auto"
    max_file_bytes: int = 1_000_000
    max_change_bytes: int = 2_000_000
    sampling: Sampling = Sampling()
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    ollama_host: str = ""
    openai_base_url: str = ""
    openai_api_key: str = ""
    state: Path = Path()
    cache: Path = Path()
    config: Path = Path()
    origin: Mapping[str, str] = field(default_factory=dict)


_NOT_KEYS = {"origin", "state", "cache", "config", "openai_api_key", "sampling", "endpoints"}
_HINTS = get_type_hints(Settings)
_KEYS = {each.name: _HINTS[each.name] for each in fields(Settings) if each.name not in _NOT_KEYS}
_SAMPLING = get_type_hints(Sampling)
_BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
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
    layers.append(("flag", {key: value for key, value in flags.items() if value is not None}))
    merged: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for source, layer in layers:
        for key, value in layer.items():
            if source == str(project_file) and key != "check" and not _narrows(key, value, merged):
                continue
            merged[key] = value
            origin[key] = source
    picks = {key.split(".")[1]: merged.pop(key) for key in list(merged) if key.startswith("sampling.")}
    return replace(
        Settings(),
        **merged,
        sampling=Sampling(**picks),
        state=state,
        cache=cache,
        config=config,
        origin=origin,
    )


def _narrows(key: str, value: Any, merged: Mapping[str, Any]) -> bool:
    """Whether a project's value asks for no more than the user already allows."""
    present = merged.get(key, getattr(Settings(), key))
    return bool(value >= present if isinstance(value, bool) else value <= present)


def find_folders(environ: Mapping[str, str] = os.environ) -> tuple[Path, Path, Path]:
    """Where configuration, state and cache live (XDG on Linux). Raises UsageError without a home."""
    import platformdirs

    if not environ.get("HOME") and os.name != "nt":
        raise UsageError("HOME is not set, so kith has nowhere to keep its log; set HOME or XDG_STATE_HOME.")
    dirs = platformdirs.PlatformDirs("kith", appauthor=False)
    return dirs.user_config_path, dirs.user_state_path, dirs.user_cache_path


def _read_file(path: Path, allowed: set[str] | None) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.") from error
    values: dict[str, Any] = {}
    for key, value in _flatten(data):
        where = f"{path}, line {_line_of(text, key)}"
        if allowed is not None and key in _KEYS and key not in allowed:
            raise UsageError(f"{where}: a project may not set {key!r}; put it into your own configuration.")
        if key == "endpoints" and allowed is None:
            values[key] = {name: _read_endpoint(name, each, where) for name, each in value.items()}
        else:
            values[key] = _check_value(key, value, where, allowed)
    return values


def _flatten(data: Mapping[str, Any]) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in data.items():
        if key == "sampling" and isinstance(value, dict):
            pairs += [(f"sampling.{name}", item) for name, item in value.items()]
        else:
            pairs.append((key, value))
    return pairs


def _read_endpoint(name: str, data: Any, where: str) -> Endpoint:
    kinds = get_args(get_type_hints(Endpoint)["kind"])
    if not isinstance(data, dict) or not isinstance(data.get("url"), str):
        raise UsageError(f"{where}: endpoint {name!r} needs a url.")
    unknown = set(data) - {"kind", "url", "key_env"}
    if unknown or data.get("kind", "openai") not in kinds:
        raise UsageError(f"{where}: endpoint {name!r} has kind (one of {', '.join(kinds)}), url and key_env.")
    return Endpoint(data.get("kind", "openai"), data["url"], str(data.get("key_env", "")))


def _check_value(key: str, value: Any, where: str, allowed: set[str] | None = None) -> Any:
    """The value in its key's type. Raises UsageError naming the nearest key, or what is expected."""
    if key.startswith("sampling."):
        hint: Any = _SAMPLING.get(key.split(".", 1)[1])
    else:
        hint = _KEYS.get(key)
    if hint is None:
        known = sorted(allowed or [*_KEYS, "endpoints", *(f"sampling.{name}" for name in _SAMPLING)])
        close = difflib.get_close_matches(key, known, 1)
        help = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known)}."
        raise UsageError(f"{where}: unknown key {key!r}; {help}")
    fitted = _fit(value, hint)
    if fitted is None:
        raise UsageError(f"{where}: {key} must be {_in_words(hint)}, not {value!r}.")
    return fitted


def _fit(value: Any, hint: Any) -> Any:
    """The value as the hint's type (strings from the environment included), or None."""
    if get_origin(hint) is Literal:
        return value if value in get_args(hint) else None
    if get_origin(hint) is tuple:
        items = [value] if isinstance(value, str) else value
        good = isinstance(items, list) and all(isinstance(item, str) for item in items)
        return tuple(items) if good else None
    options = get_args(hint) or (hint,)
    if bool in options and isinstance(value, str):
        return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}.get(
            value.lower()
        )
    if bool in options or isinstance(value, bool):
        return value if isinstance(value, bool) and bool in options else None
    if (int in options or float in options) and isinstance(value, str):
        match = re.fullmatch(r"-?\d+(\.\d+)?", value.strip())
        value = None if match is None else float(value) if match[1] else int(value)
    if float in options and isinstance(value, (int, float)):
        return float(value)
    return value if isinstance(value, options) and value is not None else None


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
            if key.startswith("sampling_"):
                key = "sampling." + key.removeprefix("sampling_")
            values[key] = _check_value(key, value, f"environment variable {name}")
    return values


def describe_settings(settings: Settings) -> list[tuple[str, str, str]]:
    """Each key, its value in words, and where it came from; secrets are not shown."""
    rows = [(key, _show(getattr(settings, key)), settings.origin.get(key, "default")) for key in _KEYS]
    for name in _SAMPLING:
        key = f"sampling.{name}"
        rows.append((key, _show(getattr(settings.sampling, name)), settings.origin.get(key, "default")))
    for name, endpoint in settings.endpoints.items():
        rows.append((f"endpoints.{name}", f"{endpoint.kind} {endpoint.url}", settings.origin["endpoints"]))
    return rows


def _show(value: Any) -> str:
    if value is None or value in ((), ""):
        return "-"
    return (
        ", ".join(map(str, value))
        if isinstance(value, tuple)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )
