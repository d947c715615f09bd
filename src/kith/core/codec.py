"""Values to JSON and back, by type: what is written to the log is read back equal."""

import base64
import json
import math
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from kith.core.events import Event
from kith.core.old_logs import renew

KINDS: dict[str, type[Struct]] = {kind.__name__: kind for kind in get_args(Event)}


def add_kinds(kinds: Iterable[type[Struct]]) -> None:
    """Let the log hold events of these types, too: frozen structs of plain values, by their names."""
    KINDS.update({kind.__name__: kind for kind in kinds})


def encode_event(event: Event) -> str:
    """One event as JSON text, its kind left out (the log has a column for it)."""
    # ASCII keeps lone surrogates (file names that are not UTF-8) intact on their way through SQLite.
    return json.dumps(encode(event), ensure_ascii=True, separators=(",", ":"))


def decode_event(kind: str, body: str) -> Event:
    """The event that `encode_event` wrote.

    Raises ValueError for a kind this version does not know, and for a body that holds no such event.
    """
    try:
        data = json.loads(body)
    except RecursionError as error:
        raise ValueError(f"this is no {kind}") from error
    return build_event(kind, data)


def build_event(kind: str, data: Any) -> Event:
    """Decode an event from its JSON data. Raises ValueError as `decode_event` does."""
    if kind not in KINDS:
        raise ValueError(f"unknown event kind {kind!r}")
    try:
        now, renewed = renew(kind, data)
        event: Event | None = decode(renewed, KINDS[now])
    except (TypeError, AttributeError, KeyError, RecursionError) as error:
        raise ValueError(f"this is no {kind}") from error
    if event is None:
        raise ValueError(f"this is no {kind}")
    return event


def encode(value: Any) -> Any:
    """A value as plain JSON data. Structs become objects, bytes `{"base64": ...}`."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Struct):
        return {name: _tagged(getattr(value, name), options) for name, options in _field_options(type(value))}
    if isinstance(value, float) and not math.isfinite(value):
        return 0.0  # NaN and infinity are no JSON: SQLite would read none of the other events either
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    return value


@cache
def _field_options(kind: type[Struct]) -> tuple[tuple[str, tuple[type, ...]], ...]:
    """The fields of a struct, and the structs that each may hold."""
    hints = _hints(kind)
    return tuple((name, _structs_in(hints[name])) for name in kind.__struct_fields__)


def _tagged(item: Any, options: tuple[type, ...]) -> Any:
    """Encode a field's value, and name its type where the field allows several."""
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
    """Return the function that decodes a field of this type; None where the data is the value."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _union_reader([arg for arg in args if arg is not type(None)])
    if origin is tuple:
        return _tuple_reader(_reader(args[0]))
    if hint is bytes:
        return lambda data: base64.b64decode(data["base64"])
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _struct_reader(hint)
    return float if hint is float else None


def _union_reader(options: list[Any]) -> Callable[[Any], Any] | None:
    if len(options) == 1:
        return _reader(options[0])
    first = _reader(options[0])
    named = {getattr(option, "__name__", ""): _reader(option) for option in reversed(options)}

    def read(data: Any) -> Any:
        tagged = isinstance(data, dict) and "type" in data
        chosen = named.get(data["type"], first) if tagged else first
        return data if chosen is None else chosen(data)

    return read


def _tuple_reader(item: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    if item is None:
        return tuple
    return lambda data: tuple([None if each is None else item(each) for each in data])


def _struct_reader(kind: type[Struct]) -> Callable[[Any], Any]:
    names = _hints(kind).keys()
    special: list[tuple[str, Callable[[Any], Any]]] | None = None  # fields that data is not enough for

    def read(data: Any) -> Any:
        nonlocal special
        if special is None:  # only now, since a type may hold itself
            readers = ((name, _reader(hint)) for name, hint in _hints(kind).items())
            special = [(name, reader) for name, reader in readers if reader]
        known = {**data} if data.keys() <= names else {name: data[name] for name in data if name in names}
        for name, reader in special:
            item = known.get(name)
            if item is not None:
                known[name] = reader(item)
        return kind(**known)

    return read


@cache
def _hints(kind: type[Struct]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {name: hints[name] for name in kind.__struct_fields__}


def _structs_in(hint: Any) -> tuple[type, ...]:
    if isinstance(hint, type) and issubclass(hint, Struct):
        return (hint,)
    return tuple(found for arg in get_args(hint) for found in _structs_in(arg))
