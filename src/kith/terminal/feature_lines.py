"""Lines of features: what they show of a session's events beside the line that each event has anyway."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from kith.core.events import Event
from kith.settings.features import all_parts

Line = tuple[str, str]  # a style, and what is said
TellLines = Callable[[Event], Iterable[Line]]


def feature_lines(event: Event) -> Iterator[Line]:
    """All lines of all features for an event; most events have none."""
    for tell in _tellers():
        yield from tell(event)


@cache
def _tellers() -> tuple[TellLines, ...]:
    return tuple(all_parts(lambda each: each.lines))
