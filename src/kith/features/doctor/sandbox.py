"""`kith doctor --sandbox`: tries on this very machine to get out of the sandbox that commands run in."""

import asyncio
import os
import platform
import secrets
import shlex
import socket
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kith.core.values import Ran
from kith.core.workspace import Command, ExecLimits, Trial
from kith.features.doctor.escapes import REACHED, Attempt, attempts, program_of
from kith.settings import Settings
from kith.trees.toolchains import python_inside
from kith.trees.trials import open_tree

LIMITS: Final = ExecLimits(seconds=2.0, output=4000, memory=1 << 30, processes=300, file_size=64 << 20)
_PATIENT: Final = replace(LIMITS, seconds=30.0)  # what a busy machine did not get to shows nothing
_SETTLES_S: Final = 0.02  # for what was sent to arrive
_LASTS_S: Final = 1.5  # more than the limit by which a command that was stopped in time may have run
_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended: it was held, or it escaped, and why, in a few words."""

    attempt: Attempt
    held: bool
    why: str


@dataclass(slots=True)
class _Stage:
    """A project, a folder beside it with things to steal or to break, and ears for whoever calls."""

    root: Path
    outside: Path
    state: Path
    canary: str
    port: int
    process: int
    heard: set[str] = field(default_factory=set)
    before: Mapping[str, object] = field(default_factory=dict)

    def given(self) -> dict[str, object]:
        """What the programs know of it."""
        names = {"outside": self.outside, "state": self.state, "home": Path("~").expanduser()}
        paths: dict[str, object] = {name: str(path) for name, path in names.items()}
        # The canary itself is not among it: a program that prints it has found it.
        numbers = {"port": self.port, "process": self.process, "asleep": self.asleep}
        return {**paths, **numbers, "canary": "x" * 16}

    @property
    def asleep(self) -> int:
        """How many seconds, for ever, the process sleeps that shall not outlive its command: its mark."""
        return 31_500_000 + self.process

    def look(self) -> dict[str, object]:
        """What an attempt must not change."""
        return {str(path): _look_at(path) for top in (self.root, self.outside) for path in top.rglob("*")}


def _look_at(path: Path) -> object:
    status = path.lstat()
    return status.st_mode, path.read_bytes() if path.is_file() and not path.is_symlink() else b""


async def try_sandbox(settings: Settings, tell: Callable[[Outcome], None]) -> None:
    """Make every attempt, a few at a time, in trials of small projects made for it; tell of them in order.

    Raises TreeError where commands cannot be confined at all.
    """
    settings.cache.mkdir(parents=True, exist_ok=True)
    waiting = deque((attempt, asyncio.Future[Outcome]()) for attempt in attempts())
    outcomes = [outcome for _, outcome in waiting]
    with TemporaryDirectory(prefix="sandbox-", dir=settings.cache) as folder:
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(_AT_ONCE):
                    group.create_task(_try_some(Path(folder, str(number)), waiting))
                for outcome in outcomes:
                    tell(await outcome)
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed


async def _try_some(folder: Path, waiting: "deque[tuple[Attempt, asyncio.Future[Outcome]]]") -> None:
    """Make attempts in one project for as long as any wait."""
    with _stage(folder) as stage:
        tree = open_tree(stage.root, stage.state, stage.state / "cache", sandbox="require")
        async with tree.trial() as trial, _listening(stage):
            stage.before = stage.look()
            while waiting:
                attempt, outcome = waiting.popleft()
                outcome.set_result(await _make(attempt, trial, stage))


async def _make(attempt: Attempt, trial: Trial, stage: _Stage) -> Outcome:
    program = program_of(attempt, stage.given(), platform.machine())
    stage.heard.clear()
    await trial.write("probe.py", program.encode())
    command = Command(shlex.join([python_inside(), "-I", "-S", "probe.py"]))
    ran = await trial.exec(command, _PATIENT if attempt.ends else LIMITS)
    await asyncio.sleep(_SETTLES_S)
    escape = _escape(ran, stage) or ("it did not come to an end" if attempt.ends and ran.timed_out else "")
    await trial.go_back("")
    found_nothing = "it is not there" if attempt.topic == "secrets" else ""
    return Outcome(attempt, not escape, escape or found_nothing or _reason(ran))


def _escape(ran: Ran, stage: _Stage) -> str:
    """What shows that an attempt got out; "" if nothing does."""
    changed = [name for name, now in stage.look().items() if stage.before.get(name) != now]
    if changed:
        return f"changed {Path(changed[0]).name} outside the trial"
    if stage.heard:
        return f"{sorted(stage.heard)[0]} was heard outside"
    if stage.canary in ran.output:
        return "it was read"
    if str(stage.outside) in ran.output and "No such file" not in ran.output:
        return "its path was seen"
    if ran.timed_out and ran.seconds > LIMITS.seconds + _LASTS_S:
        return f"it ran for {ran.seconds:.1f} s"
    if _runs_on(stage):
        return "it still runs"
    return "nothing stood in the way" if REACHED in ran.output else ""


def _runs_on(stage: _Stage) -> bool:
    wanted = b"sleep\0%d\0" % stage.asleep
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if file.read_bytes() == wanted:
                return True
    return False


def _reason(ran: Ran) -> str:
    """What a program said last, without what Python puts around it."""
    if ran.timed_out:
        return f"stopped after {LIMITS.seconds:.0f} s"
    lines = [line for line in ran.output.strip().splitlines() if line.strip(" \0")] or ["no effect outside"]
    words = lines[-1].strip("[]").partition("] ")[2] or lines[-1].strip("[]")
    return words.partition(": '/")[0].removeprefix("stopped: ").rstrip(".") or "no effect outside"


@contextmanager
def _stage(folder: Path) -> Iterator[_Stage]:
    """The project and what is around it; a key in the environment, and a process to meddle with."""
    root, outside, state = folder / "project", folder / "outside", folder / "state"
    for each in (root, outside, state):
        each.mkdir(parents=True)
    canary = secrets.token_hex(16)
    (root / "file").write_text("content\n")
    (outside / "secret").write_text(canary)
    (outside / "target").write_text("content\n")
    (root / "leads-out").symlink_to(outside)
    (root / "hard-link").hardlink_to(outside / "target")
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    name = f"KITH_PROBE_{folder.name}_API_KEY"
    os.environ[name] = canary
    try:
        sleep = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
        with subprocess.Popen(sleep, stdin=subprocess.DEVNULL) as process:
            try:
                yield _Stage(root, outside, state, canary, 0, process.pid)
            finally:
                process.kill()
    finally:
        del os.environ[name]


@asynccontextmanager
async def _listening(stage: _Stage) -> AsyncIterator[None]:
    """Everything that a command could call on this machine, each at the same port or place."""
    loop = asyncio.get_running_loop()
    with ExitStack() as held:
        ears = {
            "a connection": socket.create_server(("127.0.0.1", 0)),
            "a datagram": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            "a socket beside the project": socket.socket(socket.AF_UNIX),
            "a socket in the project": socket.socket(socket.AF_UNIX),
            "a socket without a file": socket.socket(socket.AF_UNIX),
        }
        stage.port = ears["a connection"].getsockname()[1]
        places = [None, ("127.0.0.1", stage.port), stage.outside, stage.root, f"\0kith-probe-{stage.port}"]
        for (name, ear), place in zip(ears.items(), places, strict=True):
            held.enter_context(ear)
            ear.setblocking(False)
            if isinstance(place, Path):
                _bind_in(place, ear)
            elif place:
                ear.bind(place)
            if ear.type == socket.SOCK_STREAM:
                ear.listen()
            loop.add_reader(ear, _hear, name, ear, stage.heard)
            held.callback(loop.remove_reader, ear)
        yield


def _bind_in(folder: Path, ear: socket.socket) -> None:
    """A path of a socket has at most 107 bytes: it is named through the folder."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        ear.bind(f"/proc/self/fd/{fd}/socket")
    finally:
        os.close(fd)


def _hear(name: str, ear: socket.socket, heard: set[str]) -> None:
    heard.add(name)
    with suppress(OSError):
        if ear.type == socket.SOCK_STREAM:
            ear.accept()[0].close()
        else:
            ear.recv(100)
