"""A trial on a copy of the tree, for machines that have no overlay."""

import asyncio
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.core.errors import TreeError
from kith.core.values import Ran
from kith.core.workspace import ExecLimits, ShellCommand
from kith.trees.compare import GONE, Stamp, Touched, outside_repositories, stamp_of
from kith.trees.environment import Surroundings
from kith.trees.files import (
    PROTECTED,
    FileState,
    delete_file,
    is_folder,
    look_at,
    read_link,
    show_path,
    write_file,
)
from kith.trees.git import run_git
from kith.trees.listing import ignored, list_files
from kith.trees.refused_names import holds_repository
from kith.trees.sandbox import Box, run_boxed, run_plain
from kith.trees.trial import SideTrial
from kith.trees.trial_folder import SCRATCH, claim_folder
from kith.trees.walk import LONGEST, remove_tree, walk

# Copy a tree for a trial: every file, the ignored ones within a limit, and a light `.git`.

IGNORED_LIMIT = 500_000_000  # bytes of ignored files that are taken along
_FICLONE = 0x40049409  # linux/fs.h: share the blocks of another file until one of them is written to
_GIT_PARTS = ("HEAD", "packed-refs", "index", "config", "shallow", "info/exclude")
RECORD: Final = "record"  # in the trial's folder: what the copy was like when new
TREE: Final = "tree"  # the copy
OBJECTS: Final = "objects"  # a link to those of the user's repository
ALTERNATES: Final = ".git/objects/info/alternates"
_NO_OVERLAY = "background processes need a sandbox with an overlay, which this machine lacks"


def clone_tree(
    root: Path, listed: Sequence[str], target: Path, limit: int = IGNORED_LIMIT
) -> tuple[str, ...]:
    """Copy the tree at `root`, whose not ignored files are `listed`, to the new folder `target`.

    `limit` is for the ignored files, in bytes. Returns what was left out, in sentences.
    """
    target.mkdir()
    notes, room = list[str](), limit
    for path in listed:
        if len(os.fsencode(target / path)) >= LONGEST:
            notes.append(f"{path[:60]}... is not in the trial: its path is too long")
            continue
        make_folders((target / path).parent)
        clone_file(root / path, target / path)
    for path in _unlisted(root, listed):
        size = _size(root / path)
        if size > room:
            notes.append(f"{path} ({size // 1_000_000:,} MB) is not in the trial: it is ignored and large")
            continue
        room -= size
        _clone_any(root / path, target / path)
    return (*notes, *_clone_git(root, target))


def _unlisted(root: Path, listed: Sequence[str]) -> Iterator[str]:
    """Files that are not listed, and folders in which no file is; the outermost only."""
    files = set(listed)
    folders = {""}
    for path in listed:
        while path := path.rpartition("/")[0]:
            if path in folders:
                break
            folders.add(path)
    waiting = [""]
    longest = LONGEST - 2 - len(os.fsencode(root))
    while waiting:
        folder = waiting.pop()
        for entry in os.scandir(root / folder):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if path in (".git", ".kith") or path in files or len(os.fsencode(path)) > longest:
                continue
            if path in folders and entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                yield path


def _clone_any(source: Path, target: Path) -> None:
    if not source.is_dir() or source.is_symlink():
        clone_file(source, target)
        return
    made = list[tuple[Path, Path]]()
    for visit in walk(source, LONGEST - 2 - len(os.fsencode(target))):
        place = target / visit.path
        with suppress(FileExistsError):
            place.mkdir()
        for name in visit.files:
            clone_file(source / visit.path / name, place / name)
        made.append((source / visit.path, place))
    for old, new in reversed(made):  # which may close them to writing
        with suppress(OSError):
            shutil.copystat(old, new)


def make_folders(folder: Path) -> None:
    """A folder and all above it; `mkdir(parents=True)` recurses."""
    missing = list[Path]()
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)


def clone_file(source: Path | str, target: Path | str) -> None:
    """Copy a file or link with its permissions, sharing blocks where the file system can.

    Special files and those that may not be read are left out.
    """
    with suppress(FileNotFoundError, PermissionError):
        mode = os.lstat(source).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(source), target)  # noqa: PTH115, PTH211  (names may come from copytree)
        elif stat.S_ISREG(mode):
            if not _share(source, target):
                shutil.copyfile(source, target, follow_symlinks=False)
            shutil.copystat(source, target)


def _share(source: Path | str, target: Path | str) -> bool:
    if sys.platform != "linux":
        return False
    import fcntl

    with Path(source).open("rb") as old, Path(target).open("wb") as new:
        try:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
        except OSError:
            return False  # another file system, or one that cannot
    return True


def _size(path: Path) -> int:
    if path.is_symlink() or not path.is_dir():
        return os.lstat(path).st_size
    total = 0
    for visit in walk(path):
        for name in visit.files:
            with suppress(OSError):
                total += visit.folder.stat(name).st_size
    return total


def _clone_git(root: Path, target: Path) -> tuple[str, ...]:
    """A repository of its own whose objects are borrowed: commits in the trial stay in the trial."""
    source = root / ".git"
    if not source.exists():
        return ()
    # A linked worktree, or `core.worktree`: git in the copy would work on the user's own files.
    if not source.is_dir() or source.is_symlink() or b"worktree" in (source / "config").read_bytes().lower():
        return ("git does not work in the trial: the repository's files are elsewhere",)
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (target / ".git" / name).mkdir(parents=True, exist_ok=True)
    for name in (*_GIT_PARTS, *(shared.name for shared in source.glob("sharedindex.*"))):
        clone_file(source / name, target / ".git" / name)
    for name in ("refs", "reftable"):
        if (source / name).is_dir():
            shutil.copytree(source / name, target / ".git" / name, dirs_exist_ok=True)
    objects = target.parent / OBJECTS
    objects.symlink_to(source / "objects")
    (target / ALTERNATES).write_text(f"{objects}\n")
    return ()


@asynccontextmanager
async def open_copy(
    root: Path,
    state: Path,
    around: Surroundings,
    name: str = "",
    *,
    boxed: bool,
    confined: bool,
    hosts: tuple[str, ...] = (),
    ignored_limit: int = IGNORED_LIMIT,
) -> AsyncIterator[SideTrial]:
    """A trial on a copy of the tree at `root`, kept in `state` while the block lasts.

    `boxed`: its commands get a sandbox; `confined` without one: something around kith confines them.
    Ignored files are copied up to `ignored_limit` bytes; the trial's `notes` say what was left out.
    """
    with claim_folder(state, root, name) as folder:
        record = folder / RECORD
        if not record.exists():
            await _fill(root, folder, ignored_limit)
        known = json.loads(record.read_text())
        stamps = {path: tuple(stamp) for path, stamp in known["stamps"].items()}
        box = None
        if boxed:
            objects = ((root / ".git/objects", folder / OBJECTS),)
            tmp = folder / SCRATCH
            box = Box(root, folder / TREE, True, around, (state,), objects, hosts=hosts, scratch=tmp)
        ground = CopyGround(root, folder, box, around, stamps, frozenset(known["listed"]), confined)

        def above() -> AbstractAsyncContextManager[SideTrial]:
            # Without layers what was built below is not found: a copy is made anew.
            return open_copy(
                root,
                state,
                around,
                boxed=boxed,
                confined=confined,
                hosts=hosts,
                ignored_limit=ignored_limit,
            )

        yield SideTrial(ground, folder, tuple(known["notes"]), above=above)


async def _fill(root: Path, folder: Path, limit: int) -> None:
    """Make the copy. The record comes last: without it a copy is unfinished and is made again."""
    for left in (TREE, OBJECTS):
        with suppress(NotADirectoryError):
            remove_tree(folder / left)
        (folder / left).unlink(missing_ok=True)
    listed = await list_files(root)
    notes = await asyncio.to_thread(clone_tree, root, listed, folder / TREE, limit)
    stamps = await asyncio.to_thread(scan_copy, folder / TREE)
    known = {"stamps": stamps, "listed": [path for path in listed if path in stamps], "notes": notes}
    (folder / RECORD).write_text(json.dumps(known))


def scan_copy(tree: Path) -> dict[str, Stamp]:
    """Every file and link below `tree` with its stamp; git's and kith's own folders are left out."""
    found = dict[str, Stamp]()
    for visit in walk(tree):
        names = [name for name in visit.files if visit.path or name not in PROTECTED]
        visit.folders = [name for name in visit.folders if name not in PROTECTED]
        for name in names:
            with suppress(FileNotFoundError):
                state = visit.folder.stat(name)
                if stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode):
                    found[visit.inside + name] = stamp_of(state)
    return found


class CopyGround(Struct, frozen=True):
    """The copy in `folder`, what it was like when new, and the box for its commands (None: no sandbox)."""

    root: Path
    folder: Path
    box: Box | None
    around: Surroundings
    made: Mapping[str, Stamp]
    listed: frozenset[str]
    confined: bool

    @property
    def tree(self) -> Path:
        return self.folder / TREE

    def look(self, path: str) -> FileState | None:
        return look_at(self.tree, path)

    def readlink(self, path: str) -> str | None:
        return read_link(self.tree, path)

    def put(self, path: str, state: FileState | None) -> None:
        if state is None:
            if look_at(self.tree, path) is not None:
                delete_file(self.tree, path)
            return
        if is_folder(self.tree, path):
            _clear_folder(self.tree / path, path)
        elif path not in self.made and look_at(self.tree, path) is None:
            self._refuse_left_out(path)
        write_file(self.tree, path, state.content, state.mode)

    def _refuse_left_out(self, path: str) -> None:
        """Raise TreeError for a file that could not be copied (a pipe, an unreadable file)."""
        if look_at(self.root, path) is not None:  # which refuses special files itself
            raise TreeError(f"{show_path(path)} is in your tree, but not in this trial")

    def shares(self, path: str) -> bool:
        return False

    def stamps(self) -> dict[str, Stamp]:
        present = scan_copy(self.tree)
        changed = {path: stamp for path, stamp in present.items() if self.made.get(path) != stamp}
        return changed | dict.fromkeys(self.made.keys() - present.keys(), GONE)

    async def touched(self, by_products: Mapping[str, Stamp]) -> Touched:
        stamps = await asyncio.to_thread(self.stamps)
        kept = {path: stamp for path, stamp in stamps.items() if by_products.get(path) != stamp}
        present = [path for path, stamp in kept.items() if stamp != GONE]
        gone = [path for path, stamp in kept.items() if stamp == GONE and path in self.listed]
        return Touched(outside_repositories(present, self._is_repository), gone)

    def _is_repository(self, folder: str) -> bool:
        def is_there(path: str) -> bool:
            return os.path.lexists(self.tree / path)

        return holds_repository(folder, is_there)

    async def ignored(self, paths: Collection[str]) -> set[str]:
        return await ignored(self.tree, paths)

    async def run(self, command: ShellCommand, limits: ExecLimits, clean: bool = False) -> Ran:
        if self.box:
            return await run_boxed(self.box.clean if clean else self.box, command, limits)
        if not clean:
            return await run_plain(self.tree, self.folder, self.around, command, limits)
        fresh = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            return await run_plain(self.tree, fresh, self.around, command, limits)
        finally:
            remove_tree(fresh)

    def share(self) -> AbstractAsyncContextManager["CopyGround"]:
        raise TreeError(_NO_OVERLAY)

    async def run_job(self, command: ShellCommand, limits: ExecLimits, name: str) -> Ran:
        raise TreeError(_NO_OVERLAY)

    def has_own_history(self) -> bool:
        return True  # its repository is a copy

    async def git(self, *args: str, input: bytes = b"") -> bytes | None:
        ran = await run_git(self.tree, *args, input=input)
        return ran.stdout if ran.ok else None


def _clear_folder(folder: Path, path: str) -> None:
    """Take away a folder without files, so that a file can have its place."""
    if any(visit.files for visit in walk(folder)):
        raise TreeError(f"{show_path(path)} is a folder")
    remove_tree(folder)
