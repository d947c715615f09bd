"""Run a command so that it sees the tree and the system's programs only, or plainly without a sandbox."""

import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from kith.core.errors import BusyError, KithError, TreeError
from kith.core.values import Ran
from kith.core.workspace import ExecLimits, ShellCommand
from kith.trees.environment import Surroundings, environment_of
from kith.trees.exec import Captured, Hear, capture, run_process, who_hears
from kith.trees.files import check_path, follow_links
from kith.trees.launch import Launch, launch_in, launch_limited, launch_on
from kith.trees.limits import machine_memory
from kith.trees.network import open_gateway
from kith.trees.scratch import Scratch
from kith.trees.seccomp import make_filter
from kith.trees.shared_space import SharedSpace
from kith.trees.trial_folder import claim_folder
from kith.trees.walk import walk

# What a confined command gets to see: which parts of the machine are shown, which covered, which its own.


HOME: Final = "/tmp/home"
_LINKS: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "home")
_PROGRAMS: Final = tuple(map(Path, ("/usr", "/opt", "/nix")))
# Settings that everybody may read, though they often hold passwords and keys.
_SECRETS: Final = ("/etc/pip.conf", "/etc/npmrc", "/etc/docker", "/etc/kubernetes", "/etc/krb5.keytab")
_PROTECTED: Final = (".git/hooks", ".git/config", ".kith")
# Folders of the command's own, and which part of the machine's memory may be in each.
_PRIVATE: Final = (("/tmp", 4), ("/var/tmp", 8), ("/dev/shm", 8), ("/run", 64))
_LEAST_PRIVATE: Final = 64 << 20


class Box(Struct, frozen=True):
    """The view of a confined command: the folder `source`, shown at the path `root`, with `around`.

    `hidden` folders are covered wherever they would show, and so are the files `masked` of the tree.
    `extra` ones are shown read-only at another path (second) than their own (first). `overlay` is the
    folder of a trial whose layers are mounted at `root` first. `hosts` are the person's own, which every
    command may reach. `scratch` is the folder that shows as /tmp, which is empty at each start without
    one. `shared` are the namespaces of a trial with background processes, in which all its commands run;
    one that is `alone` does not share the network.
    """

    root: Path
    source: Path
    writable: bool
    around: Surroundings = Surroundings()
    hidden: tuple[Path, ...] = ()
    extra: tuple[tuple[Path, Path], ...] = ()
    overlay: Path | None = None
    masked: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    scratch: Path | None = None
    shared: SharedSpace | None = None
    alone: bool = False

    @property
    def clean(self) -> "Box":
        """The same, for checks: they learn of other commands only by the files of the tree."""
        return replace(self, scratch=None, alone=True)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the mount points of folders that lie in no other mount."""
        extra = (place for source, place in self.extra if source.is_dir())
        return (Path(HOME), self.root, *self.around.folders, *extra)

    @property
    def files(self) -> tuple[Path, ...]:
        """The same for single files."""
        return tuple(place for source, place in self.extra if source.is_file())


def mounts_of(box: Box) -> list[str]:
    """Options for bwrap. The mounts are made in their order; later ones cover earlier ones."""
    scratch = ["--bind", str(box.scratch), "/tmp", "--dir", HOME] if box.scratch else []
    return [*_machine(bool(scratch)), *scratch, *_shown(box), "--remount-ro", "/"]


@cache
def _machine(has_scratch: bool) -> tuple[str, ...]:
    """Return the mounts that do not depend on the tree; cached, since finding them is slow."""
    return (*_system(), *_private(has_scratch))


def _system() -> Iterator[str]:
    """The system's programs and settings, read-only, without its secrets."""
    yield from ("--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc")
    for name in _LINKS:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir() and name != "home":
            yield from ("--ro-bind", str(path), str(path))
    yield from ("--ro-bind-try", "/opt", "/opt", "--ro-bind-try", "/nix", "/nix")
    for secret in _secrets():
        yield from _cover(secret)
    # As uid 0 much of /proc stays writable through plain ownership, without any capability.
    yield from ("--proc", "/proc", "--ro-bind-try", "/dev/null", "/proc/keys", "--remount-ro", "/proc")


def _private(has_scratch: bool) -> Iterator[str]:
    """Empty at the start and gone at the end; what is in them is in memory."""
    yield from ("--dev", "/dev")
    for path, part in _PRIVATE[1:] if has_scratch else _PRIVATE:
        yield from ("--size", str(max(_LEAST_PRIVATE, machine_memory() // part)), "--tmpfs", path)
    yield from ("--remount-ro", "/dev", *(() if has_scratch else ("--dir", HOME)))


def _shown(box: Box) -> Iterator[str]:
    """The folders around the tree, then the tree (which may lie inside one), then what stays closed."""
    for path in box.around.folders:
        yield from ("--ro-bind-try", str(path), str(path))
    yield from ("--bind" if box.writable else "--ro-bind", str(box.source), str(box.root))
    for name in _PROTECTED:
        if (box.source / name).exists() and not (box.source / name).is_symlink():
            yield from ("--ro-bind-try", str(box.source / name), str(box.root / name))
    shown = (*box.around.folders, box.root, *_PROGRAMS)
    for path in box.hidden:
        if any(path.is_relative_to(each) for each in shown):
            yield from ("--tmpfs", str(path))
    yield from _masks(box)
    # In an overlay a socket of the tree is another one than outside, to which nobody listens.
    own = (box.root,) if box.overlay is None and box.source == box.root else ()
    for path in _sockets((*box.around.folders, *own, *_PROGRAMS, Path("/etc"))):
        yield from _cover(path)
    for source, place in box.extra:
        yield from ("--ro-bind-try", str(source), str(place))


def _masks(box: Box) -> Iterator[str]:
    """Nothing in the place of what is masked, where it stays for the next command, too."""
    there = [
        name for name in box.masked if (box.source / name).is_file() and not (box.source / name).is_symlink()
    ]
    if box.writable and box.source != box.root:
        # A folder that is mounted cannot be renamed, and its files with it; in an overlay no folder of the
        # tree can be.
        for folder in sorted({above for name in there for above in PurePosixPath(name).parents[:-1]}):
            yield from ("--bind", str(box.source / folder), str(box.root / folder))
    for name in there:
        yield from ("--ro-bind", "/dev/null", str(box.root / name))


def _cover(path: Path) -> tuple[str, ...]:
    if path.is_symlink() or not path.exists():
        return ()
    return ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", "/dev/null", str(path))


@cache
def _secrets() -> tuple[Path, ...]:
    """List system files that only this user (or root) can read, and known places of secrets."""
    found, waiting = list[Path](), ["/etc"]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if _is_secret(entry.stat(follow_symlinks=False)):
                    found.append(Path(entry.path))
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return (*found, *map(Path, _SECRETS))


def _is_secret(status: os.stat_result) -> bool:
    """True if this user can read a file that others cannot, without any capability."""
    mode = status.st_mode
    if mode & stat.S_IROTH or not ((stat.S_ISREG(mode) and status.st_size) or stat.S_ISDIR(mode)):
        return False
    if status.st_uid == os.getuid():
        return bool(mode & stat.S_IRUSR)
    return status.st_gid in (os.getgid(), *os.getgroups()) and bool(mode & stat.S_IRGRP)


_CONNECTED: Final = "03"  # a state in /proc/net/unix: nobody else can connect to such a socket


def _sockets(folders: Iterable[Path]) -> Iterator[Path]:
    """The UNIX sockets in folders on which programs of this machine listen: no namespace is in their way."""
    shown = {folder: Path(os.path.realpath(folder)) for folder in folders}
    lost = set[str]()  # those whose name does not say where they are
    with suppress(OSError):
        for line in Path("/proc/net/unix").read_text(errors="surrogateescape").splitlines()[1:]:
            fields = line.split(maxsplit=7)
            if len(fields) < 8 or fields[7].startswith("@") or fields[5] == _CONNECTED:
                continue
            if not fields[7].startswith("/"):
                lost.add(" ".join(fields[6:]))
                continue
            name = Path(os.path.realpath(fields[7]))
            for folder in (each for each, real in shown.items() if name.is_relative_to(real)):
                if _is_socket(name):
                    yield folder / name.relative_to(shown[folder])
                else:  # it was renamed, or is gone
                    lost.add(" ".join(fields[6:]))
    for folder in shown if lost else ():
        yield from _sockets_below(folder, frozenset(lost))


def _is_socket(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return stat.S_ISSOCK(path.lstat().st_mode)
    return False


@lru_cache(maxsize=64)
def _sockets_below(folder: Path, lost: frozenset[str]) -> tuple[Path, ...]:
    """Every socket in a folder, found once for the same `lost` ones: bound by a relative name, or renamed."""
    special = (folder / visit.path / name for visit in walk(folder) for name in visit.special)
    return tuple(path for path in special if _is_socket(path))


# Run a command so that it sees the tree and the system's programs only, or plainly without a sandbox.


# bwrap shows its own environment to what it runs (as /proc/1/environ), so it gets next to none.
BARE = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
_OPEN: Final = 0o666
# Looking for leaks takes ptrace, and programs built to do so fail without it.
_CALM = {"LSAN_OPTIONS": "detect_leaks=0"}
# What util-linux's unshare says when it has to end, written word by word: its name comes first.
_KILLED = "unshare: sigprocmask unblock failed: Invalid argument\n"
_KILLED_BEGINS = len("unshare: ")
_ISOLATION = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
    *("--new-session", "--die-with-parent", "--hostname", "kith"),
)


async def run_boxed(box: Box, command: ShellCommand, limits: ExecLimits) -> Ran:
    """Run a shell command in the box. Raises TreeError when the sandbox itself does not come up."""
    heard = WithoutKilled(who_hears())
    folder = "." if command.folder in ("", ".") else check_path(command.folder)
    box = replace(box, masked=tuple(map(check_path, command.hidden)))
    # Hosts are allowed for one command: with hosts of its own it shares no network with the others.
    shared = None if box.alone or command.hosts else box.shared
    async with open_gateway(command.hosts, () if shared else box.hosts) as gateway:
        way_out = shared.gateway if shared else gateway
        before = way_out.reached()
        box = replace(box, extra=(*box.extra, *way_out.shown))
        env = {**way_out.env, **environment_in(box, command.env)}
        scratch = Scratch(box.scratch, limits.scratch) if box.scratch else None
        if scratch:
            scratch.prepare(box.folders, box.files)
        with Wires() as wires, launch_of(box, limits) as launch:
            done = await capture(
                wires.bwrap(gateway.wrap([*shell(), command.line])),
                env=BARE,
                cwd=Path("/"),
                limits=limits,
                input=command.input,
                sandboxed=True,
                launch=launch,
                prepare=lambda: wires.tell(bwrap_options(box, env, folder, shared is not None)),
                pass_fds=(*wires.pass_fds, *gateway.pass_fds),
                place=_disk_of(box),
                hear=heard,
                scratch=scratch,
            )
            heard.end()
            ran = done.as_ran(command.line, sandboxed=True)
            if done.timed_out or done.stopped:
                ran = replace(ran, output=ran.output.replace(_KILLED, ""))
            elif not wires.came_up():
                raise TreeError(f"the sandbox did not start: {ran.output.strip() or ran.code}")
        told = await asyncio.to_thread(scratch.settle) if scratch else ""
        reached = tuple(each for each in way_out.reached() if each not in before)
        return replace(ran, output=ran.output + told, reached=reached)


async def capture_boxed(box: Box, argv: Sequence[str], limits: ExecLimits, input: bytes = b"") -> Captured:
    """Run a program of kith's own (git) in the box and return its output as bytes.

    What earlier commands left in /tmp, and in the home there, has no say in it.
    """
    box = replace(box, scratch=None)
    with Wires() as wires, launch_of(box, limits) as launch:
        return await capture(
            wires.bwrap(argv),
            env=BARE,
            cwd=Path("/"),
            limits=limits,
            input=input,
            sandboxed=True,
            launch=launch,
            prepare=lambda: wires.tell(bwrap_options(box, environment_in(box, {}))),
            pass_fds=wires.pass_fds,
            place=_disk_of(box),
        )


def environment_in(box: Box, extra: Mapping[str, str]) -> dict[str, str]:
    """The variables of a command in the box."""
    known = environment_of(box.root, box.around, {})
    return {**known, **_CALM, **extra, "HOME": HOME, "TMPDIR": "/tmp"}


@contextmanager
def launch_of(box: Box, limits: ExecLimits) -> Iterator[Launch]:
    """Yield the command that starts bwrap for this box."""
    with _keep_devices():
        if box.shared:
            yield launch_in(box.shared.front, limits)
        elif box.overlay is None:
            yield launch_limited(limits)
        else:
            with launch_on(box.overlay, box.root, limits) as launch:
                yield launch


@contextmanager
def _keep_devices() -> Iterator[None]:
    """Undo what a command did to the modes of devices.

    bwrap shows the machine's own /dev/null and its like, which a command of kith as uid 0 owns. Made
    read-only, as by some tests, they stop every shell. Where bwrap mounts them read-only, they are of no use.
    """
    devices = _open_devices() if os.geteuid() == 0 else ()
    try:
        yield
    finally:
        for path in devices:
            with suppress(OSError):
                if _mode(path) != _OPEN:
                    path.chmod(_OPEN)


@cache
def _open_devices() -> tuple[Path, ...]:
    """The devices that anybody may read and write when kith looks first; others stay as they are."""
    known = (Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom", "tty"))
    return tuple(path for path in known if path.is_char_device() and _mode(path) == _OPEN)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _disk_of(box: Box) -> Path | None:
    return box.overlay or (box.source if box.writable else None)


class WithoutKilled:
    """Passes output on without what unshare says when it is ended, which comes in pieces."""

    def __init__(self, hear: Hear) -> None:
        self._hear, self._held = hear, b""

    def __call__(self, output: bytes) -> None:
        said = _KILLED.encode()
        output = (self._held + output).replace(said, b"")
        begun = (
            size for size in range(len(said) - 1, _KILLED_BEGINS - 1, -1) if output.endswith(said[:size])
        )
        passed = len(output) - next(begun, 0)
        self._held = output[passed:]
        if passed:
            self._hear(output[:passed])

    def end(self) -> None:
        """Pass on what only began like it."""
        if self._held:
            self._hear(self._held)
        self._held = b""


class Wires:
    """The ends of a sandbox that kith holds: what bwrap is told, and what it reports."""

    def __enter__(self) -> "Wires":
        self._reports, self._status = os.pipe()
        os.set_blocking(self._reports, False)
        self._told = os.memfd_create("kith")
        self._lent = [self._status, self._told]
        if rules := make_filter():
            self._lent.append(os.memfd_create("kith"))
            os.write(self._lent[-1], rules)
            os.lseek(self._lent[-1], 0, os.SEEK_SET)
        return self

    @property
    def pass_fds(self) -> tuple[int, ...]:
        return tuple(self._lent)

    def bwrap(self, argv: Sequence[str]) -> list[str]:
        """The bubblewrap command that runs `argv`, with the options that it will be told."""
        return ["bwrap", "--args", str(self._told), "--", *argv]

    def tell(self, options: Sequence[str]) -> None:
        """Hand the options over, before bwrap begins, in a file in memory.

        So neither who lists the processes of this machine sees the variables, nor the command itself the
        paths of what is hidden from it.
        """
        own = ["--json-status-fd", str(self._status)]
        own += [word for fd in self._lent[2:] for word in ("--seccomp", str(fd))]
        os.write(self._told, os.fsencode("".join(f"{option}\0" for option in [*options, *own])))
        os.lseek(self._told, 0, os.SEEK_SET)

    def came_up(self) -> bool:
        """True once the command inside was started: a sandbox that fails is not a command that failed."""
        try:
            return b"exit-code" in os.read(self._reports, 65536)
        except BlockingIOError:
            return False

    def __exit__(self, *_: object) -> None:
        for fd in (self._reports, *self._lent):
            os.close(fd)


def bwrap_options(
    box: Box, env: Mapping[str, str], folder: str = ".", shares_network: bool = False
) -> list[str]:
    """Build the options of bubblewrap for the box, without the numbers of file descriptors."""
    network = ("--share-net",) if shares_network else ()
    options = [*_ISOLATION, *network, "--uid", str(os.getuid()), "--gid", str(os.getgid()), "--clearenv"]
    for name, value in env.items():
        options += ["--setenv", name, value]
    return [*options, *mounts_of(box), "--chdir", os.path.normpath(box.root / folder)]


def shell() -> tuple[str, ...]:
    """The shell that commands are written for, and its option for a command line."""
    if os.name == "nt":
        return ("powershell", "-NoProfile", "-NonInteractive", "-Command")
    return (shutil.which("bash", path=BARE["PATH"]) or "/bin/sh", "-c")


# Run a command where there is no sandbox: in a folder, with the allowed variables and a home of its
# own.


async def run_plain(
    root: Path, scratch: Path, around: Surroundings, command: ShellCommand, limits: ExecLimits
) -> Ran:
    """Run a shell command in the tree at `root`; its home and temporary files go to `scratch`."""
    folder = root if command.folder in ("", ".") else root / follow_links(root, command.folder)
    home, temporary = scratch / "home", scratch / "tmp"
    for each in (home, temporary):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    private = {"HOME": str(home), "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}
    kept = Scratch(temporary, limits.scratch, PurePosixPath(temporary))
    ran = await run_process(
        [*shell(), command.line],
        command=command.line,
        env=environment_of(root, around, command.env) | private,
        cwd=folder,
        limits=limits,
        input=command.input,
        sandboxed=False,
        scratch=kept,
    )
    return replace(ran, output=ran.output + await asyncio.to_thread(kept.settle))


# What this machine can do to confine commands, found out once and remembered until it restarts.


_START_S: Final = (
    60.0  # in which a sandbox starts on any machine: what takes longer says nothing of what works
)


class Abilities(Struct, frozen=True):
    """The sandbox features that work here; for each missing one the reason in one sentence ("": works)."""

    no_sandbox: str = ""
    no_overlay: str = ""

    @property
    def sandbox(self) -> bool:
        return not self.no_sandbox

    @property
    def overlay(self) -> bool:
        return not self.no_overlay


def probe(root: Path, state: Path, cache: Path) -> Abilities:
    """Probe the sandbox for the tree at `root` with trials in `state`; `cache` keeps the result.

    Raises BusyError where that takes too long to tell: without an answer nothing runs unconfined.
    """
    file = cache / "abilities.json"
    key = "\n".join((_boot(), str(_user()), str(shutil.which("bwrap")), str(state), str(root)))
    known: dict[str, dict[str, str]] = {}
    with suppress(OSError, ValueError):
        known = json.loads(file.read_text())
    if isinstance(known, dict) and isinstance(known.get(key), dict):
        with suppress(TypeError):
            return Abilities(**known[key])
    found = look(root, state)
    boot = _boot()
    kept = {old: value for old, value in known.items() if old.startswith(boot + "\n")}
    with suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps({**kept, key: asdict(found)}))
        new.replace(file)
    return found


def look(root: Path, state: Path, seconds: float = _START_S) -> Abilities:
    """Try it: run a command in a sandbox, and one in a sandbox on an overlay.

    Raises BusyError where one takes longer than `seconds`.
    """
    no_sandbox = _try_sandbox(root, seconds)
    return Abilities(no_sandbox, no_sandbox or _try_overlay(root, state, seconds))


def _try_sandbox(root: Path, seconds: float) -> str:
    if sys.platform != "linux":
        return "there is no sandbox for commands on this system"
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed (the command is called bwrap)"
    complaint = _run(Box(root, root, False), seconds)
    return f"bubblewrap does not work here ({complaint})" if complaint else ""


def _try_overlay(root: Path, state: Path, seconds: float) -> str:
    owner = root.stat()
    if (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
        return f"{root} belongs to another user or group"
    try:
        with claim_folder(state, root) as folder:
            for layer in ("upper", "work"):
                (folder / layer).mkdir()
            os.mknod(folder / "whiteout", 0o020000, 0)
            os.setxattr(folder / "upper", "user.overlay.opaque", b"n")
            os.removexattr(folder / "upper", "user.overlay.opaque")
            complaint = _run(Box(root, root, True, overlay=folder), seconds)
    except BusyError:
        raise
    except (OSError, KithError) as error:
        complaint = str(error)
    return f"overlays cannot be mounted here ({complaint})" if complaint else ""


def _run(box: Box, seconds: float) -> str:
    """ "" when a command succeeds in the box, else the first line of the complaint."""
    with Wires() as wires, launch_of(box, ExecLimits()) as launch:
        wires.tell(bwrap_options(box, {}))
        argv = launch.argv(wires.bwrap(["true"]))
        try:
            ran = subprocess.run(
                argv,
                env=BARE,
                cwd="/",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=seconds,
                pass_fds=wires.pass_fds,
            )
        except subprocess.TimeoutExpired:
            raise BusyError(
                f"This machine is too busy: a sandbox did not start within {seconds:.0f} s. Try again later; "
                'to work without one, set sandbox = "off".'
            ) from None
        except OSError as error:
            return str(error)
    lines = ran.stderr.decode(errors="replace").strip().splitlines()
    return "" if ran.returncode == 0 else (lines or [f"exit code {ran.returncode}"])[0]


def _boot() -> str:
    """A name for the time since the machine started; the next start may have other settings."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _user() -> int:
    return os.getuid() if sys.platform != "win32" else 0
