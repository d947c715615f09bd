"""The background processes of a trial: their output as far as it is kept, their end, and their number."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from msgspec import Struct

from kith.core.values import Ran
from kith.core.workspace import EndedBy, Job, Printed, ShellCommand
from kith.trees.exec import heard_by

MOST_RUNNING: Final = 8
KEPT: Final = 256 << 10  # bytes of each output, the last ones
MOST_PRINTED: Final = 64 << 20  # bytes; one that prints more is stopped
FOREVER_S: Final = 30 * 24 * 3600.0
KILLED: Final = 128 + 9


class Printing:
    """The output of a process: how much it was, and the last of it."""

    def __init__(self, keep: int = KEPT) -> None:
        self._keep, self._data, self.size = keep, bytearray(), 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self._data += data
        if len(self._data) > 2 * self._keep:  # each byte is moved once on average
            del self._data[: len(self._data) - self._keep]

    def since(self, seen: int) -> Printed:
        """Return the output behind the first `seen` bytes."""
        kept = self._data[-self._keep :]
        begins = self.size - len(kept)
        return Printed(bytes(kept[max(seen - begins, 0) :]), self.size, max(begins - seen, 0))


class RunningJob:
    """A process in the background, and its output; `do` runs it to its end."""

    def __init__(
        self,
        number: int,
        command: ShellCommand,
        do: Callable[[], Awaitable[Ran]],
        ended: Callable[[Job], object],
    ) -> None:
        self.number, self.command = number, command
        self.ran: Ran | None = None
        self.ended_by: EndedBy = ""
        self._do, self._ended = do, ended
        self._printing, self._told, self._change = Printing(), 0, asyncio.Event()
        self._began, self._end = time.monotonic(), _End("itself")
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(self._finish)

    @property
    def seconds(self) -> float:
        return self.ran.seconds if self.ran else time.monotonic() - self._began

    def printed(self, since: int = 0) -> Printed:
        return self._printing.since(since)

    def news(self) -> Printed:
        found = self.printed(self._told)
        self._told = found.end
        return found

    async def wait(self, seconds: float, *, for_news: bool = False) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.ran is None and not (for_news and self._printing.size > self._told):
                    self._change.clear()
                    await self._change.wait()

    async def stop(self, by: EndedBy = "asked") -> None:
        self._cancel(_End(by))
        await asyncio.wait([self._task])

    async def _run(self) -> Ran:
        with heard_by(self._hear):
            return await self._do()

    def _finish(self, task: "asyncio.Task[Ran]") -> None:
        """Note the end; a callback, since a task that is cancelled before it begins runs no code."""
        took = time.monotonic() - self._began
        if task.cancelled():
            end = self._end if self._end.by != "itself" else _End("turn")  # the event loop ends
            ran = Ran(self.command.line, KILLED, "", took, stopped=end.why)
        elif error := task.exception():
            end = _End("limit", str(error))
            ran = Ran(self.command.line, KILLED, "", took, stopped=end.why)
        else:
            ran = task.result()
            end = _End("limit", ran.stopped) if ran.stopped else self._end
        self.ran, self.ended_by = ran, end.by
        self._change.set()
        self._ended(self)

    def _hear(self, data: bytes) -> None:
        self._printing.add(data)
        self._change.set()
        if self._printing.size > MOST_PRINTED:
            self._cancel(_End("limit", f"it printed more than {MOST_PRINTED:,} bytes"))

    def _cancel(self, end: "_End") -> None:
        """End it, unless something else does so already."""
        if self._end.by == "itself" and not self._task.done():
            self._end = end
            self._task.cancel()


class _End(Struct, frozen=True):
    by: EndedBy
    why: str = ""
