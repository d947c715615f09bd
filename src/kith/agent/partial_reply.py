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
            message = Message("assistant", (Text(said),), heard.model, complete=False)
            session.emit(Said(thread, message), heard.path)
        raise
    finally:
        session.listeners.remove(heard.take)


class _Pieces:
    """The words of a thread's reply so far, as they arrive."""

    def __init__(self, thread: str) -> None:
        self.text, self.model = "", ""
        self.path: tuple[str, ...] = ()  # where the reply is written
        self._thread, self._heard, self._over = thread, False, False

    def take(self, event: Event, path: tuple[str, ...]) -> None:
        """Hear one more event."""
        match event:
            case Said():  # a reply follows in the thread in which somebody spoke last
                self._heard, self.path, self.text = event.thread == self._thread, path, ""
            case Delta(text, "text") if self._heard and path[: len(self.path)] == self.path:
                self.text, self._over = text if self._over else self.text + text, False
                self.path = path
            case Called(model=model, stop=stop):
                self.model, self._over = model, stop == "error"  # if it is asked again, it begins anew
            case Engaged(model=model):
                self.model = model
