"""What the runtime did, for Prometheus: requests, tokens, seconds, and the queue as it is now."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from kith.core.events import Called, Delta, Event
from kith.core.model import Emit
from kith.features.gateway.openai.replies import TurnedAwayError
from kith.features.gateway.runtime.request_queue import RequestQueue

_SECONDS: Final = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)


class Counts:
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
