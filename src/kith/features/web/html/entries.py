"""The items of a session's log: which events each of them tells, still encoded until somebody looks."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from kith.core.codec import decode_event
from kith.core.events import Event, Notice
from kith.memory.live import Seen

_E = TypeVar("_E")


@dataclass(slots=True)
class Entry:
    """One item: its element's id, what it is, its events, and the items inside it.

    `number` counts the steps of models from 1 (0 for what is none). `call` is the tool call that an action
    carries out. With `bar` it is part of the time line.
    """

    id: str
    kind: str
    seen: list[Seen] = field(default_factory=list)
    inside: list["Entry"] = field(default_factory=list)
    number: int = 0
    call: str = ""
    bar: bool = False

    @property
    def at(self) -> float:
        """When its first event happened, in seconds since the epoch."""
        return self.seen[0].at

    @property
    def size(self) -> int:
        """How long its events are, in characters: roughly, how much of a page it takes."""
        parts = (seen for each in self.inside for seen in each.seen[1:])
        return sum(len(each.body) for each in (*self.seen, *parts))

    @property
    def events(self) -> Iterator[Event]:
        return map(read_event, self.seen)

    def first(self, kind: type[_E]) -> _E | None:
        """Its first event of a kind."""
        found = (read_event(each) for each in self.seen if each.kind == kind.__name__)
        return next((each for each in found if isinstance(each, kind)), None)


@lru_cache(maxsize=2_048)  # an item asks for its events again and again while it is drawn
def read_event(seen: Seen) -> Event:
    """The event itself; one that cannot be read says so."""
    try:
        return decode_event(seen.kind, seen.body)
    except (ValueError, TypeError, KeyError):
        return Notice(f"An event of kind {seen.kind} cannot be read.", "warning")


def read_body(seen: Seen) -> dict[str, Any]:
    """The event as plain data, which is enough to find its place, and far quicker."""
    try:
        body = json.loads(seen.body)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
