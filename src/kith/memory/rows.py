"""The log's rows as events: quick for many, and one that holds no event costs only itself."""

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kith.core.codec import build_event, decode_event
from kith.core.events import Event

Row = tuple[int, float, str, str, str]  # number, when, path, kind, body


@dataclass(frozen=True, slots=True)
class Record:
    """One logged event: its number, when (seconds since the epoch), and in which step it happened."""

    seq: int
    at: float
    path: tuple[str, ...]
    event: Event


@contextmanager
def without_collections() -> Iterator[None]:
    """Python looks for no cycles meanwhile: events hold none, and the search takes a fifth longer."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def decode_all(rows: Sequence[Row]) -> list[Event | None]:
    """The events of some rows; read as one text, since many small ones take far longer."""
    try:
        data = json.loads(f"[{','.join(row[4] for row in rows)}]")
        if len(data) == len(rows):
            return [build_event(row[3], each) for row, each in zip(rows, data, strict=True)]
    except (ValueError, RecursionError):
        pass
    return [try_decode(row[3], row[4]) for row in rows]


def try_decode(kind: str, body: str) -> Event | None:
    """The event, None for what is none: one bad row must not cost the others."""
    try:
        return decode_event(kind, body)
    except ValueError:
        return None
