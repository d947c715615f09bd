"""List the mounts of a confined command: shown, covered and private parts of the machine."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from kith.trees.limits import machine_memory

HOME: Final = "/tmp/home"
_LINKS: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "home")
_PROGRAMS: Final = tuple(map(Path, ("/usr", "/opt", "/nix")))
# Settings that everybody may read, though they often hold passwords and keys.
_SECRETS: Final = ("/etc/pip.conf", "/etc/npmrc", "/etc/docker", "/etc/kubernetes", "/etc/krb5.keytab")
_PROTECTED: Final = (".git/hooks", ".git/config", ".kith")
# Folders of the command's own, and which part of the machine's memory may be in each.
_PRIVATE: Final = (("/tmp", 4), ("/var/tmp", 8), ("/dev/shm", 8), ("/run", 64))
_LEAST_PRIVATE: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Box:
    """The view of a confined command: the folder `source`, shown at the path `root`, and the toolchains.

    `hidden` folders are covered wherever they would show, and so are the files `masked` of the tree.
    `extra` ones are shown read-only at another path (second) than their own (first). `overlay` is the
    folder of a trial whose layers are mounted at `root` first. `hosts` are the person's own, which every
    command may reach. `scratch` is the folder that shows as /tmp, which is empty at each start without
    one.
    """

    root: Path
    source: Path
    writable: bool
    toolchains: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    extra: tuple[tuple[Path, Path], ...] = ()
    overlay: Path | None = None
    masked: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    scratch: Path | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the mount points of folders that lie in no other mount."""
        extra = (place for source, place in self.extra if source.is_dir())
        return (Path(HOME), self.root, *self.toolchains, *extra)

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
    """Toolchains, then the tree (which may lie inside one), then what stays closed in both."""
    for path in box.toolchains:
        yield from ("--ro-bind-try", str(path), str(path))
    yield from ("--bind" if box.writable else "--ro-bind", str(box.source), str(box.root))
    for name in _PROTECTED:
        if (box.source / name).exists() and not (box.source / name).is_symlink():
            yield from ("--ro-bind-try", str(box.source / name), str(box.root / name))
    shown = (*box.toolchains, box.root, *_PROGRAMS)
    for path in box.hidden:
        if any(path.is_relative_to(each) for each in shown):
            yield from ("--tmpfs", str(path))
    yield from _masks(box)
    # In an overlay a socket of the tree is another one than outside, to which nobody listens.
    open_to = shown if box.overlay is None and box.source == box.root else (*box.toolchains, *_PROGRAMS)
    for path in _sockets(open_to):
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


def _sockets(folders: Iterable[Path]) -> Iterator[Path]:
    """The UNIX sockets in folders on which programs of this machine listen: no namespace is in their way."""
    above = tuple(f"{folder}/" for folder in folders)
    with suppress(OSError):
        for line in Path("/proc/net/unix").read_text(errors="surrogateescape").splitlines():
            name = "/" + line.partition(" /")[2]
            with suppress(OSError, ValueError):
                if name.startswith(above) and stat.S_ISSOCK(os.lstat(name).st_mode):
                    yield Path(name)
