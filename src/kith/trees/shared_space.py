"""Let background processes and commands of one trial share a mount of its files and a loopback network."""

import asyncio
import os
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.core.errors import TreeError
from kith.core.processes import Watch, happens, start
from kith.trees.environment import python_inside
from kith.trees.launch import mount_line, mount_work
from kith.trees.network import Gateway, open_gateway

_SECONDS: Final = 10.0
_READY: Final = b"ready\n"
# The loopback interface of a new network namespace is down. The last line waits until kith holds all of it.
_LOOPBACK: Final = """
import fcntl, os, socket, struct, sys
with socket.socket() as any:
    fcntl.ioctl(any, 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # SIOCSIFFLAGS: IFF_UP | IFF_RUNNING
os.execv(sys.argv[1], sys.argv[1:])
"""
_WAIT: Final = ("/bin/sh", "-c", "echo ready; read -r _")


class SharedSpace(Struct, frozen=True):
    """Namespaces (user, mounts, network) by their descriptors; `folder` is the trial's mounted tree in them.

    `gateway` leads to the person's own hosts, which all that run here may reach.
    """

    namespaces: Mapping[str, int]
    folder: int
    gateway: Gateway

    @property
    def tree(self) -> Path:
        """The trial's tree as all that run here see it, for kith's own edits."""
        return Path(f"/proc/self/fd/{self.folder}")

    @property
    def front(self) -> tuple[str, ...]:
        """The program that starts a command in these namespaces, with process numbers of its own.

        It opens kith's descriptors by their names: one that it inherits, the command would inherit as well.
        """
        entered = (f"--{name}=/proc/{os.getpid()}/fd/{fd}" for name, fd in self.namespaces.items())
        return ("nsenter", "--preserve-credentials", *entered, "unshare", "-pf")


@asynccontextmanager
async def open_shared_space(
    overlay: Path, root: Path, hosts: tuple[str, ...], env: Mapping[str, str]
) -> AsyncIterator[SharedSpace]:
    """A space for the trial in the folder `overlay` of the tree at `root`, as long as the block lasts.

    No process keeps it: the kernel frees it when kith, and all that run in it, are gone. Raises TreeError.
    """
    async with open_gateway((), hosts) as gateway:
        with ExitStack() as held:
            work = held.enter_context(mount_work(overlay))
            space = await _make(overlay, root, work, gateway, env, held)
            yield space


async def _make(
    overlay: Path, root: Path, work: Path, gateway: Gateway, env: Mapping[str, str], held: ExitStack
) -> SharedSpace:
    python = [python_inside(), "-I", "-S", "-c", _LOOPBACK]
    command = shlex.join([*python, *gateway.wrap(_WAIT)])
    process = await start(
        _Heard,
        ["unshare", "-Urm", "--net", "/bin/sh", "-c", f"{mount_line(overlay, root, work)}\nexec {command}"],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(env),
        cwd=Path("/"),
        pass_fds=gateway.pass_fds,
    )
    try:
        heard = process.watch
        await happens(heard.ready, _SECONDS)
        if not heard.said.endswith(_READY):
            words = heard.said.decode("utf-8", "replace").strip().split("\n")[0]
            raise TreeError(f"Background processes cannot be started here: {words or 'no answer'}")
        place = Path(f"/proc/{process.pid}")
        spaces = {
            name: _open(place / "ns" / kind, held)
            for name, kind in (("user", "user"), ("mount", "mnt"), ("net", "net"))
        }
        folder = _open(Path(f"{place}/root{root}"), held)
        return SharedSpace(spaces, folder, gateway)
    except OSError as error:
        raise TreeError(f"Background processes cannot be started here: {error.strerror or error}") from error
    finally:
        await process.end()


def _open(path: Path, held: ExitStack) -> int:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    held.callback(os.close, fd)
    return fd


class _Heard(Watch):
    """Notes the moment in which all is set up, or what went wrong instead."""

    def __init__(self) -> None:
        super().__init__()
        self.said, self.ready = bytearray(), asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.ready.set()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.said += data
        if self.said.endswith(_READY):
            self.ready.set()
