"""Check settings: the keys that exist, and the values that fit each key."""

import difflib
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Meta

from kith.core.errors import UsageError
from kith.core.hosts import parse_host
from kith.core.values import Sampling
from kith.settings.features import known_features
from kith.settings.files import KeyPlace
from kith.settings.values import Building, Routing, Settings

# Groups of settings of kith's own.
OWN_TABLES: Mapping[str, type] = {
    "sampling": Sampling,
    "build": Building,
    "route": Routing,
}
# Tables whose keys are names that the person chose, and the keys of other things.
NAMED = ("endpoints", "gates", "mcp", "pools", "projects")
LISTS = ("hooks",)  # of tables
_KEYS_OF_SERVICES = ("openai_api_key", "anthropic_api_key", "gemini_api_key")
_NOT_KEYS = {
    "origin",
    "sections",
    "brought",
    "state",
    "cache",
    "config",
    *_KEYS_OF_SERVICES,
    *NAMED,
    *LISTS,
    *OWN_TABLES,
}
_HINTS = get_type_hints(Settings)
KEYS = {name: _HINTS[name] for name in Settings.__struct_fields__ if name not in _NOT_KEYS}
_BOOLEANS = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}
_LISTED = 20  # names that a sentence may hold


@cache
def sections() -> Mapping[str, type]:
    """The tables of features, also of disabled ones: their settings may stay in the file."""
    return {each.name: each.settings.load() for each in known_features() if each.settings}


@cache
def tables() -> Mapping[str, type]:
    """Every group of settings: each is a table in the file, and its keys are called `table.key`."""
    return {**OWN_TABLES, **sections()}


@cache
def keys_in_tables() -> Mapping[str, Any]:
    """`table.key` -> its type."""
    return {
        f"{table}.{name}": hint
        for table, kind in tables().items()
        for name, hint in get_type_hints(kind).items()
        if kind is not Sampling or name not in _HINTS  # what has a key of its own (think) is not said twice
    }


def is_key(key: str) -> bool:
    """True if a setting or group of settings exists."""
    return key in KEYS or key in (*NAMED, *LISTS, *tables()) or key.partition(".")[0] in tables()


def has_value(key: str) -> bool:
    """True if a setting or group exists; for a key in a group, if the group has it."""
    return key in (*KEYS, *NAMED, *LISTS, *tables(), *keys_in_tables())


def nearest_key(key: str) -> str:
    """The setting that a slip may have made into `key`; "" when none is like it."""
    return next(iter(_near(key, [*KEYS, *keys_in_tables()])), "")


def check_value(key: str, value: Any, where: KeyPlace | str, allowed: set[str] | None = None) -> Any:
    """The value in its key's type. Raises UsageError naming the nearest key, or what is expected."""
    if key in (*NAMED, *tables()):
        raise UsageError(f"{_at(where)}{key!r} is a table of its own, not a value.")
    if key in LISTS:
        raise UsageError(f"{_at(where)}{key!r} is a list of tables, each written by hand below [[{key}]].")
    if key in _KEYS_OF_SERVICES:
        raise UsageError(f"{where}: {key!r} cannot be set in a file; set the variable {key.upper()}.")
    hint: Any = keys_in_tables().get(key) or KEYS.get(key)
    if hint is None:
        known = sorted(allowed or [*KEYS, *NAMED, *LISTS, *tables(), *keys_in_tables()])
        raise UsageError(f"{_at(where)}{unknown_key(key, known)}")
    fitted = fit(value, hint)
    if fitted is None and _has_empty(value) and get_origin(hint) is tuple:
        instead = "; to run none, name `none`" if key == "check" else ""
        raise UsageError(f"{_at(where)}{key} is empty{instead}.")
    if fitted is None:
        raise UsageError(f"{_at(where)}{key} must be {in_words(hint)}, not {_shown(value)}.")
    least, most = _limits_of(key)
    if least is not None and not fitted >= least:
        raise UsageError(f"{_at(where)}{key} must be at least {least:.15g}, not {fitted:.15g}.")
    if most is not None and fitted > most:
        raise UsageError(f"{_at(where)}{key} must be at most {most:.15g}, not {fitted:.15g}.")
    if key == "check" and ("none" in fitted[1:] or fitted[:1] == ("none",) != fitted):
        raise UsageError(f"{_at(where)}check is either 'none' or commands, not both.")
    return _clean_hosts(fitted, where) if key == "hosts" else fitted


def _at(where: KeyPlace | str) -> str:
    """A place in front of what is wrong there; "" where the person has just said it."""
    return f"{where}: " if where else ""


def _shown(value: Any) -> str:
    """A value as it is written, a list by its parts."""
    return ", ".join(map(repr, value)) if isinstance(value, list | tuple) else repr(value)


def _limits_of(key: str) -> tuple[float | None, float | None]:
    """The least and the most that a number may be, by the `Meta` of its field."""
    table, _, name = key.rpartition(".")
    hint = get_type_hints(tables()[table] if table else Settings, include_extras=True)[name]
    told = next((each for each in get_args(hint) if isinstance(each, Meta)), Meta())
    return told.ge, told.le


def _clean_hosts(hosts: Sequence[str], where: KeyPlace | str) -> tuple[str, ...]:
    try:
        return tuple(str(parse_host(each)) for each in hosts)
    except ValueError as error:
        raise UsageError(f"{_at(where)}{error}") from error


def flatten(data: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The keys and values of a file; those of a group are called `table.key`."""
    pairs: list[tuple[str, Any]] = []
    for key, value in data.items():
        if key in tables() and isinstance(value, dict):
            pairs += [(f"{key}.{name}", item) for name, item in value.items()]
        else:
            pairs.append((key, value))
    return pairs


def unknown_key(key: str, known: Sequence[str]) -> str:
    """Explain that a key does not exist: name the nearest, or all of a short list."""
    close = _near(key, known)
    all_of_them = f"there are: {', '.join(known)}." if len(known) <= _LISTED else "`kith config` lists them."
    return f"unknown key {key!r}; " + (f"did you mean {close[0]!r}?" if close else all_of_them)


def _near(key: str, known: Sequence[str]) -> list[str]:
    inside = [each for each in known if each.endswith(f".{key}")]  # its table was forgotten
    close = inside or difflib.get_close_matches(key, known)
    return sorted(
        close, key=lambda each: sorted(each) != sorted(key)
    )  # letters changed places: a common slip


def fit(value: Any, hint: Any) -> Any:
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


def _has_empty(value: Any) -> bool:
    """True if a text, or one of several, is empty."""
    texts = value if isinstance(value, list | tuple) else (value,)
    return any(isinstance(each, str) and not each.strip() for each in texts)


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def in_words(hint: Any) -> str:
    """Name a type of values for an error."""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(get_args(hint))
    if get_origin(hint) is tuple:
        return "a text or a list of texts"
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return " or ".join(names[each] for each in (get_args(hint) or (hint,)) if each in names)
