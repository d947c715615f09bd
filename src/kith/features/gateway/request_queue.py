"""The one queue before the model, and the runtime's figures for Prometheus."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from msgspec import Struct, field
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from kith.core.events import Called, Delta, Event
from kith.core.model import Emit
from kith.features.gateway.openai_replies import TurnedAwayError

_NEW: Final = 0.2  # weight of the newest answer in what is usual


class RequestQueue(Struct):
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
        """Let in the next request."""
        while self._waiting and self.running < self.parallel and not self.closed:
            turn = self._waiting.popleft()
            if not turn.done():
                self.running += 1
                turn.set_result(None)


def _ending() -> TurnedAwayError:
    return TurnedAwayError("This server is about to end; come again later.", 503)


# What the runtime did, for Prometheus: requests, tokens, seconds, and the queue as it is now.

_SECONDS: Final = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)


class RuntimeCounts:
    """The figures of one runtime."""

    def __init__(self, queue: RequestQueue) -> None:
        own = self.registry = CollectorRegistry()
        what = ("role",)
        self._requests = Counter(
            "kith_runtime_requests", "Requests, by role and how they ended.", (*what, "outcome"), registry=own
        )
        self._tokens = Counter(
            "kith_runtime_tokens", "Tokens: read, cached, written.", ("kind",), registry=own
        )
        self._seconds = Histogram(
            "kith_runtime_seconds", "From a request to its end.", what, buckets=_SECONDS, registry=own
        )
        self._first = Histogram(
            "kith_runtime_first_piece_seconds", "Until the first piece.", what, buckets=_SECONDS, registry=own
        )
        now: dict[str, Callable[[], float]] = {
            "running": lambda: queue.running,
            "waiting": lambda: queue.waiting,
            "parallel": lambda: queue.parallel,
        }
        for name, look in now.items():
            Gauge(f"kith_runtime_{name}", f"Requests: {name} now.", registry=own).set_function(look)

    @contextmanager
    def request(self, role: str, listen: Emit) -> Iterator[Emit]:
        """Count one request; what it yields is to hear what happens, and tells `listen`."""
        began, first = time.monotonic(), True

        def hear(event: Event) -> None:
            nonlocal first
            if isinstance(event, Delta) and first:
                first = False
                self._first.labels(role).observe(time.monotonic() - began)
            elif isinstance(event, Called):
                usage = event.usage
                for kind, number in (
                    ("read", usage.new),
                    ("cached", usage.cached),
                    ("written", usage.output),
                ):
                    self._tokens.labels(kind).inc(number)
            listen(event)

        outcome = "failed"
        try:
            yield hear
            outcome = "answered"
        except TurnedAwayError:
            outcome = "refused"
            raise
        except asyncio.CancelledError:
            outcome = "left"
            raise
        finally:
            self._requests.labels(role, outcome).inc()
            if outcome != "refused":
                self._seconds.labels(role).observe(time.monotonic() - began)

    def text(self) -> bytes:
        """All of them, in Prometheus' text format."""
        return generate_latest(self.registry)
