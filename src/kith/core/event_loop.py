"""The event loop of a command: ended by its work or a signal; what goes on beside it is soon left behind."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Final, ParamSpec, TypeVar

LEAVE_S: Final = 2.0  # for tasks and threads that nobody needs any more
_SAME_S: Final = 2.0  # a signal that comes again so soon is no second wish
_THREADS: Final = 32
_START_TURNS: Final = 20  # of the loop; a process in a sandbox starts within ten
_OF_A_LOOP: Final = 3  # descriptors: its selector, and both ends of what wakes it

T = TypeVar("T")
P = ParamSpec("P")


def run_loop(work: Coroutine[Any, Any, T], leave_s: float = LEAVE_S) -> T:
    """`asyncio.run`, but its end waits for other tasks and threads no longer than `leave_s` each."""
    runner, threads = asyncio.Runner(), _Threads(leave_s)
    try:
        _check_room()
        runner.get_loop()
    except OSError:  # no descriptor is left for it
        work.close()
        raise
    try:
        return runner.run(_with(threads, work))
    finally:
        left = runner.run(_leave_others(leave_s))
        if left:
            loop = runner.get_loop()
            loop.set_exception_handler(lambda *_: None)  # nobody has to hear that they never ended
            loop.close()
            asyncio.set_event_loop(None)
        else:
            runner.close()


def _check_room() -> None:
    """Raise OSError where no descriptors are left for a loop: asyncio prints a traceback for half of one."""
    opened = list[int]()
    try:
        for _ in range(_OF_A_LOOP):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:  # which file it was does not matter
        raise OSError(error.errno, error.strerror) from None
    finally:
        for each in opened:
            os.close(each)


def call_in(loop: asyncio.AbstractEventLoop | None, do: Callable[[], object]) -> None:
    """Have it called in the loop of another thread, unless that is over, or has not begun."""
    if loop and not loop.is_closed():
        loop.call_soon_threadsafe(do)


async def do_in(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Do it in a loop, whichever loop waits for it."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


async def leave(*tasks: "asyncio.Future[Any]", seconds: float = LEAVE_S) -> bool:
    """Cancel these and wait for their end, but no longer than this; True when they have ended.

    For what is done beside other work, whose errors are nobody's any more.
    """
    for task in tasks:
        task.cancel()
        task.add_done_callback(_ignore)
    return not tasks or not (await asyncio.wait(tasks, timeout=seconds))[1]


async def let_start() -> None:
    """Let the tasks made just now start their processes, before a thread that computes slows the loop."""
    for _ in range(_START_TURNS):
        await asyncio.sleep(0)


def _ignore(task: "asyncio.Future[Any]") -> None:
    if not task.cancelled():
        task.exception()  # it counts as heard


async def _with(threads: ThreadPoolExecutor, work: Coroutine[Any, Any, T]) -> T:
    asyncio.get_running_loop().set_default_executor(threads)
    return await work


async def _leave_others(seconds: float) -> bool:
    """End what other tasks there are; True when some are left behind."""
    loop = asyncio.get_running_loop()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if not others:
        return False
    done, left = await asyncio.wait(others, timeout=seconds)
    for task in done:
        if not task.cancelled() and (error := task.exception()):
            told = {"message": "an error at the end", "exception": error, "task": task}
            loop.call_exception_handler(told)
    return bool(left)


class _Threads(ThreadPoolExecutor):
    """A thread for each call that has to wait, which neither this pool nor Python waits for without end.

    The threads of the base class are joined when Python ends, whatever they hang in.
    """

    def __init__(self, leave_s: float) -> None:
        super().__init__(_THREADS)
        self._leave_s = leave_s
        self._turns = threading.BoundedSemaphore(_THREADS)
        self._running: set[Future[Any]] = set()

    def submit(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        future: Future[T] = Future()

        def work() -> None:
            with self._turns:
                if not future.set_running_or_notify_cancel():
                    return
                try:
                    future.set_result(call(*args, **kwargs))
                except BaseException as error:
                    future.set_exception(error)

        self._running.add(future)
        future.add_done_callback(self._running.discard)
        threading.Thread(target=work, daemon=True, name="kith-aside").start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for what is under way, but not for long."""
        if wait:
            _wait_for(self._running, self._leave_s)


def _wait_for(running: set[Future[Any]], seconds: float) -> None:
    for each in tuple(running):
        each.cancel()  # what has not begun
    wait(tuple(running), seconds)


# Work that ends by itself, or by a signal.


def hangups() -> tuple[signal.Signals, ...]:
    """The signal of a terminal that is gone, unless this process was started with it ignored (`nohup`)."""
    if sys.platform == "win32" or signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        return ()
    return (signal.SIGHUP,)


def handle_signal(number: signal.Signals, do: Callable[..., object], *values: object) -> None:
    """Have it called in the running loop when the signal comes; Windows has no such signals."""
    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(number, do, *values)


def once(do: Callable[[signal.Signals], object]) -> Callable[[signal.Signals], None]:
    """Call it once for a signal that comes twice: a closing terminal sends two, and so does `timeout`."""
    last: dict[signal.Signals, float] = {}

    def hear(number: signal.Signals) -> None:
        now = time.monotonic()
        if now - last.get(number, float("-inf")) > _SAME_S:
            last[number] = now
            do(number)

    return hear


def run_until_signal(work: Coroutine[Any, Any, T], leave_s: float = LEAVE_S) -> T:
    """Run to the end, with SIGTERM and SIGHUP as cancellations too; the exit codes are the shell's."""
    ended_by = signal.SIGINT

    async def guarded() -> T:
        task = asyncio.current_task()

        def stop(number: signal.Signals) -> None:
            nonlocal ended_by
            ended_by = number
            if task:
                task.cancel()

        heard = once(stop)
        for number in (signal.SIGTERM, *hangups()):
            handle_signal(number, heard, number)
        return await work

    try:
        return run_loop(guarded(), leave_s)
    except asyncio.CancelledError:
        raise SystemExit(128 + ended_by) from None
    finally:
        work.close()  # it never began where no loop could be made
