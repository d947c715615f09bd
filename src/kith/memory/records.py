"""The log's rows as events: quick for many, and one that holds no event costs only itself."""

import gc
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from kith.core.codec import build_event, decode_event
from kith.core.events import Applied, Event, Resumed, RunEnded, RunStarted

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


# --- what a person did between tasks: it stands beside them, and cuts none in two ------------


COMMAND: Final = "command"  # of the run that holds such a command
APPLY: Final = "apply waiting"  # of the run in which a change that waited is applied after all
ASIDES: Final = (COMMAND, APPLY)


class _Recorded(Protocol):
    @property
    def event(self) -> Event: ...


R = TypeVar("R", bound=_Recorded)


def is_aside(event: Event) -> bool:
    """Whether a command of the person's own begins, or a change that waited is applied."""
    return isinstance(event, RunStarted) and event.options.kind in ASIDES


def without_asides(records: Iterable[R], *, changes: bool = False) -> Iterator[R]:
    """The records of everything else; with `changes`, also of those that such commands made."""
    aside = False
    for record in records:
        if isinstance(record.event, RunStarted | Resumed):  # whatever it was, the one before is over
            aside = is_aside(record.event)
        if not aside or (changes and isinstance(record.event, Applied)):
            yield record
        elif isinstance(record.event, RunEnded):
            aside = False
