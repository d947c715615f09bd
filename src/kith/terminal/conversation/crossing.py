"""From one thread into the loop of another."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def call_in(loop: asyncio.AbstractEventLoop | None, do: Callable[[], object]) -> None:
    """Have it called in a loop, unless that is over, or has not begun."""
    if loop and not loop.is_closed():
        loop.call_soon_threadsafe(do)


async def do_in(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Do it in a loop, whichever loop waits for it."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))
