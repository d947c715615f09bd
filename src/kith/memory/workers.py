"""Processes that look into files, as many as there are processors, for as long as a refresh lasts."""

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context, parent_process
from types import TracebackType
from typing import Final

from kith.context.outline import Outline, count_only, outline_all

_FEW: Final = 60  # files; up to here starting processes costs more than they save
_MOST: Final = 8  # processes
_YIELD = 5  # steps of niceness: whoever waits for an answer comes first


class Crew:
    """Looks into `count` files, in processes of its own where that is quicker. `width`: batches at once."""

    def __init__(self, count: int) -> None:
        self._pool = _start() if count > _FEW else None
        self.width = 2 * _processes() if self._pool else 1  # one is read while another is looked into

    async def look(self, contents: Mapping[str, bytes]) -> list[Outline]:
        """What is in these files. One that kills its parser, and the process with it, is only counted."""
        pool = self._pool
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, outline_all, contents)
        except BrokenExecutor:
            if self._pool is pool:
                self._pool = _start()
        if len(contents) == 1:
            return [count_only(path, data) for path, data in contents.items()]
        files = list(contents.items())
        halves = dict(files[: len(files) // 2]), dict(files[len(files) // 2 :])
        return [outline for half in halves for outline in await self.look(half)]

    def __enter__(self) -> "Crew":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _processes() -> int:
    return min(_MOST, os.cpu_count() or 1)


def _start() -> ProcessPoolExecutor | None:
    """The processes, None where a system grants no semaphores to share (then a thread has to do)."""
    # A fork would take along the locks of this process's threads, so each begins afresh.
    with suppress(OSError, ImportError, NotImplementedError):
        return ProcessPoolExecutor(_processes(), get_context("spawn"), _settle_in)
    return None


def _settle_in() -> None:
    """A worker is quiet: it yields to others, leaves Ctrl-C to its parent, and ends when that is killed."""
    gc.disable()  # syntax trees hold no cycles, and searching them for some took a fifth of the time
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(_YIELD)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
