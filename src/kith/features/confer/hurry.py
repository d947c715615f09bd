"""Work that a person can hurry: Ctrl-C once asks it to decide with what is there, twice ends it."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kith.core.loops import run_loop

T = TypeVar("T")
HURRIED = "Deciding with what is there; Ctrl-C again stops."


def run_until_decided(
    make: Callable[[asyncio.Event], Coroutine[Any, Any, T]], tell: Callable[[str], None]
) -> T:
    """Run the work that `make` makes, given the event that is set when the person is in a hurry.

    The exit codes are the shell's: 130 after two interrupts, 143 when it was terminated.
    """
    terminated = False

    async def guarded() -> T:
        hurry, task, loop = asyncio.Event(), asyncio.current_task(), asyncio.get_running_loop()

        def interrupt() -> None:
            if hurry.is_set() and task:
                task.cancel()
            elif not hurry.is_set():
                hurry.set()
                tell(HURRIED)

        def stop() -> None:
            nonlocal terminated
            terminated = True
            if task:
                task.cancel()

        if sys.platform == "win32":
            signal.signal(signal.SIGINT, lambda number, frame: loop.call_soon_threadsafe(interrupt))
        else:
            loop.add_signal_handler(signal.SIGINT, interrupt)
            loop.add_signal_handler(signal.SIGTERM, stop)
        return await make(hurry)

    try:
        return run_loop(guarded())
    except asyncio.CancelledError:
        raise SystemExit(143 if terminated else 130) from None
