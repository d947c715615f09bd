"""A model whose calls wait their turn: one queue for each server, as wide as its slots."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from kith.core.events import Progress
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Reply
from kith.models.providers.progress import ASKED, QUEUED

# Every Queued of this process that names the same server shares its queue; a queue lives in one event loop.
_QUEUES: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Semaphore]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Queued:
    """`model`, asked only when one of the `slots` of `server` (its address) is free.

    The first one that names a server says how many slots it has.
    """

    model: Model
    server: str
    slots: int = 1
    clock: Callable[[], float] = time.monotonic

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once; the wait is the reply's `queue_s`. A call that is cancelled while it waits is gone."""
        queue = _queue_of(self.server, self.slots)
        if not queue.locked():
            async with queue:
                return await self.model(prompt, emit)
        began = self.clock()
        emit(Progress(QUEUED, 0))
        async with queue:
            waited = self.clock() - began
            emit(Progress(ASKED, 0))
            reply = await self.model(prompt, emit)
        return replace(reply, timing=replace(reply.timing, queue_s=reply.timing.queue_s + waited))


def _queue_of(server: str, slots: int) -> asyncio.Semaphore:
    queues = _QUEUES.setdefault(asyncio.get_running_loop(), {})
    return queues.setdefault(server, asyncio.Semaphore(max(1, slots)))
