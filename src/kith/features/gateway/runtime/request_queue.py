"""The one queue before the model: so many at once, so many waiting, and everybody else hears when to come."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from kith.features.gateway.openai.replies import TurnedAwayError

_NEW: Final = 0.2  # weight of the newest answer in what is usual


@dataclass(slots=True)
class RequestQueue:
    """Lets `parallel` requests in at once (0: none yet), while at most `room` others wait in their order."""

    room: int
    parallel: int = 0
    running: int = 0
    usual_s: float = 1.0
    closed: bool = False
    _waiting: "deque[asyncio.Future[None]]" = field(default_factory=deque)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait, and be in. Raises TurnedAwayError when too many wait, or nobody is let in any more."""
        await self._wait()
        began = time.monotonic()
        try:
            yield
        finally:
            self.usual_s += _NEW * (time.monotonic() - began - self.usual_s)
            self._leave()

    def open(self, parallel: int) -> None:
        """From now on so many are let in at once."""
        self.parallel = parallel
        self._call()

    def close(self) -> None:
        """Let nobody in any more; those who are in stay."""
        self.closed = True
        for turn in self._waiting:
            if not turn.done():
                turn.set_exception(_ending())

    async def _wait(self) -> None:
        if self.closed:
            raise _ending()
        if self.running < self.parallel and not self._waiting:
            self.running += 1
            return
        if self.waiting >= self.room:
            wait_s = self.usual_s * (self.waiting + 1) / max(1, self.parallel)
            raise TurnedAwayError(f"{self.waiting} requests wait already; come again later.", 429, wait_s)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._leave()  # it was let in just as it left
            raise
        finally:
            if turn in self._waiting:
                self._waiting.remove(turn)

    def _leave(self) -> None:
        self.running -= 1
        self._call()

    def _call(self) -> None:
        """Let in whoever is next."""
        while self._waiting and self.running < self.parallel and not self.closed:
            turn = self._waiting.popleft()
            if not turn.done():
                self.running += 1
                turn.set_result(None)


def _ending() -> TurnedAwayError:
    return TurnedAwayError("This server is about to end; come again later.", 503)
