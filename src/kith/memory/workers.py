"""Processes that share a long work, as many as there are processors, for as long as it lasts."""

import asyncio
import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Final, Generic, TypeVar

_FEW: Final = 60  # things; up to here starting processes costs more than they save
_MOST: Final = 8  # processes
_ASIDE: Final = 5  # steps of niceness: whoever waits for an answer comes first

T = TypeVar("T")
R = TypeVar("R")


class Crew(Generic[T, R]):
    """A pool that searches `count` items, in processes of its own where that is faster.

    An error in its block stops it. `look` takes some items at a time and returns their results in order.
    `lost` is the result of an item that kills its process. `aside`: nobody waits for the pool. `width`:
    the number of calls to have in flight.
    """

    def __init__(
        self,
        count: int,
        look: Callable[[Sequence[T]], list[R]],
        lost: Callable[[T], R],
        *,
        aside: bool = False,
    ) -> None:
        self._look, self._lost, self._nice = look, lost, _ASIDE if aside else 0
        self._processes = min(_MOST, os.cpu_count() or 1)
        self._pool = self._start(self._processes) if count > _FEW else None
        self._cell: ProcessPoolExecutor | None = None  # one process, for what may have killed another
        self._searching = asyncio.Lock()
        self.width = 2 * self._processes if self._pool else 1  # one is prepared while another is looked at

    def _start(self, processes: int) -> ProcessPoolExecutor | None:
        """The processes, None where a system grants no semaphores to share (then a thread has to do)."""
        # A fork would take along the locks of this process's threads, so each begins afresh.
        context = multiprocessing.get_context("spawn")
        with suppress(OSError, ImportError, NotImplementedError):
            return ProcessPoolExecutor(processes, context, _settle_in, (self._nice,))
        return None

    async def look(self, things: Sequence[T]) -> list[R]:
        """Search these items; return their results in order."""
        pool = self._pool
        if pool is None:
            return await asyncio.to_thread(self._look, things)
        try:
            return await self._send(pool, things)
        except BrokenExecutor:
            if self._pool is pool:
                self._pool = self._start(self._processes)
        async with self._searching:
            return await self._search(things)

    async def _send(self, pool: ProcessPoolExecutor, things: Sequence[T]) -> list[R]:
        with _interrupts_held():  # this may start a process
            looking = pool.submit(self._look, things)
        answer: asyncio.Future[list[R]] = asyncio.get_running_loop().create_future()
        looking.add_done_callback(partial(_hand_over, answer))
        return await answer

    async def _search(self, things: Sequence[T]) -> list[R]:
        """Once more, one after the other, to find what killed the process: only that is lost."""
        self._cell = self._cell or self._start(1)
        if self._cell is not None:
            try:
                return await self._send(self._cell, things)
            except BrokenExecutor:
                self._cell = None
        if len(things) == 1:
            return [self._lost(things[0])]
        half = len(things) // 2
        return [*await self._search(things[:half]), *await self._search(things[half:])]

    def __enter__(self) -> "Crew[T, R]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool and kind is not None:
            for process in multiprocessing.active_children():  # nobody waits for what they are at
                process.terminate()
        for pool in filter(None, (self._pool, self._cell)):
            pool.shutdown(wait=False, cancel_futures=True)


def _hand_over(answer: asyncio.Future[list[R]], looking: Future[list[R]]) -> None:
    """Pass a process's result to its waiter, if somebody still waits.

    Unlike asyncio.wrap_future it never cancels the process's future. A pool whose processes are killed
    fails on a future that was cancelled before it began.
    """

    def settle() -> None:
        if answer.done() or looking.cancelled():
            return
        error = looking.exception()
        if error is None:
            answer.set_result(looking.result())
        else:
            answer.set_exception(error)

    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        answer.get_loop().call_soon_threadsafe(settle)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block Ctrl-C for processes started meanwhile, until they can ignore it themselves."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _settle_in(nice: int) -> None:
    """A worker is quiet: it leaves Ctrl-C to its parent, ends when that is killed, and yields to others."""
    gc.disable()  # syntax trees hold no cycles, and looking for some takes a third of the time
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if nice and hasattr(os, "nice"):
        os.nice(nice)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
