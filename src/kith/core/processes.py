"""The one way a process is started beside the event loop: every wait for it has a bound, and a kill frees it.

asyncio's own `Process.wait` returns only once all pipes have ended. Where nobody reads a full one any more
(a cancellation, a time-out), or where a child of the process holds it, that never comes.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

START_S: Final = 10.0  # for a start that is under way when nobody wants it any more
KILL_S: Final = 5.0  # from a kill to the end, which only a stuck disk delays
DRAIN_S: Final = 5.0  # for what is still in the pipes when the process is gone: a child may hold them


class Watch(asyncio.SubprocessProtocol):
    """Notes the end of a process, and of its output; these differ where a child has inherited the pipes."""

    def __init__(self, pipes: Sequence[int] = (1,)) -> None:
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()
        self.at_exit: Callable[[], None] | None = None
        self._open = set(pipes)
        if not pipes:
            self.closed.set()

    def process_exited(self) -> None:
        self.exited.set()
        if self.at_exit:
            self.at_exit()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self.closed.set()


W = TypeVar("W", bound=Watch)


class Started(Struct, Generic[W], frozen=True):
    """A process at work, and who watches it."""

    transport: asyncio.SubprocessTransport
    watch: W

    @property
    def pid(self) -> int:
        return self.transport.get_pid()

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal; None before the end."""
        return self.transport.get_returncode()

    def feed(self, data: bytes) -> None:
        """Write to the process's standard input, and close it behind that."""
        pipe = self.transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        pipe.write(data)
        pipe.close()  # what is buffered is still written

    def kill(self) -> None:
        self._signal("SIGKILL")

    def terminate(self) -> None:
        """Ask it to end."""
        self._signal("SIGTERM")

    def _signal(self, name: str) -> None:
        """Send a signal, and leave the exit code to the watcher of the event loop.

        asyncio's own methods poll for the process's end first, and may take the exit code from that
        watcher. It then warns of an unknown child process and reports 255.
        """
        if self.code is not None:
            return
        with suppress(ProcessLookupError):  # it has ended already
            if sys.platform == "win32":
                self.transport.kill()
            else:
                os.kill(self.pid, signal.Signals[name])

    def let_go(self) -> None:
        """Close our ends of its pipes, whatever is still in them; kill it if it still runs."""
        pipe = self.transport.get_pipe_transport(0)
        if isinstance(pipe, asyncio.WriteTransport) and pipe.get_write_buffer_size():
            pipe.abort()  # `close` would wait for a reader of what was not written yet
        if self.code is not None:
            self.transport.close()
            return
        self.kill()
        self.watch.at_exit = self.transport.close  # before the end, `close` would poll for it, too
        for fd in (0, 1, 2):
            if pipe := self.transport.get_pipe_transport(fd):
                pipe.close()

    async def end(self) -> None:
        """Kill it if it still runs, see it gone, and let go of it."""
        try:
            if not self.watch.exited.is_set():
                self.kill()
                await happens(self.watch.exited, KILL_S)
        finally:
            self.let_go()


Ending = Callable[[Started[W]], Awaitable[None]]


def _let_go(starting: "asyncio.Task[tuple[asyncio.SubprocessTransport, W]]") -> None:
    if not starting.cancelled() and not starting.exception():
        Started(*starting.result()).let_go()


async def start(
    make: Callable[[], W], argv: Sequence[str], *, end: Ending[W] = Started.end, **options: Any
) -> Started[W]:
    """Start a process; `options` are Popen's, and pipes are made only for the streams that ask for them.

    A cancellation never hits the middle of a start, when asyncio would lose track of the process: it is ended
    by `end` then. Raises OSError for a program that cannot be started.
    """
    options = {"stdin": None, "stdout": None, "stderr": None, **options}
    program, *rest = argv
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(make, program, *rest, **options)
    )
    try:
        return Started(*await asyncio.shield(starting))
    except asyncio.CancelledError:
        try:
            await asyncio.wait([starting], timeout=START_S)
        except asyncio.CancelledError:  # whoever cancels again waits for nothing
            starting.add_done_callback(_let_go)
            raise
        if not starting.done():
            starting.cancel()
        elif not starting.cancelled() and not starting.exception():
            await end(Started(*starting.result()))
        raise


class _OutputBuffer(Watch):
    """Keeps all output: it reads without a waiter, so that no pipe is ever full."""

    def __init__(self, pipes: Sequence[int]) -> None:
        super().__init__(pipes)
        self.said = {fd: bytearray() for fd in pipes}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.said[fd] += data


class Ended(Struct, frozen=True):
    """The result of a program: exit code (negative for a signal) and output."""

    code: int
    stdout: bytes
    stderr: bytes


async def run_program(
    argv: Sequence[str], *, seconds: float, input: bytes | None = None, keep: bool = True, **options: Any
) -> Ended:
    """Run a program to its end; its output is kept, or with `keep` off thrown away.

    Raises OSError where it cannot be started, TimeoutError after `seconds`. It never outlives the call.
    """
    out = asyncio.subprocess.PIPE if keep else asyncio.subprocess.DEVNULL
    given = asyncio.subprocess.DEVNULL if input is None else asyncio.subprocess.PIPE
    pipes = (1, 2) if keep else ()
    process = await start(lambda: _OutputBuffer(pipes), argv, stdin=given, stdout=out, stderr=out, **options)
    try:
        if input is not None:
            process.feed(input)
        if not await happens(process.watch.exited, seconds):
            raise TimeoutError
        await happens(process.watch.closed, DRAIN_S)
    finally:
        await process.end()
    said = process.watch.said
    return Ended(process.code or 0, bytes(said.get(1, b"")), bytes(said.get(2, b"")))


async def happens(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event no longer than this; True when it came."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
