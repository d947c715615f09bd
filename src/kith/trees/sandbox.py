"""Run a command so that it sees the tree and the system's programs only, or plainly without a sandbox."""

import asyncio
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from kith.core.errors import TreeError
from kith.core.values import Ran
from kith.core.workspace import Command, ExecLimits
from kith.trees.environment import allowed_environment
from kith.trees.exec import Captured, capture, run_process, who_hears
from kith.trees.files import check_path, follow_links
from kith.trees.launch import Launch, launch_limited, launch_on
from kith.trees.network import open_gateway
from kith.trees.sandbox_view import HOME, Box, mounts_of
from kith.trees.scratch import Scratch
from kith.trees.seccomp import make_filter

# bwrap shows its own environment to what it runs (as /proc/1/environ), so it gets next to none.
BARE = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
# Looking for leaks takes ptrace, and programs built to do so fail without it.
_CALM = {"LSAN_OPTIONS": "detect_leaks=0"}
_KILLED = "unshare: sigprocmask unblock failed: Invalid argument\n"  # what it says when it has to end
_ISOLATION = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
    *("--new-session", "--die-with-parent", "--hostname", "kith"),
)


async def run_boxed(box: Box, command: Command, limits: ExecLimits) -> Ran:
    """Run a shell command in the box. Raises TreeError when the sandbox itself does not come up."""
    folder = "." if command.folder in ("", ".") else check_path(command.folder)
    box = replace(box, masked=tuple(map(check_path, command.hidden)))
    async with open_gateway(command.hosts, box.hosts) as gateway:
        box = replace(box, extra=(*box.extra, *gateway.shown))
        env = {**gateway.env, **environment_in(box, command.env)}
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
                prepare=lambda: wires.tell(bwrap_options(box, env, folder)),
                pass_fds=(*wires.pass_fds, *gateway.pass_fds),
                place=_disk_of(box),
                hear=who_hears(),
                scratch=scratch,
            )
            ran = done.as_ran(command.line, sandboxed=True)
            if done.timed_out or done.stopped:
                ran = replace(ran, output=ran.output.replace(_KILLED, ""))
            elif not wires.came_up():
                raise TreeError(f"the sandbox did not start: {ran.output.strip() or ran.code}")
        told = await asyncio.to_thread(scratch.settle) if scratch else ""
        return replace(ran, output=ran.output + told, reached=gateway.reached())


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
    known = allowed_environment(box.root, box.toolchains, {})
    return {**known, **_CALM, **extra, "HOME": HOME, "TMPDIR": "/tmp"}


@contextmanager
def launch_of(box: Box, limits: ExecLimits) -> Iterator[Launch]:
    """Yield the command that starts bwrap for this box."""
    if box.overlay is None:
        yield launch_limited(limits)
        return
    with launch_on(box.overlay, box.root, limits) as launch:
        yield launch


def _disk_of(box: Box) -> Path | None:
    return box.overlay or (box.source if box.writable else None)


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


def bwrap_options(box: Box, env: Mapping[str, str], folder: str = ".") -> list[str]:
    """Build the options of bubblewrap for the box, without the numbers of file descriptors."""
    options = [*_ISOLATION, "--uid", str(os.getuid()), "--gid", str(os.getgid()), "--clearenv"]
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
    root: Path, scratch: Path, toolchains: tuple[Path, ...], command: Command, limits: ExecLimits
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
        env=allowed_environment(root, toolchains, command.env) | private,
        cwd=folder,
        limits=limits,
        input=command.input,
        sandboxed=False,
        scratch=kept,
    )
    return replace(ran, output=ran.output + await asyncio.to_thread(kept.settle))
