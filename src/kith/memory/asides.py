"""What a person did themselves between tasks: it stands beside the tasks, and cuts none in two."""

from collections.abc import Iterable, Iterator
from typing import Final, Protocol, TypeVar

from kith.core.events import Applied, Event, Resumed, RunEnded, RunStarted

KIND: Final = "command"  # of the run that holds such a command
APPLY: Final = "apply waiting"  # of the run in which a change that waited is applied after all
KINDS: Final = (KIND, APPLY)


class _Recorded(Protocol):
    @property
    def event(self) -> Event: ...


R = TypeVar("R", bound=_Recorded)


def is_aside(event: Event) -> bool:
    """Whether a command of the person's own begins, or a change that waited is applied."""
    return isinstance(event, RunStarted) and event.options.kind in KINDS


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
