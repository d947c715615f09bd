"""Keep what a model had said of its reply when a task is stopped."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from kith.core.events import Called, Delta, Engaged, Event, Said
from kith.core.values import Message, Text
from kith.memory.session import Session

T = TypeVar("T")


async def keep_partial(session: Session, thread: str, work: Awaitable[T]) -> T:
    """Do the work; if it is cancelled, what was being said in the thread joins it, marked as cut."""
    heard = _Pieces(thread)
    session.listeners.append(heard.take)
    try:
        return await work
    except asyncio.CancelledError:
        if said := heard.text.strip():
            session.emit(Said(thread, Message("assistant", (Text(said),), heard.model, complete=False)))
        raise
    finally:
        session.listeners.remove(heard.take)


class _Pieces:
    """The words of a thread's reply so far, as they arrive."""

    def __init__(self, thread: str) -> None:
        self.text, self.model = "", ""
        self._thread = thread
        self._path: tuple[str, ...] | None = None  # where somebody spoke last in this thread

    def take(self, event: Event, path: tuple[str, ...]) -> None:
        """Hear one more event."""
        match event:
            case Said():
                self._path = path if event.thread == self._thread else None
                self.text = ""
            case Delta(text, "text") if path == self._path:
                self.text += text
            case Called(stop="error") if path == self._path:
                self.text = ""  # it is asked again
            case Called(model=model) | Engaged(model=model):
                self.model = model
