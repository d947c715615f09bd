"""kith at work in a process of its own: its events as they come, and what they add up to."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from kith.core.processes import Started, Watch, happens, start
from kith.features.fleet.attempts import Spent
from kith.features.fleet.tasks import FleetTask

_LONGEST: Final = 64 << 20  # bytes of an event; a longer one is passed over
_END_S: Final = 20.0  # from SIGTERM to SIGKILL: kith saves its log, and ends what it started
# The child dies with this process, however that ends (prctl(2), PR_SET_PDEATHSIG).
_LEASH: Final = ("setpriv", "--pdeathsig", "KILL", "--") if sys.platform == "linux" else ()


class Called(msgspec.Struct):
    """The bill of one reply, from a `Called` event."""

    usage: dict[str, Any] = {}
    usd: float | None = None


class Events(Watch):
    """Reads JSON lines; `heard` is called after each event of a reply, a tool or a change."""

    def __init__(self, heard: Callable[[], None]) -> None:
        super().__init__()
        self._heard, self._rest = heard, bytearray()
        self.spent, self.tools, self.applied = Spent(), 0, False
        self.output = bytearray()  # of a command that writes no events

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._rest += data
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest) if len(rest) < _LONGEST else bytearray()
        for line in lines:
            self._take(bytes(line))

    def _take(self, line: bytes) -> None:
        if not line.startswith(b'{"event": "'):
            if len(self.output) < _LONGEST:
                self.output += line + b"\n"
            return
        kind = line[len(b'{"event": "') :].partition(b'"')[0]
        if kind == b"Called":
            called = msgspec.json.decode(line, type=Called)
            used = called.usage
            self.spent = Spent(
                self.spent.turns + 1,
                self.spent.read + int(used.get("input", 0)),
                self.spent.written + int(used.get("output", 0)),
                self.spent.usd + (called.usd or 0.0),
            )
        elif kind == b"ToolBegan":
            self.tools += 1
        elif kind == b"Applied":
            self.applied = True
        else:
            return
        self._heard()


def command_line(task: FleetTask, tree: Path, resume: str, left_usd: float | None) -> list[str]:
    """The kith command of a task; its request goes to standard input."""
    words = [sys.executable, "-m", "kith", task.command, "-C", str(tree)]
    if task.command in ("run", "build"):
        words += ["--yes", "--output-format", "stream-json"]
        words += [f"--resume={resume}"] if resume else []
        words += _limits(task, left_usd)
        words += [f"--check={task.check}"] if task.check else []
        words += [f"--require={task.require}"] if task.require else []
        words += ["--commit"] if task.command == "build" else []
    else:
        words += ["--json"]
    if task.model and task.command != "bench":
        words.append(f"--model={task.model}")
    if task.command == "review":
        words += ["--", task.request or "HEAD"]
    elif task.command == "bench":
        words += ["--", *filter(None, [task.model])]
    return words


def _limits(task: FleetTask, left_usd: float | None) -> list[str]:
    usd = min((each for each in (task.max_usd, left_usd) if each is not None), default=None)
    given = (
        ("--max-task-seconds", task.max_seconds),
        ("--max-task-tokens", task.max_tokens),
        ("--max-task-usd", None if usd is None else f"{usd:.6f}"),
    )
    return [word for name, value in given if value is not None for word in (name, str(value))]


async def start_kith(
    words: Sequence[str], request: str, env: dict[str, str], errors: Path, heard: Callable[[], None]
) -> Started[Events]:
    """Start kith; what it says to people goes to a file. Raises OSError."""
    with errors.open("wb") as said:
        process = await start(
            lambda: Events(heard),
            [*_LEASH, *words],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=said,
            env=env,
            start_new_session=True,
        )
    process.feed(request.encode())
    return process


async def end_kith(process: Started[Events]) -> None:
    """Ask it to end; after a while make it."""
    process.terminate()
    await happens(process.watch.exited, _END_S)
    await process.end()
