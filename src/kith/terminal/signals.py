"""Work that ends by itself, or by a signal."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from kith.core.event_loop import run_loop

T = TypeVar("T")


def run_until_signal(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, with SIGTERM as a cancellation too; the exit codes are the shell's, 130 and 143."""
    terminated = False

    async def guarded() -> T:
        nonlocal terminated
        task = asyncio.current_task()

        def stop() -> None:
            nonlocal terminated
            terminated = True
            if task:
                task.cancel()

        if sys.platform != "win32":
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
        return await work

    try:
        return run_loop(guarded())
    except asyncio.CancelledError:
        raise SystemExit(143 if terminated else 130) from None
