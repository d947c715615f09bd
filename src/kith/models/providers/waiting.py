"""Waiting for a server: what the person is told of it, and how long one that is silent is waited for."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from kith.core.events import Event, Notice, Progress
from kith.core.model import Emit
from kith.models.providers.facts import ASKED

SHOWN_S: Final = 1.0  # then a status line says it, with its seconds
TOLD_S: Final = 5.0  # then a line does, for those who see no status


@asynccontextmanager
async def waiting_for(
    url: str,
    emit: Emit,
    limit_s: float,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[Emit]:
    """Say that `url` is waited for while the block runs, and for how many seconds at most.

    The block gets an `emit` of its own: once it tells something itself, nothing more is said here.
    """
    told = False

    def listen(event: Event) -> None:
        ticking.cancel()
        emit(event)

    async def tick() -> None:
        nonlocal told
        await sleep(SHOWN_S)
        told = True
        emit(Progress(f"waiting for {url}", 0))
        await sleep(TOLD_S - SHOWN_S)
        emit(Notice(f"Waiting for {url}: no answer for {TOLD_S:.0f} s (`stall`: at most {limit_s:,.0f} s)."))

    ticking = asyncio.create_task(tick())
    try:
        yield listen
        if told and not ticking.cancelled():
            emit(Progress(ASKED, 0))
    finally:
        ticking.cancel()


# --- as long as it lives, and not long once it is gone -------------------------------------------


Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


class Vigil(Struct):
    """One request that is waited for; times in seconds.

    After `quiet_s` without a byte the server is asked for a sign of life. One that gives none for `stall_s`
    in all is lost; so is one that says nothing for `stall_s` once its answer has `begun`, however alive. A
    prompt that is still being read is waited for without limit.
    """

    stall_s: float
    quiet_s: float
    clock: Clock
    sleep: Sleep
    is_alive: Callable[[], Awaitable[bool]]
    begun: bool = False
    heard: float = 0.0  # when the last byte came
    alive: float = 0.0  # when the server last gave a sign of life

    def __post_init__(self) -> None:
        self.hear()

    def hear(self) -> None:
        """Note that something arrived."""
        self.heard = self.alive = self.clock()

    async def keep(self, limit: asyncio.Timeout) -> None:
        """Watch until the server counts as lost, then let `limit` expire."""
        while True:
            await self.sleep(self.quiet_s)
            if self.clock() - self.heard < self.quiet_s:
                continue
            if await self.is_alive():
                self.alive = self.clock()
            since = self.heard if self.begun else max(self.heard, self.alive)
            if self.clock() - since >= self.stall_s:
                limit.reschedule(asyncio.get_running_loop().time())
                return
