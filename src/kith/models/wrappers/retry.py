"""A model that waits for its turn, and is asked again after a failure that may pass."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import LONG_WAIT_S, ModelError
from kith.core.events import Delta, Event, Notice, Progress
from kith.core.model import Emit, Model, Prompt, Tab, Wrapped
from kith.core.numbers import time_text
from kith.core.values import Reply
from kith.models.providers.facts import ASKED, QUEUED, READING
from kith.models.providers.faults import BrokenReplyError, GarbledReplyError

_LONGEST_S: Final = 60.0  # between two tries, where the server names no time
_QUEUES: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Semaphore]] = WeakKeyDictionary()


class RetryLimits(Struct, frozen=True):
    """Limits for sending a failed call again: retries, and seconds since the first try."""

    retries: int = 4
    seconds: float = 180.0


RETRIES: Final = RetryLimits()

# Is the time that a server asks for, longer than the limits allow, to be waited for?
Agree = Callable[[ModelError], Awaitable[bool]]


async def wait_for_nobody(error: ModelError) -> bool:
    """No long waits."""
    return False


class Retrying(Wrapped, frozen=True):
    """`model`, asked again within its `limits`.

    Waits double from `first_s`; half of each is drawn evenly ("equal jitter",
    https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). A server's own delay
    counts instead, however long; one that the limits do not allow is waited for only where `agree` says so.
    An accepted request (being read, or already answered in part) is not sent again. The exception is a broken
    reply, which is asked for once more, since no server works on it. That one is a call of its own, so only
    the Retrying around the meter has `accepted`; it alone waits long, beside what is measured. The time in
    which an answered call was refused is the reply's `refused_s`. `queue` is the server's, for each try.
    `sleep`, `draw` (0 to 1) and `clock` are arguments for tests.
    """

    limits: RetryLimits = RETRIES
    first_s: float = 1.0
    accepted: bool = False
    queue: "Queue | None" = None
    agree: Agree = wait_for_nobody
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    draw: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask, and ask again. Raises the last ModelError when it does not pass."""
        began, tried, accepted = self.clock(), 0, False

        def listen(event: Event) -> None:
            nonlocal accepted
            # Waiting for a slot or a load is no sign that the prompt was taken.
            reading = isinstance(event, Progress) and event.what == READING
            accepted = accepted or reading or isinstance(event, Delta)
            emit(event)

        with Tab() as tab:
            while True:
                refused = self.clock() - began
                tried, accepted = tried + 1, False
                try:
                    reply = await tab.ask(self._ask, prompt, listen)
                    return reply if tried == 1 or self.accepted else _refused(reply, refused)
                except ModelError as error:
                    wait = self._wait(error, tried)
                    late = self.clock() - began + wait > self.limits.seconds
                    mine = accepted == self.accepted and (not accepted or isinstance(error, BrokenReplyError))
                    again = mine and not late and error.retryable and tried < self._most(error)
                    if not again and not await self._waits_long(error, tried):
                        raise
                    emit(Notice(_tell(error, wait), "warning"))
                    emit(Progress(ASKED, 0))  # nobody reads meanwhile
                    await self.sleep(wait)

    async def _waits_long(self, error: ModelError, tried: int) -> bool:
        """True if the time that the server asks for is waited for, although the limits are narrower."""
        long = self.accepted and error.retryable and (error.after_s or 0.0) >= LONG_WAIT_S
        return long and tried < self._most(error) and await self.agree(error)

    async def _ask(self, prompt: Prompt, emit: Emit) -> Reply:
        return await (self.queue.ask(self.model, prompt, emit) if self.queue else self.model(prompt, emit))

    def _most(self, error: ModelError) -> int:
        """Return the number of tries; garbled calls and broken replies tend to repeat, so they get two."""
        tries = 1 + self.limits.retries
        return min(2, tries) if isinstance(error, GarbledReplyError | BrokenReplyError) else tries

    def _wait(self, error: ModelError, tried: int) -> float:
        if error.after_s is not None:
            return error.after_s
        return (0.5 + 0.5 * self.draw()) * min(self.first_s * 2.0 ** (tried - 1), _LONGEST_S)


def _refused(reply: Reply, seconds: float) -> Reply:
    """The reply to a call that was refused for so long before."""
    timing = reply.timing
    waited = replace(timing, queue_s=timing.queue_s + seconds, refused_s=timing.refused_s + seconds)
    return replace(reply, timing=waited)


def _tell(error: ModelError, wait: float) -> str:
    when, said = "", str(error.args[0]).rstrip(".")
    if wait:
        when = f" in {wait:.2g} s" if wait < LONG_WAIT_S else f" in {time_text(wait)}"
    return f"{said}{' Trying' if said.endswith('?') else '; trying'} again{when}."


class Queue(Struct, frozen=True):
    """The queue of a `server` (its address), as wide as its slots: who asks there waits for its turn.

    All that name the same server share it, within one event loop; the first one says how many slots it has.
    """

    server: str
    slots: int = 1
    clock: Callable[[], float] = time.monotonic

    async def ask(self, model: Model, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once; the wait is the reply's `queue_s`. A call that is cancelled while it waits is gone."""
        places = self._places()
        if not places.locked():
            async with places:
                return await model(prompt, emit)
        began = self.clock()
        emit(Progress(QUEUED, 0))
        async with places:
            waited = self.clock() - began
            emit(Progress(ASKED, 0))
            reply = await model(prompt, emit)
        return replace(reply, timing=replace(reply.timing, queue_s=reply.timing.queue_s + waited))

    def _places(self) -> asyncio.Semaphore:
        queues = _QUEUES.setdefault(asyncio.get_running_loop(), {})
        return queues.setdefault(self.server, asyncio.Semaphore(max(1, self.slots)))
