"""The one writer of a session: events are written first, then sent to the listening screens."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import IO, TypeVar

from kith.context.redact import Redactor
from kith.core.errors import KithError, UnrecordedError
from kith.core.events import Applied, Event, RunStarted, is_transient
from kith.core.locks import let_go
from kith.memory.live import LiveTail, Pieces, sweep
from kith.memory.log import Log
from kith.memory.past import Past

T = TypeVar("T")
Listener = Callable[[Event, tuple[str, ...]], None]


@contextmanager
def telling(applied: Applied) -> Iterator[None]:
    """Raise UnrecordedError where the change is in the files, but the log cannot be written."""
    try:
        yield
    except KithError as error:
        raise UnrecordedError(applied.change_id, error, applied.files) from error


class Session:
    """The one writer of one session; listeners (screens) get every event after it is written."""

    def __init__(self, log: Log, id: str, listeners: Sequence[Listener] = ()) -> None:
        self.log, self.id = log, id
        self.listeners = list(listeners)
        self.keep_back(Redactor())
        self._lock: IO[str] | None = None
        self._live = LiveTail(log, id)
        self._last = 0  # the number of the last event that was written
        self._applied: Applied | None = None  # by the task that is at work
        self._untold: list[tuple[Event, tuple[str, ...]]] | None = None  # while several are written at once

    def __enter__(self) -> "Session":
        self._lock = self.log.lock(self.id)
        self.log.sweep_locks()
        self._last = self.log.last(self.id)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.end()
        sweep(self.log)
        if self._lock:
            let_go(self._lock)

    def keep_back(self, redactor: Redactor) -> None:
        """From now on, let nothing into the log, nor into what is shown of pieces, that this takes out."""
        self._redactor, self._pieces = redactor, Pieces(redactor)

    def emit(self, event: Event, path: tuple[str, ...] = ()) -> None:
        """Write an event without its secrets (unless it is only shown), then tell the listeners the same."""
        if is_transient(event):
            for rest in self._pieces.turn(event, path):
                self._show(rest, path)
            if shown := self._pieces.take(event, path):
                self._show(shown, path)
            return
        for rest in self._pieces.end(event, path):
            self._show(rest, path)
        event = self._redactor.strip(event)
        if isinstance(event, Applied | RunStarted):
            self._applied = event if isinstance(event, Applied) else None
        with telling(self._applied) if self._applied else nullcontext():
            self._last = self.log.append(self.id, event, path)
        self._live.end()
        self._tell(event, path)

    def strip(self, value: T) -> T:
        """A value without its secrets, as the log may hold it."""
        return self._redactor.strip(value)

    def _show(self, event: Event, path: tuple[str, ...]) -> None:
        self._live.show(event, path, self._last)
        self._tell(event, path)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Write everything in this block, and take from the inbox, whole or not at all.

        Listeners are told afterwards, since a writer blocks other writers.
        """
        last, self._untold = self._last, []
        try:
            with self.log.at_once():
                yield
        except BaseException:
            self._last, self._untold = last, None
            raise
        untold, self._untold = self._untold, None
        for event, path in untold:
            self._tell(event, path)

    def _tell(self, event: Event, path: tuple[str, ...]) -> None:
        if self._untold is not None:
            self._untold.append((event, path))
            return
        for listener in self.listeners:
            listener(event, path)

    def past(self) -> Past:
        """Fold the session's events."""
        return self.log.past(self.id)
