"""`kith doctor --sandbox`: tries on this very machine to get out of the sandbox that commands run in."""

import asyncio
import os
import platform
import secrets
import shlex
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kith.core.values import Ran
from kith.core.workspace import Command, ExecLimits, Trial
from kith.doctor.escapes import REACHED, Attempt, attempts, program_of
from kith.settings import Settings
from kith.trees.trials import open_tree

LIMITS: Final = ExecLimits(seconds=2.0, output=4000, memory=1 << 30, processes=300, file_size=64 << 20)
_SETTLES_S: Final = 0.02  # for what was sent to arrive
_LASTS_S: Final = 1.5  # more than the limit by which a command that was stopped in time may have run


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
        return {**paths, "port": self.port, "process": self.process, "canary": "x" * 16}

    def look(self) -> dict[str, object]:
        """What an attempt must not change."""
        return {str(path): _look_at(path) for top in (self.root, self.outside) for path in top.rglob("*")}


def _look_at(path: Path) -> object:
    status = path.lstat()
    return status.st_mode, path.read_bytes() if path.is_file() and not path.is_symlink() else b""


async def try_sandbox(settings: Settings, tell: Callable[[Outcome], None]) -> None:
    """Make every attempt, one after the other, in a trial of a small project made for it.

    Raises TreeError where commands cannot be confined at all.
    """
    settings.cache.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="sandbox-", dir=settings.cache) as folder, _stage(Path(folder)) as stage:
        tree = open_tree(stage.root, stage.state, stage.state / "cache", sandbox="require")
        async with tree.trial() as trial, _listening(stage):
            stage.before = stage.look()
            for attempt in attempts():
                tell(await _make(attempt, trial, stage))


async def _make(attempt: Attempt, trial: Trial, stage: _Stage) -> Outcome:
    program = program_of(attempt, stage.given(), platform.machine())
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    stage.heard.clear()
    await trial.write("probe.py", program.encode())
    ran = await trial.exec(Command(shlex.join([python, "-I", "-S", "probe.py"])), LIMITS)
    await asyncio.sleep(_SETTLES_S)
    escape = _escape(ran, stage)
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
    if ran.seconds > LIMITS.seconds + _LASTS_S:
        return f"it ran for {ran.seconds:.1f} s"
    if _runs_on():
        return "it still runs"
    return "nothing stood in the way" if REACHED in ran.output else ""


def _runs_on() -> bool:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if file.read_bytes() == b"sleep\x0031557600\x00":
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
        each.mkdir()
    canary = secrets.token_hex(16)
    (root / "file").write_text("content\n")
    (outside / "secret").write_text(canary)
    (outside / "target").write_text("content\n")
    (root / "leads-out").symlink_to(outside)
    (root / "hard-link").hardlink_to(outside / "target")
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    name = "KITH_PROBE_API_KEY"
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
