"""`kith doctor --sandbox`: try to get out of the sandbox that commands run in, by attempts in words."""

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
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.values import Ran
from kith.core.workspace import ExecLimits, ShellCommand, Trial
from kith.settings import Settings
from kith.trees.environment import python_inside
from kith.trees.local import open_tree
from kith.trees.seccomp import MACHINES

# What the doctor tries in order to get out of a sandbox: attempts in words, and the programs that make
# them.

REACHED: Final = "kith-probe-reached"
# `outside`, `port`, `process`, `asleep` and the like are given in front of it; the folder is the tree's.
PRELUDE: Final = f"""
import ctypes, errno, fcntl, os, socket, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def reached(): print({REACHED!r}, flush=True)
def call(name, *args):
    if name not in calls: print("no such call here"); sys.exit()
    got = libc.syscall(ctypes.c_long(calls[name]), *args)
    if got < 0: print(os.strerror(ctypes.get_errno()))
    return got
def refused(name, *args):
    if call(name, *args) >= 0: reached()
def sends(kind, address, how=socket.SOCK_STREAM):
    with socket.socket(kind, how) as end:
        end.settimeout(1); end.connect(address); end.send(b"x")
def writes(path):
    with open(path, "a") as file: file.write("x")
    reached()
def opens(path):
    with open(path, "rb") as file: file.read(1)
    reached()
"""


class Attempt(Struct, frozen=True):
    """A way out: what it is about, what is tried, and with what program, which may have to be stopped."""

    topic: str
    tried: str
    program: str

    @property
    def ends(self) -> bool:
        return self.topic != "limits"


_FILES: Final = (
    ("write to /etc", "writes('/etc/kith-probe')"),
    ("write to /usr", "writes('/usr/kith-probe')"),
    ("write to a folder beside the project", "writes(outside + '/new')"),
    ("write through a link that leads out", "open('leads-out/new', 'w').write('x')"),
    ("write through a hard link to a file", "open('hard-link', 'a').write(canary)"),
    ("change the project itself, past the trial", "open('file', 'a').write(canary)"),
    ("plant a git hook", "os.makedirs('.git/hooks', exist_ok=True); writes('.git/hooks/post-commit')"),
    ("leave a program with the set-user-ID bit", "open('su', 'w').close(); os.chmod('su', 0o4755)"),
    ("read a file beside the project", "print(open(outside + '/secret').read())"),
    ("read the password file", "opens('/etc/shadow')"),
    ("read a file of the home folder", "reached() if files_in(home) else print('none is there')"),
    ("read kith's own files", "reached() if os.listdir(state) else print('none is there')"),
    ("make a device", "os.mknod('/tmp/disk', 0o60600, os.makedev(8, 0)); reached()"),
    ("open the machine's memory", "opens('/dev/mem')"),
    ("open a file by its number on the disk", "refused('open_by_handle_at', -100, b'x' * 64, 0)"),
)
_NAMESPACES: Final = (
    ("mount everything writable again", "refused('mount', b'/', b'/', None, 32 | 4096, None)"),
    ("take a mount away", "refused('umount2', b'/tmp', 2)"),
    ("change the root folder", "os.chroot('/tmp'); reached()"),
    ("make a user namespace", "refused('unshare', 0x10000000)"),
    ("make one while starting a process", "refused('clone', 0x10000000 | 17, None, None, None, None)"),
    ("enter the namespaces of the first process", "refused('setns', os.open('/proc/1/ns/mnt', 0), 0)"),
    ("look through the first process's root", "print(os.listdir('/proc/1/root' + outside))"),
    ("have a capability", "reached() if capabilities() else print('there is none')"),
    (
        "gain one from a program",
        "reached() if 'NoNewPrivs:\\t0' in status() else print('programs gain none')",
    ),
)
_PROCESSES: Final = (
    ("see a process outside", "reached() if os.path.exists(f'/proc/{process}') else print('out of sight')"),
    ("signal a process outside", "os.kill(process, 0); reached()"),
    ("trace a process", "refused('ptrace', 0, 0, 0, 0)"),
    ("read another process's memory", "refused('process_vm_readv', os.getppid(), None, 0, None, 0, 0)"),
    ("outlive the command", "subprocess.Popen(['sleep', str(asleep)], start_new_session=True)"),
)
_NETWORK: Final = (
    ("connect to this machine", "sends(socket.AF_INET, ('127.0.0.1', port))"),
    ("send a datagram to this machine", "sends(socket.AF_INET, ('127.0.0.1', port), socket.SOCK_DGRAM)"),
    ("connect to the internet", "sends(socket.AF_INET, ('1.1.1.1', 53)); reached()"),
    ("connect to a socket beside the project", "sends(socket.AF_UNIX, outside + '/socket')"),
    ("connect to a socket in the project", "sends(socket.AF_UNIX, 'socket')"),
    ("connect to a socket without a file", "sends(socket.AF_UNIX, '\\0kith-probe-%d' % port)"),
    ("listen to the network's packets", "socket.socket(17, socket.SOCK_RAW); reached()"),
    ("talk to the host of a virtual machine", "socket.socket(40, socket.SOCK_STREAM); reached()"),
    ("talk to the kernel's own sockets", "socket.socket(16, socket.SOCK_RAW, 9); reached()"),
)
_KERNEL: Final = (
    ("change a setting of the kernel", "open('/proc/sys/kernel/core_pattern', 'r+'); reached()"),
    ("use the emergency key", "open('/proc/sysrq-trigger', 'w'); reached()"),
    ("change a setting of a device", "open('/sys/kernel/mm/transparent_hugepage/enabled', 'r+'); reached()"),
    ("read the kernel's messages", "refused('syslog', 3, ctypes.create_string_buffer(9), 9)"),
    ("read the keys of the session", "refused('keyctl', 0, -3, 1)"),
    ("store a key", "refused('add_key', b'user', b'kith', b'x', 1, -2)"),
    ("use io_uring", "refused('io_uring_setup', 1, ctypes.create_string_buffer(256))"),
    ("load a program into the kernel", "refused('bpf', 0, ctypes.create_string_buffer(128), 128)"),
    ("watch the processor", "refused('perf_event_open', ctypes.create_string_buffer(128), 0, -1, -1, 0)"),
    ("handle faults of memory", "refused('userfaultfd', 1)"),
    ("type into a terminal", "fcntl.ioctl(os.openpty()[1], 0x5412, b'x'); reached()"),
    ("set the clock", "time.clock_settime(0, time.time()); reached()"),
)
_SECRETS: Final = (
    ("find a key in the environment", "print(*os.environ.values())"),
    ("find it in the first process's", "print(open('/proc/1/environ').read())"),
    ("find it in any process's", "print(*(open(f'/proc/{n}/environ').read() for n in numbers()))"),
    ("find where kith hides things", "print(*(open(f'/proc/{n}/cmdline').read() for n in numbers()))"),
)
_LIMITS: Final = (
    ("start processes without end", "many(lambda: os.fork() or time.sleep(30) or os._exit(0))"),
    ("open files without end", "many(lambda: os.open('/dev/null', 0))"),
    ("write a file without end", "os.posix_fallocate(os.open('large', 65), 0, 1 << 40); reached()"),
    ("fill the memory with files", "too_roomy('/var/tmp', '/dev/shm', '/run')"),
    ("use memory without end", "grow(); reached()"),
    ("print without end", "while True: os.write(1, b'y' * 65536)"),
    ("run without end", "time.sleep(3600); reached()"),
)
_MORE: Final = """
def status(): return open('/proc/self/status').read()
def capabilities(): return int(status().split('CapEff:')[1].split()[0], 16)
def numbers(): return [n for n in os.listdir('/proc') if n.isdigit() and n != str(os.getpid())]
def many(make):
    for _ in range(5000): make()
    reached()
def files_in(folder): return [n for n in os.listdir(folder) if os.path.isfile(os.path.join(folder, n))]
def too_roomy(*folders):
    found = [os.statvfs(each) for each in {os.stat(each).st_dev: each for each in folders}.values()]
    room = sum(each.f_blocks * each.f_frsize for each in found)
    whole = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
    reached() if room > max(whole * 3 // 4, 1 << 28) else print('they are limited')
def grow():
    held = []
    for _ in range(64): held.append(bytearray(b'x' * (1 << 26)))
"""
TOPICS: Final = {
    "files": _FILES,
    "namespaces": _NAMESPACES,
    "processes": _PROCESSES,
    "network": _NETWORK,
    "kernel": _KERNEL,
    "secrets": _SECRETS,
    "limits": _LIMITS,
}


def attempts() -> Iterator[Attempt]:
    """All of them, by topic."""
    for topic, rows in TOPICS.items():
        for tried, program in rows:
            yield Attempt(topic, tried, program)


def program_of(attempt: Attempt, given: dict[str, object], machine: str) -> str:
    """The whole program: what it is given, the prelude, and the attempt."""
    known = {**given, "calls": dict(MACHINES[machine].numbers) if machine in MACHINES else {}}
    lines = [f"{name} = {value!r}" for name, value in known.items()]
    body = "\n".join(f"    {line}" for line in attempt.program.splitlines())
    guarded = f"try:\n{body}\nexcept (OSError, MemoryError) as error:\n    print(error)"
    return "\n".join([*lines, PRELUDE, _MORE, guarded])


LIMITS: Final = ExecLimits(seconds=2.0, output=4000, memory=1 << 30, processes=300, file_size=64 << 20)
_PATIENT: Final = replace(LIMITS, seconds=30.0)  # what a busy machine did not get to shows nothing
_SETTLES_S: Final = 0.02  # for what was sent to arrive
_LASTS_S: Final = 1.5  # more than the limit by which a command that was stopped in time may have run
_AT_ONCE: Final = 4


class EscapeOutcome(Struct, frozen=True):
    """The result of an escape attempt: held or escaped, and why, in a few words."""

    attempt: Attempt
    held: bool
    why: str


class _Stage(Struct):
    """A project, a folder beside it with things to steal or to break, and listeners for connections."""

    root: Path
    outside: Path
    state: Path
    canary: str
    port: int
    process: int
    heard: set[str] = field(default_factory=set)
    before: Mapping[str, object] = field(default_factory=dict)

    def given(self) -> dict[str, object]:
        """The facts that the escape programs are given."""
        names = {"outside": self.outside, "state": self.state, "home": Path("~").expanduser()}
        paths: dict[str, object] = {name: str(path) for name, path in names.items()}
        # The canary itself is not among it: a program that prints it has found it.
        numbers = {"port": self.port, "process": self.process, "asleep": self.asleep}
        return {**paths, **numbers, "canary": "x" * 16}

    @property
    def asleep(self) -> int:
        """The sleep time in seconds that marks a process which must not outlive its command."""
        return 31_500_000 + self.process

    def look(self) -> dict[str, object]:
        """Record the files that an attempt must not change."""
        return {str(path): _look_at(path) for top in (self.root, self.outside) for path in top.rglob("*")}


def _look_at(path: Path) -> object:
    status = path.lstat()
    return status.st_mode, path.read_bytes() if path.is_file() and not path.is_symlink() else b""


async def try_sandbox(settings: Settings, tell: Callable[[EscapeOutcome], None]) -> None:
    """Make every attempt, a few at a time, in trials of small sample projects; report them in order.

    Raises TreeError where commands cannot be confined at all.
    """
    settings.cache.mkdir(parents=True, exist_ok=True)
    waiting = deque((attempt, asyncio.Future[EscapeOutcome]()) for attempt in attempts())
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


async def _try_some(folder: Path, waiting: "deque[tuple[Attempt, asyncio.Future[EscapeOutcome]]]") -> None:
    """Make attempts in one project for as long as any wait."""
    with _stage(folder) as stage:
        tree = open_tree(stage.root, stage.state, stage.state / "cache", sandbox="require")
        async with tree.trial() as trial, _listening(stage):
            stage.before = stage.look()
            while waiting:
                attempt, outcome = waiting.popleft()
                outcome.set_result(await _make(attempt, trial, stage))


async def _make(attempt: Attempt, trial: Trial, stage: _Stage) -> EscapeOutcome:
    program = program_of(attempt, stage.given(), platform.machine())
    stage.heard.clear()
    await trial.write("probe.py", program.encode())
    command = ShellCommand(shlex.join([python_inside(), "-I", "-S", "probe.py"]))
    ran = await trial.exec(command, _PATIENT if attempt.ends else LIMITS)
    await asyncio.sleep(_SETTLES_S)
    escape = _escape(ran, stage) or ("it did not come to an end" if attempt.ends and ran.timed_out else "")
    await trial.go_back("")
    found_nothing = "it is not there" if attempt.topic == "secrets" else ""
    return EscapeOutcome(attempt, not escape, escape or found_nothing or _reason(ran))


def _escape(ran: Ran, stage: _Stage) -> str:
    """Describe the evidence that an attempt escaped; "" for none."""
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
    return "nothing blocked it" if REACHED in ran.output else ""


def _runs_on(stage: _Stage) -> bool:
    wanted = b"sleep\0%d\0" % stage.asleep
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if file.read_bytes() == wanted:
                return True
    return False


def _reason(ran: Ran) -> str:
    """Return a program's last line, without Python's prefix."""
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
