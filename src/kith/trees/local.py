"""The user's own tree: it is read, and changed only through the journal."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from kith.core.errors import AbsentError, TreeError
from kith.core.git import Commit
from kith.core.values import FILE, Change, Changes, Ran
from kith.core.workspace import ExecLimits, ShellCommand, SizeLimits, Trial
from kith.trees.bulk_read import read_digests, read_files, stamp_files
from kith.trees.copy import open_copy
from kith.trees.environment import find_surroundings
from kith.trees.files import check_path, follow_links, is_folder, look_at, read_file, show_path, told
from kith.trees.history import read_commits
from kith.trees.journal import LIMITS, Recovered, apply_changes, list_applied, recover, undo_changes
from kith.trees.listing import list_files
from kith.trees.overlay import open_overlay
from kith.trees.records import load_record, open_journal
from kith.trees.refused_names import check_new_name, check_own, check_repositories, check_twins
from kith.trees.sandbox import Abilities, Box, probe, run_boxed, run_plain
from kith.trees.swap import look
from kith.trees.trial_folder import list_aside
from kith.trees.waiting_changes import Held, Waiting, hold_waiting, list_unsaved, list_waiting, read_waiting

Runner = Callable[[Path, ShellCommand, ExecLimits], Awaitable[Ran]]
Trials = Callable[["LocalTree", str], AbstractAsyncContextManager[Trial]]

_PLAIN = ExecLimits()


class LocalTree:
    """A Workspace over the user's files at `root`.

    `state` is kith's own folder for the journal. `runner` runs commands and `trials` makes throw-away
    copies; `confined` says whether the runner's sandbox holds, `hosts_jobs` if trials can have background
    processes. `own` are folders of kith's, in which nothing
    is changed. `in_place`: its trials are the tree itself, as a feature's tree may say.
    """

    in_place = False

    def __init__(
        self,
        root: Path,
        state: Path,
        *,
        runner: Runner,
        trials: Trials,
        confined: bool,
        hosts_jobs: bool = False,
        limits: SizeLimits = LIMITS,
        own: tuple[Path, ...] = (),
    ) -> None:
        if not root.is_dir():
            raise TreeError(f"{root} is not a folder")
        self._root = root.resolve()
        self._state = state
        self._runner = runner
        self._trials = trials
        self._confined = confined
        self._hosts_jobs = hosts_jobs
        self._open: list[tuple[str, Trial]] = []
        self._limits = limits
        self._own = own

    @property
    def root(self) -> Path:
        return self._root

    @property
    def confined(self) -> bool:
        return self._confined

    @property
    def hosts_jobs(self) -> bool:
        """True if processes can run in the background of a trial."""
        return self._hosts_jobs

    def open_trials(self, beginning: str) -> tuple[Trial, ...]:
        """The trials in which this process works now, of those whose names begin so."""
        return tuple(trial for name, trial in self._open if name.startswith(beginning))

    async def files(self) -> Sequence[str]:
        return await list_files(self._root)

    async def stamps(self) -> Mapping[str, tuple[int, int]]:
        """Size and time of the last write (ns) of each regular file, by which an index knows it again."""
        return await asyncio.to_thread(stamp_files, self._root, await self.files())

    async def commits(self, known: Container[str]) -> tuple[tuple[str, ...], tuple[Commit, ...]]:
        """The names of the newest commits, and those of them that are not `known`."""
        return await read_commits(self._root, known)

    async def digests(self) -> Mapping[str, str]:
        """git's blob id of what each file holds."""
        return await read_digests(self._root)

    async def read(self, path: str) -> bytes:
        return read_file(self._root, path)

    async def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The contents of regular files, those left out that cannot be read; quick for sorted paths."""
        return await asyncio.to_thread(read_files, self._root, paths)

    async def modes(self, paths: Iterable[str]) -> dict[str, int]:
        """git's modes of what lies at the paths, links not followed; what is not there is left out."""
        found = {path: look_at(self._root, path) for path in paths}
        return {path: state.mode for path, state in found.items() if state}

    async def write(self, path: str, data: bytes | None) -> None:
        """Journaled like any change. Writing follows links inside the tree; deleting takes a link itself."""
        target = follow_links(self._root, path) if data is not None else path
        found = look_at(self._root, target)
        if found is None and data is None:
            raise AbsentError(f"{show_path(path)} does not exist")
        mode = found.mode if found else FILE
        change = Change(target, found.content if found else None, data, mode, mode)
        if change.before != change.after:
            await self.apply((change,))

    async def exec(self, command: ShellCommand, limits: ExecLimits = _PLAIN) -> Ran:
        return await self._runner(self._root, command, limits)

    async def check(self, changes: Changes) -> None:
        """Raises TreeError for a change at a place that is out of bounds; what is there is not compared."""
        plain = tuple(replace(change, path=check_path(change.path)) for change in changes)
        check_own(self._root, self._own, plain)
        check_repositories(self._root, plain)
        gone = [change.path for change in plain if change.after is None]
        for change in plain:
            look(self._root, change.path)
            if change.before is None:
                check_new_name(change.path)
                below = f"{change.path}/"
                if is_folder(self._root, change.path) and not any(path.startswith(below) for path in gone):
                    raise TreeError(f"{show_path(change.path)} is a folder")
        check_twins(self._root, plain, lambda path: True)

    async def apply(self, changes: Changes) -> str:
        await self.check(changes)
        return apply_changes(self._root, self._state, changes, self._limits)

    def trial(self, name: str = "") -> AbstractAsyncContextManager[Trial]:
        return self._noted(name, self._trials(self, name))

    @asynccontextmanager
    async def _noted(self, name: str, opening: AbstractAsyncContextManager[Trial]) -> AsyncIterator[Trial]:
        async with opening as trial:
            self._open.append((name, trial))
            try:
                yield trial
            finally:
                self._open.remove((name, trial))

    def waiting(self) -> tuple[Waiting, ...]:
        """The changes of this tree that were not applied, oldest first."""
        return tuple(each for each in list_waiting(self._state) if each.root == self._root)

    def waiting_change(self, name: str) -> Changes:
        """The change that waits in the trial of this name. Raises TreeError where none does."""
        return read_waiting(self._state, name)

    def hold_waiting(self, name: str) -> AbstractContextManager[Held]:
        """A change that waits, while no other process can have it; see `trees/waiting_changes.py`."""
        return hold_waiting(self._state, self._root, name)

    def unsaved_trials(self, beginning: str) -> tuple[str, ...]:
        """Trials whose names begin so, and whose processes were killed before a change could wait."""
        return list_unsaved(self._state, self._root, beginning)

    def trials_aside(self) -> tuple[Path, ...]:
        """Folders of old trials that could not be removed: another user owns them, say."""
        return list_aside(self._state)

    async def undo(self, change_id: str) -> tuple[str, Changes]:
        """Take an applied change back, keeping later edits; returns the new change's id and what it did."""
        changes = await undo_changes(self._root, self._state, change_id)
        return apply_changes(self._root, self._state, changes, self._limits, undoes=change_id), changes

    def recall(self, change_id: str) -> tuple[Changes, str]:
        """An applied change, and the id of the one it undid ("" if none)."""
        with told(str(self._state)):
            journal = open_journal(self._state)
        record = load_record(journal, change_id)
        return tuple(entry.change for entry in record.entries), record.undoes

    async def recover(self) -> tuple[Recovered, ...]:
        """Finish or roll back a change that a crash interrupted; called at start."""
        return recover(self._root, self._state)

    async def applied(self) -> tuple[str, ...]:
        """The ids of the changes that can be undone, the oldest first."""
        return list_applied(self._root, self._state)


# Open a tree: the user's files, with the best trials and the best sandbox that this machine can give.


Wish = Literal["auto", "require", "off", "outside"]  # whether commands are to be confined, and by whom
_OFF = Abilities("the sandbox is switched off", "the sandbox is switched off")


def open_tree(
    root: Path,
    state: Path,
    cache: Path,
    *,
    sandbox: Wish = "auto",
    limits: SizeLimits = LIMITS,
    hosts: tuple[str, ...] = (),
    pass_env: tuple[str, ...] = (),
    config: Path | None = None,
) -> LocalTree:
    """The tree at `root`; `state` is for trials and journals, `cache` for what can be found out again.

    Nothing is changed in these folders, nor in `config`. With "auto" commands are confined where the machine
    can, with "off" never; "outside": a container or a virtual machine around kith confines them. `hosts` are
    those that every command may reach; `pass_env` names variables that each gets, too. Raises
    TreeError with "require" where the machine cannot, and for a folder that holds kith's own state.
    """
    root, cache = root.resolve(), cache.absolute()
    state = make_state(state.absolute(), root)
    own = tuple(filter(None, (state, cache, config)))
    can = _find_abilities(sandbox, root, state, cache)
    confined = can.sandbox or sandbox == "outside"
    around = find_surroundings(root, pass_env)

    async def run(place: Path, command: ShellCommand, limits: ExecLimits) -> Ran:
        if can.sandbox:
            box = Box(place, place, False, around, (state,), hosts=hosts)
            return await run_boxed(box, command, limits)
        return await run_plain(place, cache / "commands", around, command, limits)

    def begin(tree: LocalTree, name: str) -> AbstractAsyncContextManager[Trial]:
        if can.overlay:
            return open_overlay(tree.root, state, around, name, hosts)
        return open_copy(tree.root, state, around, name, boxed=can.sandbox, confined=confined, hosts=hosts)

    return LocalTree(
        root,
        state,
        runner=run,
        trials=begin,
        confined=confined,
        hosts_jobs=can.overlay,
        limits=limits,
        own=own,
    )


def make_state(state: Path, root: Path) -> Path:
    """Make kith's own folder. Raises TreeError where it would be inside the tree."""
    if state.resolve().is_relative_to(root):
        raise TreeError(f"{root} holds kith's own files ({state}); open a project in it instead")
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    return state.resolve()


def _find_abilities(wish: Wish, root: Path, state: Path, cache: Path) -> Abilities:
    can = _OFF if wish in ("off", "outside") else probe(root, state, cache)
    if wish == "require" and not can.sandbox:
        raise TreeError(f"No sandbox on this machine: {can.no_sandbox}.")
    return can
