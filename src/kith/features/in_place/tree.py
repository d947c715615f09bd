"""A tree that a model works on directly, in a container that is thrown away: no copy, no sandbox, no undo."""

import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec.structs import replace

from kith.core.errors import AbsentError, TreeError
from kith.core.run import new_id
from kith.core.values import FILE, Change, Changes, Ran
from kith.core.workspace import ExecLimits, Job, ShellCommand, SizeLimits, Trial
from kith.trees.exec import run_process
from kith.trees.files import (
    FileState,
    check_path,
    delete_file,
    follow_links,
    look_at,
    show_path,
    write_file,
)
from kith.trees.journal import LIMITS
from kith.trees.local import LocalTree, make_state
from kith.trees.sandbox import shell
from kith.trees.scratch import Scratch

_PLAIN = ExecLimits()
_LARGEST_FILE: Final = 1 << 44  # bytes: disks and archives of a whole machine
# What a person at a terminal would have answered or paged through.
_UNATTENDED: Final = {"DEBIAN_FRONTEND": "noninteractive", "PAGER": "cat", "GIT_PAGER": "cat"}


class InPlaceTree(LocalTree):
    """The files of a container's folder. A trial of it is the folder itself, so nothing is left to apply."""

    in_place = True

    async def apply(self, changes: Changes) -> str:
        """Journal those that are not in the files already."""
        found = await self.read_many(change.path for change in changes)
        left = tuple(each for each in changes if found.get(each.path) != each.after)
        return await super().apply(left) if left else new_id()


class InPlaceTrial:
    """The tree itself in the place of a trial: what is written is there, so no change is left to adopt.

    `changes` tells what was written through the trial, for looks at edits while the work goes on.
    What commands write is not compared.
    """

    def __init__(self, tree: InPlaceTree) -> None:
        self._tree = tree
        self._before = dict[str, FileState | None]()  # of each file that was written

    @property
    def root(self) -> Path:
        return self._tree.root

    @property
    def confined(self) -> bool:
        return self._tree.confined

    async def files(self) -> Sequence[str]:
        return await self._tree.files()

    async def read(self, path: str) -> bytes:
        return await self._tree.read(path)

    async def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        return await self._tree.read_many(paths)

    async def write(self, path: str, data: bytes | None) -> None:
        """Write at once, keeping the mode. Writing follows links inside the tree; deleting takes a link."""
        real = check_path(path) if data is None else follow_links(self.root, path)
        found = look_at(self.root, real)
        self._before.setdefault(real, found)
        if data is not None:
            write_file(self.root, real, data, found.mode if found else FILE)
        elif found is None:
            raise AbsentError(f"{show_path(path)} does not exist")
        else:
            delete_file(self.root, real)

    async def exec(self, command: ShellCommand, limits: ExecLimits = _PLAIN) -> Ran:
        return await self._tree.exec(command, limits)

    async def check(self, command: ShellCommand, limits: ExecLimits = _PLAIN) -> Ran:
        return await self._tree.exec(command, limits)

    @property
    def jobs(self) -> Sequence[Job]:
        """None: what a command starts with `&` is nobody's to end here."""
        return ()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """A turn of a model; nothing ends with it."""
        yield

    async def launch(
        self, command: ShellCommand, ended: Callable[[Job], object], limits: ExecLimits = _PLAIN
    ) -> Job:
        """Raises TreeError."""
        raise TreeError("Here a command itself starts what goes on: end it with &")

    async def apply(self, changes: Changes) -> str:
        """Write the changes; the id is empty, as in any trial."""
        for each in sorted(changes, key=lambda change: change.after is not None):
            found = look_at(self.root, check_path(each.path))
            if (found.content if found else None) != each.before:
                raise TreeError(f"{show_path(each.path)} has changed since this change was made")
            self._before.setdefault(check_path(each.path), found)
            if each.after is not None:
                write_file(self.root, each.path, each.after, each.mode)
            elif found:
                delete_file(self.root, each.path)
        return ""

    async def changes(self) -> Changes:
        found = (_change(path, old, look_at(self.root, path)) for path, old in self._before.items())
        return tuple(each for each in found if (each.before, each.mode_before) != (each.after, each.mode))

    async def checkpoint(self, name: str) -> Changes:
        return ()

    async def remember(self, changes: Changes | None = None, *, only: bool = False) -> Changes:
        """Nothing is to be judged or adopted later."""
        return ()

    async def withdraw(self) -> None:
        """Nothing was remembered."""

    async def recall(self, name: str) -> Changes:
        return ()

    async def go_back(self, name: str) -> None:
        """Nothing was remembered, so there is nothing to go back to."""

    async def commits(self) -> Sequence[str]:
        return ()

    def trial(self, name: str = "") -> AbstractAsyncContextManager[Trial]:
        raise TreeError("there is no copy of files that are worked on in place")


def _change(path: str, old: FileState | None, new: FileState | None) -> Change:
    mode_before, mode = old.mode if old else FILE, new.mode if new else FILE
    return Change(path, old.content if old else None, new.content if new else None, mode, mode_before)


def open_in_place(
    root: Path,
    state: Path,
    *,
    limits: SizeLimits = LIMITS,
    own: tuple[Path, ...] = (),
    private: Collection[str] = (),
) -> InPlaceTree:
    """The tree at `root`, whose trials are the tree itself; only for a container that confines kith.

    Commands get the variables of kith's own environment without those named in `private`, run anywhere in
    the container, and may leave processes behind. `own` are folders of kith's.
    """
    state = make_state(state.absolute(), root.resolve())
    scratch = state / "in-place"
    scratch.mkdir(mode=0o700, exist_ok=True)

    def begin(tree: LocalTree, name: str) -> AbstractAsyncContextManager[Trial]:
        assert isinstance(tree, InPlaceTree)
        return _open_trial(tree)

    run = partial(_run, scratch, frozenset(private))
    return InPlaceTree(root, state, runner=run, trials=begin, confined=True, limits=limits, own=(state, *own))


@asynccontextmanager
async def _open_trial(tree: InPlaceTree) -> AsyncIterator[Trial]:
    yield InPlaceTrial(tree)


async def _run(
    scratch: Path, private: Collection[str], root: Path, command: ShellCommand, limits: ExecLimits
) -> Ran:
    """Run a shell command as somebody would who is logged in; what it starts in the background stays."""
    folder = root if command.folder in ("", ".") else root / follow_links(root, command.folder)
    return await run_process(
        [*shell(), command.line],
        command=command.line,
        env={**_UNATTENDED, **_own_environment(private), **command.env},
        cwd=folder,
        limits=replace(limits, file_size=_LARGEST_FILE),
        input=command.input,
        sandboxed=False,
        scratch=Scratch(scratch, limits.scratch, PurePosixPath(scratch)),
        leave=True,
    )


def _own_environment(private: Collection[str]) -> Mapping[str, str]:
    kept = ((name, value) for name, value in os.environ.items() if not name.startswith("KITH_"))
    return {name: value for name, value in kept if name not in private}
