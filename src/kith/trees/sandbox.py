"""Run a command so that it sees the tree, the system's programs, and nothing else; bubblewrap does it."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from kith.core.errors import TreeError
from kith.core.values import Ran
from kith.core.workspace import Command, ExecLimits
from kith.trees.exec import Captured, capture, run_process, with_limits
from kith.trees.guard import check_path
from kith.trees.network.door import open_door
from kith.trees.toolchains import allowed_environment

HOME = "/tmp/home"
# bwrap shows its own environment to what it runs (as /proc/1/environ), so it gets next to none.
BARE = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "home")
_SECRETS = (
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/krb5.keytab",
    "/etc/pip.conf",
    "/etc/npmrc",
    "/etc/docker",
    "/etc/kubernetes",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/NetworkManager/system-connections",
)
_ISOLATION = (
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--cap-drop",
    "ALL",
    "--new-session",
    "--die-with-parent",
    "--hostname",
    "kith",
)
_PRIVATE = ("/tmp", "/run", "/var/tmp")
# As uid 0 these stay writable through plain ownership, without any capability.
_KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
_PROTECTED = (".git/hooks", ".git/config", ".kith")


@dataclass(frozen=True, slots=True)
class Box:
    """What a command gets to see: the folder `source`, shown at the path `root`, and the toolchains.

    `hidden` folders are covered wherever they would show, and so are the files `masked` of the tree; `extra`
    ones are shown read-only at another path (second) than their own (first). `launcher` is put in front of
    bwrap: it mounts the overlay. `hosts` are the person's own, which every command may reach.
    """

    root: Path
    source: Path
    writable: bool
    toolchains: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    extra: tuple[tuple[Path, Path], ...] = ()
    launcher: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


def bwrap_argv(
    box: Box, argv: Sequence[str], env: Mapping[str, str], folder: str = ".", status_fd: int | None = None
) -> list[str]:
    """The bubblewrap command that runs `argv` in the box, in `folder` of the tree, with exactly `env`.

    The mounts are made in the order in which they are written; later ones cover earlier ones.
    """
    options = [*_ISOLATION, "--uid", str(os.getuid()), "--gid", str(os.getgid()), "--clearenv"]
    for name, value in env.items():
        options += ["--setenv", name, value]
    if status_fd is not None:
        options += ["--json-status-fd", str(status_fd)]
    mounts = [*_system(), *_private(), *_shown(box)]
    place = os.path.normpath(box.root / folder)
    return ["bwrap", *options, *mounts, "--chdir", place, "--", *argv]


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
    for secret in _SECRETS:
        yield from _cover(Path(secret))
    yield from ("--dev", "/dev", "--proc", "/proc")
    for path in map(Path, _KERNEL):
        yield from ("--ro-bind-try", str(path), str(path))
    yield from ("--ro-bind-try", "/dev/null", "/proc/keys")


def _private() -> Iterator[str]:
    """Folders of the command's own, empty at the start and gone at its end."""
    for path in _PRIVATE:
        yield from ("--tmpfs", path)
    yield from ("--dir", HOME)


def _shown(box: Box) -> Iterator[str]:
    """Toolchains, then the tree (which may lie inside one), then what stays closed in both."""
    for path in box.toolchains:
        yield from ("--ro-bind-try", str(path), str(path))
    yield from ("--bind" if box.writable else "--ro-bind", str(box.source), str(box.root))
    for name in _PROTECTED:
        if (box.source / name).exists() and not (box.source / name).is_symlink():
            yield from ("--ro-bind-try", str(box.source / name), str(box.root / name))
    for path in box.hidden:
        if any(
            path.is_relative_to(shown) for shown in (*box.toolchains, box.root, Path("/opt"), Path("/usr"))
        ):
            yield from ("--tmpfs", str(path))
    yield from _masks(box)
    for source, place in box.extra:
        yield from ("--ro-bind-try", str(source), str(place))
    yield from ("--remount-ro", "/")


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


async def run_boxed(box: Box, command: Command, limits: ExecLimits) -> Ran:
    """Run a shell command in the box. Raises TreeError when the sandbox itself does not come up."""
    folder = "." if command.folder in ("", ".") else check_path(command.folder)
    box = replace(box, masked=tuple(map(check_path, command.hidden)))
    async with open_door(command.hosts, box.hosts) as door:
        box = replace(box, extra=(*box.extra, *door.shown))
        known = allowed_environment(box.root, box.toolchains, command.env)
        env = {**door.env, **known, "HOME": HOME, "TMPDIR": "/tmp"}
        with _Wires() as wires:
            inner = door.guard(wires.guard(with_limits([*shell(), command.line], limits)))
            argv = [*box.launcher, *bwrap_argv(box, inner, env, folder, wires.status)]
            ran = await run_process(
                argv,
                command=command.line,
                env=BARE,
                cwd=Path("/"),
                limits=limits,
                sandboxed=True,
                pass_fds=(wires.status, wires.life, *door.pass_fds),
            )
            if not ran.timed_out and not wires.came_up():
                raise TreeError(f"the sandbox did not start: {ran.output.strip() or ran.code}")
        return replace(ran, reached=door.reached())


async def capture_boxed(box: Box, argv: Sequence[str], limits: ExecLimits, input: bytes = b"") -> Captured:
    """Run a program of kith's own (git) in the box and return its output as bytes."""
    env = {**allowed_environment(box.root, box.toolchains, {}), "HOME": HOME, "TMPDIR": "/tmp"}
    full = [*box.launcher, *bwrap_argv(box, argv, env)]
    return await capture(full, env=BARE, cwd=Path("/"), limits=limits, input=input, sandboxed=True)


class _Wires:
    """Two pipes to a sandbox: what bwrap reports on `status`, and `life`, which closes when kith dies."""

    def __enter__(self) -> "_Wires":
        self._reports, self.status = os.pipe()
        self.life, self._held = os.pipe()
        os.set_blocking(self._reports, False)
        return self

    def came_up(self) -> bool:
        """True once the command inside was started: a sandbox that fails is not a command that failed."""
        try:
            return b"exit-code" in os.read(self._reports, 65536)
        except BlockingIOError:
            return False

    def guard(self, argv: Sequence[str]) -> list[str]:
        """`argv`, with a watcher beside it that ends everything in the sandbox when kith dies.

        bwrap asks the kernel to end it with its parent, but when the parent dies before it asks, nobody
        tells it. Nothing is ever written to `life`, so a read from it ends only with the other end.
        """
        if not shell()[0].endswith("bash"):
            return list(argv)
        watcher = f"( (read -r <&{self.life}; kill -9 -1) </dev/null >/dev/null 2>&1 & )"
        return [*shell(), f'{watcher}; exec {self.life}<&-; exec "$@"', "kith", *argv]

    def __exit__(self, *_: object) -> None:
        for fd in (self._reports, self.status, self.life, self._held):
            os.close(fd)


def shell() -> tuple[str, ...]:
    """The shell that commands are written for, and its option for a command line."""
    if os.name == "nt":
        return ("powershell", "-NoProfile", "-NonInteractive", "-Command")
    return (shutil.which("bash", path=BARE["PATH"]) or "/bin/sh", "-c")
