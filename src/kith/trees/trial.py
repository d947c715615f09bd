"""A copy of a tree in which anything may happen: the same on any kind of copy."""

import asyncio
import hashlib
import json
import os
import stat
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import AbsentError, TreeError
from kith.core.values import FILE, SYMLINK, Change, Changes, Ran
from kith.core.workspace import ExecLimits, Job, ShellCommand, Trial
from kith.trees.compare import BY_PRODUCTS, ByProducts, Stamp, Touched, compare, files_of, is_cache
from kith.trees.files import (
    FileState,
    check_link,
    check_path,
    folders_above,
    resolve_links,
    show_path,
    told,
)
from kith.trees.git import run_git
from kith.trees.jobs import FOREVER_S, MOST_RUNNING, RunningJob
from kith.trees.listing import list_files
from kith.trees.refused_names import check_new_name, check_repositories, check_twins
from kith.trees.waiting_changes import PROPOSED, Checkpoints, keep_change, way_back

# Notices when the user changes a file that a trial has changed as well, so that no edit is lost.


class Bases(Struct, frozen=True):
    """The states of the user's files that a trial started from.

    They are those from before `begun` (nanoseconds, as in ctime) and those noted in `file`.
    """

    root: Path
    begun: int
    file: Path

    def note(self, path: str) -> None:
        """The trial is about to change `path`, starting from what the user's file is now."""
        # Even of an old file: its time moves when the user edits it and takes that back.
        if (self.root / path).is_file():
            with suppress(OSError):
                content = (self.root / path).read_bytes()
                digest = _digest(content)
                self._contents.mkdir(mode=0o700, exist_ok=True)
                (self._contents / digest).write_bytes(content)
                with self.file.open("a") as lines:
                    lines.write(json.dumps([path, digest]) + "\n")

    def check(self, changes: Changes) -> Changes:
        """The same changes. Raises TreeError when one would undo what the user did to a file meanwhile."""
        for change in self._overtaken(changes):
            raise TreeError(
                f"{show_path(change.path)} was edited in your tree and in the trial; nothing was "
                "applied. Run the task again"
            )
        return changes

    def restore(self, changes: Changes) -> Changes:
        """The changes from what each file held then. Raises TreeError where that is not known."""
        known = dict(self._load())  # the last state of a path counts
        restored = {change.path: self._restore(change, known) for change in self._overtaken(changes)}
        return tuple(restored.get(change.path, change) for change in changes)

    def _restore(self, change: Change, known: Mapping[str, str]) -> Change:
        try:
            return replace(change, before=(self._contents / known[change.path]).read_bytes())
        except (KeyError, OSError):
            raise TreeError(
                f"{show_path(change.path)} was edited in your tree and by a command in the trial; "
                "its original is not known"
            ) from None

    def _overtaken(self, changes: Changes) -> Iterator[Change]:
        """Those whose files the user has edited since the trial began with them."""
        if not any(each.before is None or self._is_newer(each.path) for each in changes):
            return
        noted = set(self._load())
        begun_with = {path for path, _ in noted}
        for each in changes:
            if each.before is None:
                if each.path in begun_with:  # the user has deleted it
                    yield each
            elif self._is_newer(each.path) and (each.path, _digest(each.before)) not in noted:
                yield each

    @property
    def _contents(self) -> Path:
        return self.file.with_suffix(".d")

    def _is_newer(self, path: str) -> bool:
        # ctime, because no program can set it back.
        try:
            return (self.root / path).lstat().st_ctime_ns > self.begun
        except OSError:
            return False

    def _load(self) -> Sequence[tuple[str, str]]:
        """Paths and the digests of what they held, oldest first."""
        try:
            return [(path, digest) for path, digest in map(json.loads, self.file.read_text().splitlines())]
        except FileNotFoundError:
            return ()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_DEFAULT = ExecLimits()
Above = Callable[[], AbstractAsyncContextManager[Trial]]  # opens a trial on top of another one


class Ground(Protocol):
    """The base of a trial. Every path it is given is checked, and no link is on its way."""

    @property
    def root(self) -> Path:
        """The user's tree."""

    @property
    def confined(self) -> bool: ...

    def look(self, path: str) -> FileState | None:
        """The file or link at a path, None for nothing. Raises TreeError for anything else."""

    def readlink(self, path: str) -> str | None: ...

    def put(self, path: str, state: FileState | None) -> None:
        """Create or replace a file or link, with its folders, or delete it with None."""

    def shares(self, path: str) -> bool:
        """True while the user's own file shows through at `path`, with whatever they do to it."""

    def stamps(self) -> Mapping[str, Stamp]:
        """Every path that may differ from the user's tree, ignored or not."""

    async def touched(self, by_products: Mapping[str, Stamp]) -> Touched:
        """The paths to compare, ignored ones that are present among them."""

    async def ignored(self, paths: Collection[str]) -> set[str]:
        """Those of `paths` that the ignore rules, as they are in the trial, leave out."""

    async def run(self, command: ShellCommand, limits: ExecLimits, clean: bool = False) -> Ran:
        """Run a command; with `clean`, what earlier ones left in /tmp and in their home is not there."""

    def has_own_history(self) -> bool:
        """False while nothing has written into the trial's repository, so that it is the user's."""

    def share(self) -> AbstractAsyncContextManager["Ground"]:
        """The same ground while background processes run: all commands in one mount and one network.

        Raises TreeError where it cannot be shared.
        """

    async def run_job(self, command: ShellCommand, limits: ExecLimits, name: str) -> Ran:
        """Run a background process of a shared ground to its end; /tmp and its home are its own."""

    async def git(self, *args: str, input: bytes = b"") -> bytes | None:
        """Run a git command in the trial; return its output, None when it failed."""


class SideTrial:
    """A `Trial` on its ground. It does one thing at a time: two mounts of the same layers would clash.

    Beside background processes, commands run in the one mount that these have.
    """

    def __init__(
        self, ground: Ground, folder: Path, notes: tuple[str, ...] = (), *, above: Above | None = None
    ) -> None:
        self.notes = notes  # what could not be taken along, in sentences
        self._above = above
        self._ground = self._alone = ground
        self._jobs: list[RunningJob] = []
        self._sharing: AsyncExitStack | None = None
        self._at_work = False
        self._folder = folder
        self._by_products = ByProducts(folder / BY_PRODUCTS)
        if self._by_products.cut_off:  # by a crash
            self._by_products.end(ground.stamps())
        self._checkpoints = Checkpoints(folder / "checkpoints")
        self._bases = Bases(ground.root, (folder / "lower").lstat().st_ctime_ns, folder / "bases")
        self._turn = asyncio.Lock()
        self._new = dict[str, Change]()  # files that were written here first

    @property
    def root(self) -> Path:
        return self._ground.root

    @property
    def confined(self) -> bool:
        return self._ground.confined

    async def files(self) -> Sequence[str]:
        async with self._turn:
            listed = await list_files(self.root)
            touched = await self._ground.touched({})
            new = {path for path in touched.present if not is_cache(path)}.difference(listed)
            new -= await self._ground.ignored(new)
            if not new and not touched.gone:
                return listed
            return sorted(new.union(listed).difference(touched.gone))

    async def read(self, path: str) -> bytes:
        found = self._ground.look(self._resolve(path))
        if found is None or found.mode == SYMLINK:
            raise AbsentError(f"{show_path(path)} does not exist")
        return found.content

    async def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        found = dict[str, bytes]()
        for path in paths:
            with suppress(TreeError):
                found[path] = await self.read(path)
        return found

    async def write(self, path: str, data: bytes | None) -> None:
        async with self._turn:
            # Deleting a link deletes the link; writing through one writes what it leads to.
            real = check_path(path) if data is None else self._resolve(path)
            found = self._ground.look(real)
            if data is None and found is None:
                raise AbsentError(f"{show_path(path)} does not exist")
            change = Change(real, found.content if found else None, data)
            self._check_place(change)
            self._check_writable(real)
            self._check_twins((change,))
            mode = found.mode if found else FILE
            self._put(real, None if data is None else FileState(data, mode, 0))

    async def exec(self, command: ShellCommand, limits: ExecLimits = _DEFAULT) -> Ran:
        async with self._turn:
            return await self._ground.run(command, limits)

    async def check(self, command: ShellCommand, limits: ExecLimits = _DEFAULT) -> Ran:
        async with self._turn:
            alone = self._sharing is None  # else a background process may have written it
            if alone:
                self._by_products.begin(await asyncio.to_thread(self._ground.stamps))
            try:
                return await self._ground.run(command, limits, clean=True)
            finally:
                if alone:
                    self._by_products.end(self._ground.stamps())

    @property
    def jobs(self) -> Sequence[Job]:
        return tuple(self._jobs)

    async def launch(
        self, command: ShellCommand, ended: Callable[[Job], object], limits: ExecLimits = _DEFAULT
    ) -> Job:
        async with self._turn:
            if not self._at_work:  # perhaps since it waited here
                raise TreeError("background processes run only while a model works")
            if sum(job.ran is None for job in self._jobs) >= MOST_RUNNING:
                raise TreeError(f"{MOST_RUNNING} background processes are running; stop one first")
            if self._sharing is None:
                sharing = AsyncExitStack()
                self._ground = await sharing.enter_async_context(self._alone.share())
                self._sharing = sharing
            number, limits = len(self._jobs) + 1, replace(limits, seconds=FOREVER_S)
            do = partial(self._ground.run_job, command, limits, f"job-{number}")
            self._jobs.append(RunningJob(number, command, do, ended))
            return self._jobs[-1]

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        self._at_work = True
        try:
            yield
        finally:
            self._at_work = False
            async with self._turn:
                await self._end_jobs()

    async def _end_jobs(self) -> None:
        """Stop every background process, and give up what all of them shared."""
        if self._sharing is None:
            return
        await asyncio.gather(*(job.stop("turn") for job in self._jobs if job.ran is None))
        sharing, self._sharing, self._ground = self._sharing, None, self._alone
        await sharing.aclose()

    async def changes(self) -> Changes:
        async with self._turn:
            with told("what the trial holds"):  # a command may leave folders deeper than any path can say
                return await self._changes()

    async def _changes(self, moved: bool = False) -> Changes:
        """Compute the differences; with `moved`, from the trial's first state where the tree has changed."""
        touched = await self._ground.touched(self._by_products.load())
        present = set(touched.present) - await self._ground.ignored(touched.present)
        wanted = Touched(present, touched.gone)
        changes = await asyncio.to_thread(compare, wanted, files_of(self.root), self._ground.look)
        return self._bases.restore(changes) if moved else self._bases.check(changes)

    async def apply(self, changes: Changes) -> str:
        """Write the changes into the trial; nothing is journaled, so the id is empty."""
        async with self._turn:
            for change in changes:
                self._check_change(change)
            self._check_twins(changes)
            self._put_all(changes)
        return ""

    async def checkpoint(self, name: str) -> Changes:
        changes = await self.changes()
        self._checkpoints.save(name, changes)
        return changes

    async def remember(self, changes: Changes | None = None, *, only: bool = False) -> Changes:
        async with self._turn:
            await self._end_jobs()
            if changes is None:
                with told("what the trial holds"):
                    changes = await self._changes(moved=True)
            self._checkpoints.save(PROPOSED, changes)
            if only and changes:
                await asyncio.to_thread(keep_change, self._folder)
        return changes

    async def withdraw(self) -> None:
        self._checkpoints.path(PROPOSED).unlink(missing_ok=True)

    async def recall(self, name: str) -> Changes:
        return self._checkpoints.load(name)

    async def go_back(self, name: str) -> None:
        wanted = self._checkpoints.load(name)
        present = await self.changes()
        async with self._turn:
            self._put_all(way_back(present, wanted))

    async def commits(self) -> Sequence[str]:
        """The user's own commits are not among them, wherever the trial's HEAD went."""
        if not self._ground.has_own_history():
            return []
        known = await run_git(self.root, "rev-parse", "--not", "--all", "HEAD")
        hidden = [line for line in known.stdout.split() if line.startswith(b"^")]
        async with self._turn:
            log = await self._ground.git(
                "log", "--reverse", "--format=%B%x00", "--stdin", input=b"\n".join([b"HEAD", *hidden, b""])
            )
        messages = (log or b"").decode("utf-8", errors="replace").split("\0")
        return [message.strip() for message in messages if message.strip()]

    def trial(self, name: str = "") -> AbstractAsyncContextManager[Trial]:
        """A clean trial of the same tree, which finds the by-products of this one (what was built here).

        It is for checks: `read` shows the tree and its own files, not this trial's. Nothing may run here
        meanwhile.
        """
        if self._above is None or name:
            raise TreeError("a trial on top of another one has no name and no trials of its own")
        return self._above()

    def _check_place(self, change: Change) -> None:
        """The tree would refuse it in the end; a model can still choose another name."""
        check_repositories(self.root, (change,))
        for folder in folders_above(change.path):  # `changes` leaves it out, as git does
            if os.path.lexists(self.root / folder / ".git"):
                raise TreeError(
                    f"{show_path(change.path)} belongs to {show_path(folder)}, a submodule or git repository "
                    "of its own; kith changes it only when it is started there"
                )
        if change.before is None:
            check_new_name(change.path)

    def _check_writable(self, path: str) -> None:
        """Refuse at once what the tree would refuse in the end: the user's file, which nobody may write."""
        with suppress(OSError):
            mode = (self.root / path).lstat().st_mode
            if stat.S_ISREG(mode) and not mode & 0o222:
                raise TreeError(f"{show_path(path)} is read-only")

    def _check_twins(self, changes: Changes) -> None:
        """The same for names that differ only in case, also from those that were new here before."""
        new = {change.path: change for change in changes if change.before is None}
        if not new:
            return
        for change in changes:
            if change.after is None:
                self._new.pop(change.path, None)
        try:
            check_twins(self.root, (*self._new.values(), *changes), self._is_there)
        except TreeError:  # perhaps because of one that is gone
            self._new = {path: change for path, change in self._new.items() if self._is_there(path)}
            check_twins(self.root, (*self._new.values(), *changes), self._is_there)
        self._new.update(new)

    def _is_there(self, path: str) -> bool:
        try:
            return self._ground.look(path) is not None
        except TreeError:  # a folder
            return True

    def _check_change(self, change: Change) -> None:
        self._check_place(change)
        found = self._ground.look(check_path(change.path))
        self._check_writable(change.path)
        if (found.content if found else None) != change.before:
            raise TreeError(f"{show_path(change.path)} has changed since this change was made")
        if change.after is not None and change.mode == SYMLINK:
            check_link(self.root, change.path, change.after, self._ground.readlink)

    def _put_all(self, changes: Changes) -> None:
        # Deletions first: a file may take the place of a folder.
        for change in sorted(changes, key=lambda change: change.after is not None):
            state = None if change.after is None else FileState(change.after, change.mode, 0)
            self._put(change.path, state)

    def _put(self, path: str, state: FileState | None) -> None:
        if self._ground.shares(path):
            self._bases.note(path)
        self._ground.put(path, state)

    def _resolve(self, path: str) -> str:
        return resolve_links(self.root, path, self._ground.readlink)
