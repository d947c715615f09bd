"""Run one command to its end or its limits, and leave no process of it behind."""

import asyncio
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from msgspec import Struct

from kith.core.processes import KILL_S, Started, Watch, happens, start
from kith.core.values import Ran, join_cut
from kith.core.workspace import ExecLimits
from kith.trees.launch import MARK, PLAIN, Launch, keep, let_go
from kith.trees.limits import Allowance, below, children_of, limit_lines, process_lines
from kith.trees.scratch import Outflow, Scratch

TIMED_OUT = 124  # what timeout(1) answers
_KILLED = 128 + 9
_TIME = "time"
NOT_FOUND = 127  # what a shell answers for a program that cannot be started
GRACE_S = 0.2  # for what is still in the pipe when the main process is gone
WATCH_S = 0.25  # between two looks at what is in use
# A command waits for its first line of input: by then the keeper knows it, so that it never outlives kith.
_GO = b"go\n" if os.name == "posix" else b""


Hear = Callable[[bytes], None]


def _nobody(output: bytes) -> None:
    """Nobody waits for what is printed."""


_HEARD_BY: ContextVar[Hear] = ContextVar("heard_by", default=_nobody)


@contextmanager
def heard_by(hear: Hear) -> Iterator[None]:
    """Pass the output of commands to `hear` piece by piece; not the output of kith's own programs (git)."""
    token = _HEARD_BY.set(hear)
    try:
        yield
    finally:
        _HEARD_BY.reset(token)


def who_hears() -> Hear:
    """Return the listener for the output of commands that start now."""
    return _HEARD_BY.get()


class Captured(Struct, frozen=True):
    """The result of a process: exit code (128 + n for signal n), the bytes kept and the number cut."""

    code: int
    head: bytes
    tail: bytes
    cut: int
    seconds: float
    timed_out: bool
    stopped: str  # what it used too much of, in words; "" if nothing
    whole: str = ""  # the file with all of the output, "" for none

    @property
    def output(self) -> bytes:
        """The output with a line at the seam that says how much is missing."""
        return join_cut(self.head, self.tail, self.cut)

    def as_ran(self, command: str, sandboxed: bool) -> Ran:
        """The same in words, with `command` as its name."""
        words = self.output.decode("utf-8", errors="replace")
        if self.stopped:
            words += f"\n[stopped: {self.stopped}]\n"
        whole = self.whole if self.cut else ""
        return Ran(
            command,
            self.code,
            words,
            self.seconds,
            self.timed_out,
            self.cut,
            sandboxed,
            whole=whole,
            stopped=self.stopped,
        )


async def run_process(
    argv: Sequence[str],
    *,
    command: str,
    env: Mapping[str, str],
    cwd: Path,
    limits: ExecLimits,
    input: bytes = b"",
    sandboxed: bool,
    scratch: Scratch | None = None,
    leave: bool = False,
) -> Ran:
    """Run `argv` and say how it went, with `command` as its name; stdout and stderr are one stream.

    `limits` hold for each of its processes, where the kernel knows them, and for what all of them use
    together. A program that cannot be started is a `Ran` with code 127. With `leave`, what it left in the
    background stays unless a limit stops it.
    """
    done = await capture(
        argv,
        env=env,
        cwd=cwd,
        limits=limits,
        input=input,
        sandboxed=sandboxed,
        hear=who_hears(),
        scratch=scratch,
        leave=leave,
    )
    return done.as_ran(command, sandboxed)


async def capture(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    limits: ExecLimits,
    input: bytes = b"",
    sandboxed: bool,
    launch: Launch = PLAIN,
    prepare: Callable[[], object] = lambda: None,
    pass_fds: Sequence[int] = (),
    place: Path | None = None,
    hear: Hear = _nobody,
    scratch: Scratch | None = None,
    leave: bool = False,
) -> Captured:
    """Run `argv` in a session of its own; on time-out, cancellation or its end the whole tree is killed.

    A long output is kept whole in `scratch`. With `leave`, only `argv` itself has to end.

    `prepare` is called while the shell in front of it starts, and has to be done before `argv` does.
    """
    began, mark = time.monotonic(), "" if sandboxed else uuid.uuid4().hex
    outflow = Outflow(scratch) if scratch else None
    try:
        process = await start(
            lambda: _Watch(limits.output, mark, hear, outflow),
            _behind_a_shell(argv, launch, limits, sandboxed, bool(input)),
            end=lambda begun: _end(begun, _ProcessTree(begun.pid, mark)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**env, MARK: mark} if mark else dict(env),
            cwd=cwd,
            start_new_session=True,
            pass_fds=pass_fds,
        )
    except OSError as error:
        words = f"{argv[0]}: {error.strerror or error}\n".encode()
        return Captured(NOT_FOUND, words, b"", 0, time.monotonic() - began, False, "")
    tree, ending = _ProcessTree(process.pid, mark), _TIME
    try:
        prepare()
        process.feed(_GO + input)
        ending = await _watch_over(process.watch, tree, limits, Allowance(limits, place, scratch))
    finally:
        if leave and not ending:
            let_go(tree.pid)
            process.let_go()
        else:
            await _end(process, tree)
        process.watch.output.close()
    return _capture_of(process.watch, _exit_code(process.code), ending, time.monotonic() - began)


def _capture_of(watch: "_Watch", code: int, ending: str, seconds: float) -> Captured:
    timed_out = ending == _TIME
    head, tail, cut = watch.output.parts()
    code = TIMED_OUT if timed_out else _KILLED if ending else code
    stopped = "" if timed_out else ending
    return Captured(code, head, tail, cut, seconds, timed_out, stopped, watch.output.whole)


def _behind_a_shell(
    argv: Sequence[str], launch: Launch, limits: ExecLimits, sandboxed: bool, has_input: bool
) -> list[str]:
    """`argv`, started by a shell that sets its limits and waits for `_GO`."""
    if not _GO:
        return list(argv)
    # In a sandbox the user's other processes do not count.
    lines = [*limit_lines(limits), *(() if sandboxed else process_lines(limits))]
    return launch.argv(argv, lines, ["read -r go || exit", *([] if has_input else ["exec </dev/null"])])


class _Watch(Watch):
    """Keeps a process's output, within bounds, and lets the process die with kith."""

    def __init__(self, most: int, mark: str, hear: Hear, outflow: Outflow | None) -> None:
        super().__init__()
        self.output = _Clipped(most, outflow)
        self._hear = hear
        self._mark = mark

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        keep(transport.get_pid(), self._mark)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.output.add(data)
        self._hear(data)


class _Clipped:
    """The first third and the last two thirds of a stream of bytes, in bounded memory; all of it on disk."""

    def __init__(self, keep: int, outflow: Outflow | None = None) -> None:
        self._outflow = outflow
        self._first, self._last = keep // 3, keep - keep // 3
        self._head, self._tail, self._dropped = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        if self._outflow and self._outflow.begun:
            self._outflow.add(data)
        room = self._first - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        # Twice the size before it is trimmed: each byte is moved once on average, not once per read.
        if len(self._tail) > 2 * self._last + 65536:
            self._trim()

    def _trim(self) -> None:
        surplus = max(0, len(self._tail) - self._last)
        if surplus and not self._dropped and self._outflow:
            self._outflow.begin(bytes(self._head + self._tail))
        self._dropped += surplus
        del self._tail[:surplus]

    @property
    def whole(self) -> str:
        """The file with all of it, "" where nothing was dropped."""
        return self._outflow.path if self._outflow else ""

    def close(self) -> None:
        self._trim()
        if self._outflow:
            self._outflow.close()

    def parts(self) -> tuple[bytes, bytes, int]:
        """Head, tail and the number of bytes between them that were dropped."""
        self._trim()
        return bytes(self._head), bytes(self._tail), self._dropped


class _ProcessTree(Struct, frozen=True):
    """All processes of one command: those below `pid`, and those that carry `mark`.

    `mark` is "" in a sandbox, where nothing outlives the first process of its namespace.
    """

    pid: int
    mark: str

    def members(self) -> Iterator[int]:
        yield from below(self.pid)
        if self.mark:
            yield from _marked(self.mark)


async def _watch_over(watch: _Watch, tree: _ProcessTree, limits: ExecLimits, allowance: Allowance) -> str:
    """Wait for the end; returns the cause: "" for itself, _TIME, or what was overdrawn."""
    deadline = time.monotonic() + limits.seconds
    while not watch.exited.is_set():
        left = deadline - time.monotonic()
        if left <= 0:
            return _TIME
        if await happens(watch.exited, min(left, WATCH_S)):
            break
        # In a thread: thousands of processes take longer to look through than there may be time for.
        with suppress(TimeoutError):
            async with asyncio.timeout(deadline - time.monotonic()):
                if excess := await asyncio.to_thread(allowance.excess, tree.pid):
                    return excess
    await happens(watch.closed, GRACE_S)
    return ""


async def _end(process: Started[_Watch], tree: _ProcessTree) -> None:
    """Kill whatever is left of the tree and wait until it is gone."""
    exited = process.watch.exited
    try:
        if tree.mark:
            await _end_all(process, tree)
        elif not exited.is_set():
            # A sandbox ends by itself once its first process is dead, and only then is all of it gone; one
            # that is still being set up has that process soon, or fails.
            for _ in range(200):
                _kill(children_of(tree.pid))
                if await happens(exited, 0.005):
                    return
            _kill_group(process)
            await happens(exited, KILL_S)
    finally:
        let_go(tree.pid)
        process.let_go()


async def _end_all(process: Started[_Watch], tree: _ProcessTree) -> None:
    """Without a sandbox every process has to be found; new ones may start while the others are killed."""
    known = list(tree.members())  # while their parents live: a process that is just starting has no mark yet
    _kill_group(process)
    _kill(known)
    await happens(process.watch.exited, KILL_S)
    quiet = 0
    for _ in range(50):
        left = list(tree.members())
        quiet = 0 if left else quiet + 1
        if quiet == 2:
            return
        _kill(left)
        await asyncio.sleep(0.002)


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _kill_group(process: Started[_Watch]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _marked(mark: str) -> Iterator[int]:
    """Processes that inherited `mark`: also those that left the session and their parent."""
    wanted = f"{MARK}={mark}".encode()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH208, PTH112
        # Without pathlib: three times for each command, hundreds of files are read.
        with suppress(OSError):
            if name.isdecimal() and wanted in _read(f"/proc/{name}/environ"):
                yield int(name)


def _read(file: str) -> bytes:
    with open(file, "rb", buffering=0) as opened:  # noqa: PTH123
        return opened.read()


def _exit_code(returned: int | None) -> int:
    if returned is None:
        return _KILLED
    return 128 - returned if returned < 0 else returned
