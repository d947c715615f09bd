"""The one writer of a session: what happens is written first, then told to the faces that listen."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO

from kith.core.errors import BusyError, KithError
from kith.core.events import Event, is_transient
from kith.memory.live import LiveTail
from kith.memory.locks import hold
from kith.memory.log import Log
from kith.memory.past import Past

Listener = Callable[[Event, tuple[str, ...]], None]


class Session:
    """The one writer of one session; listeners (faces) hear every event after it is written."""

    def __init__(self, log: Log, id: str) -> None:
        self.log, self.id = log, id
        self.listeners: list[Listener] = []
        self._lock: IO[str] | None = None
        self._live = LiveTail(log, id)
        self._last = 0  # the number of the last event that was written

    def __enter__(self) -> "Session":
        folder = self.log.path.parent / "locks"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = hold(folder / f"{self.id}.lock")
        except OSError as error:
            raise KithError(f"{folder} cannot be written: {error.strerror}.") from error
        if self._lock is None:
            raise BusyError(f"Session {self.id} is open in another kith.")
        self._last = self.log.last(self.id)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.end()
        if self._lock:
            Path(self._lock.name).unlink(missing_ok=True)
            self._lock.close()

    def emit(self, event: Event, path: tuple[str, ...] = ()) -> None:
        """Write an event (unless it is only shown), then tell the listeners."""
        if is_transient(event):
            self._live.show(event, path, self._last)
        else:
            self._last = self.log.append(self.id, event, path)
            self._live.end()
        for listener in self.listeners:
            listener(event, path)

    def past(self) -> Past:
        """What the session's events add up to."""
        return self.log.past(self.id)
