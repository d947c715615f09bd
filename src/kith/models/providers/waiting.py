"""Tells the person which server is waited for, once it takes longer than a moment."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from kith.core.events import Event, Notice, Progress
from kith.core.model import Emit
from kith.models.providers.progress import ASKED

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
