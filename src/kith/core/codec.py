"""Values to JSON and back, by type: what is written to the log is read back equal."""

import base64
import json
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from kith.core.events import Event

KINDS: dict[str, type] = {kind.__name__: kind for kind in get_args(Event)}


def encode_event(event: Event) -> str:
    """One event as JSON text, its kind left out (the log has a column for it)."""
    # ASCII keeps lone surrogates (file names that are not UTF-8) intact on their way through SQLite.
    return json.dumps(encode(event), ensure_ascii=True, separators=(",", ":"))


def decode_event(kind: str, body: str) -> Event:
    """The event that `encode_event` wrote.

    Raises ValueError for a kind this version does not know, and for a body that holds no such event.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown event kind {kind!r}")
    try:
        event: Event | None = decode(json.loads(body), KINDS[kind])
    except (TypeError, AttributeError, KeyError, RecursionError) as error:
        raise ValueError(f"this is no {kind}") from error
    if event is None:
        raise ValueError(f"this is no {kind}")
    return event


def encode(value: Any) -> Any:
    """A value as plain JSON data. Dataclasses become objects, bytes `{"base64": ...}`."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _encode_field(value, field.name) for field in fields(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return 0.0  # NaN and infinity are no JSON: SQLite would read none of the other events either
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    return value


def _encode_field(value: Any, name: str) -> Any:
    item = getattr(value, name)
    kind: type = type(value)
    options = _dataclasses_in(_hints(kind)[name])
    return _tagged(item, options)


def _tagged(item: Any, options: tuple[type, ...]) -> Any:
    """Where a field may hold several types, the object says which one it is."""
    if len(options) > 1 and isinstance(item, tuple):
        return [_tagged(each, options) for each in item]
    if len(options) > 1 and isinstance(item, options):
        return {"type": type(item).__name__, **encode(item)}
    return encode(item)


def decode(data: Any, hint: Any) -> Any:
    """JSON data as a value of type `hint`; missing fields take their defaults, unknown ones are left out."""
    read = _reader(hint)
    return data if read is None or data is None else read(data)


@cache  # made once for each type: a long session is read many thousand times
def _reader(hint: Any) -> Callable[[Any], Any] | None:
    """What makes a value of data that is not None; None where the data is the value."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _union_reader([arg for arg in args if arg is not type(None)])
    if origin is tuple:
        item = args[0]
        return tuple if _reader(item) is None else lambda data: tuple(decode(each, item) for each in data)
    if hint is bytes:
        return lambda data: base64.b64decode(data["base64"])
    if isinstance(hint, type) and is_dataclass(hint):
        return _dataclass_reader(hint)
    return float if hint is float else None


def _union_reader(options: list[Any]) -> Callable[[Any], Any] | None:
    if len(options) == 1:
        return _reader(options[0])
    named = {getattr(option, "__name__", ""): option for option in reversed(options)}

    def read(data: Any) -> Any:
        tagged = isinstance(data, dict) and "type" in data
        return decode(data, named.get(data["type"], options[0]) if tagged else options[0])

    return read


def _dataclass_reader(kind: type) -> Callable[[Any], Any]:
    readers: dict[str, Callable[[Any], Any] | None] = {}

    def read(data: Any) -> Any:
        if not readers:  # a type may hold itself, so its fields come later
            readers.update((name, _reader(hint)) for name, hint in _hints(kind).items())
        known = {name: item for name, item in data.items() if name in readers}
        for name, item in known.items():
            if item is not None and (read_field := readers[name]):
                known[name] = read_field(item)
        return kind(**known)

    return read


@cache
def _hints(kind: type) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: hint for name, hint in get_type_hints(kind).items() if name in names}


def _dataclasses_in(hint: Any) -> tuple[type, ...]:
    if isinstance(hint, type) and is_dataclass(hint):
        return (hint,)
    return tuple(found for arg in get_args(hint) for found in _dataclasses_in(arg))
