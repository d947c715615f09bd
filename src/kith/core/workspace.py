"""The workspace of a tree: the only way anything in kith reaches files or processes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct, field

from kith.core.errors import TreeError
from kith.core.values import Changes, Ran


class ExecLimits(Struct, frozen=True):
    """The limits of one command. Sizes in bytes, time in seconds."""

    seconds: float = 120.0
    output: int = 30_000
    memory: int = 0  # 0: three quarters of the machine's
    processes: int = 4096
    file_size: int = 1 << 30
    scratch: int = 4 << 30  # what all commands of a trial may leave in its /tmp


class SizeLimits(Struct, frozen=True):
    """The size limits of a change, in bytes."""

    file: int = 1_000_000
    change: int = 2_000_000


class ShellCommand(Struct, frozen=True):
    """A shell command, its folder inside the tree, and variables beyond the allowed ones.

    `hidden` are files of the tree that it must not read, as far as the tree can confine it. `hosts` are the
    only ones that it may reach over the network (names or `*.name`, an optional `:port`). A tree without a
    sandbox cannot enforce that. `input` is its standard input.
    """

    line: str
    folder: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    input: bytes = b""


class Printed(Struct, frozen=True):
    """A part of a process's output: its bytes, where it ends, and the bytes before it that nobody kept."""

    data: bytes
    end: int
    missed: int = 0


# The end of a background process: "turn" is the end of the model's turn, "limit" one that it exceeded.
EndedBy = Literal["", "itself", "asked", "turn", "limit"]


class Job(Protocol):
    """A background process of a trial, with all that it started. It ends with the trial at the latest."""

    @property
    def number(self) -> int:
        """Its number in the trial, from 1."""

    @property
    def command(self) -> ShellCommand: ...

    @property
    def seconds(self) -> float:
        """The seconds since it began, or until it ended."""

    @property
    def ran(self) -> Ran | None:
        """Its result; None while it runs."""

    @property
    def ended_by(self) -> EndedBy:
        """The cause of its end, "" while it runs."""

    def printed(self, since: int = 0) -> Printed:
        """Return the output behind the first `since` bytes, as far as it was kept."""

    def news(self) -> Printed:
        """Return the output since the last call of this."""

    async def wait(self, seconds: float, *, for_news: bool = False) -> None:
        """Wait for its end, or also for what `news` would return, but no longer than this."""

    async def stop(self, by: EndedBy = "asked") -> None:
        """Kill it, and wait until all of it is gone."""


class Workspace(Protocol):
    """One tree. Paths are relative to `root`, with forward slashes; every one passes the same guard.

    All methods raise TreeError with one sentence when a path, a file or the disk refuses.
    """

    @property
    def root(self) -> Path: ...

    @property
    def confined(self) -> bool:
        """True when commands run in a sandbox that cannot reach beyond the tree."""

    async def files(self) -> Sequence[str]:
        """Every file that is not ignored, sorted."""

    async def read(self, path: str) -> bytes: ...

    async def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The contents of regular files; those that cannot be read are left out."""

    async def write(self, path: str, data: bytes | None) -> None:
        """Create or replace a file (keeping its mode), or delete it with None."""

    async def exec(self, command: ShellCommand, limits: ExecLimits = ExecLimits()) -> Ran:
        """Run a command to its end or its limits; never raises for a command that merely failed."""

    async def apply(self, changes: Changes) -> str:
        """All of the changes or none, journaled; returns the change's id.

        Refuses when a file is no longer what `before` says.
        """

    def trial(self, name: str = "") -> AbstractAsyncContextManager["Trial"]:
        """A throw-away copy of the tree; leaving the block discards it.

        With a `name`, the trial survives a crash, a cancellation or an error, and is found again under
        that name. Only leaving the block normally discards it.
        """


@runtime_checkable
class Trial(Workspace, Protocol):
    """A copy of a tree in which anything may happen."""

    async def changes(self) -> Changes:
        """Return the differences from the user's tree: the result of `git diff`, plus untracked files."""

    async def check(self, command: ShellCommand, limits: ExecLimits = ExecLimits()) -> Ran:
        """Run a command whose by-products are not part of the change (tests leave caches and reports).

        It shares no network with background processes.
        """

    @property
    def jobs(self) -> Sequence[Job]:
        """Every background process of the trial since it was opened, also those that ended."""

    def turn(self) -> AbstractAsyncContextManager[None]:
        """A turn of a model: background processes run only inside it, and end with it."""

    async def launch(
        self, command: ShellCommand, ended: Callable[[Job], object], limits: ExecLimits = ExecLimits()
    ) -> Job:
        """Start a process in the background; it and later commands share a loopback network.

        `ended` hears of its end. Raises TreeError outside a turn, and where the trial cannot do this.
        """

    async def checkpoint(self, name: str) -> Changes:
        """Remember the changes as they are now, under a name, as long as the trial lasts; returns them."""

    async def remember(self, changes: Changes | None = None, *, only: bool = False) -> Changes:
        """Keep the change as it is now, with the original contents, for as long as the trial lasts.

        `changes`: the same, from a caller that has just read it. With `only`, nothing else of the trial
        is kept. Unlike `changes`, this also reads files that the person edited meanwhile, if the original
        contents are known; it raises TreeError where they are not.
        """

    async def withdraw(self) -> None:
        """Forget what was remembered, when the work continues: after a crash the trial itself counts."""

    async def recall(self, name: str) -> Changes:
        """The changes as they were at a checkpoint. Raises TreeError for a name that was never set."""

    async def go_back(self, name: str) -> None:
        """Make the changes what they were at a checkpoint, byte for byte; "": none at all.

        Files that git ignores stay as they are. Raises TreeError for a name that was never set.
        """

    async def commits(self) -> Sequence[str]:
        """Messages of the commits made inside the trial, oldest first."""


async def read_readable(workspace: Workspace, paths: Iterable[str]) -> dict[str, bytes]:
    """The contents of the files that can be read, also through links inside the tree."""
    contents = dict[str, bytes]()
    for path in dict.fromkeys(paths):
        with suppress(TreeError):  # a link to nowhere, a folder, gone meanwhile
            contents[path] = await workspace.read(path)
    return contents
