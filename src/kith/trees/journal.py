"""Apply a change to the user's tree: all of it or nothing, also after a crash.

The order is what makes it safe. Every `before` is compared with the disk; the record with all before- and
after-images is written and synced; new contents are staged beside their targets and synced; the record is
marked "swapping"; files are renamed into place and folders synced; the record is marked "applied". A crash
before "swapping" leaves the old tree and some temporaries, a crash after it is finished by `recover`."""

import os
import stat
import tempfile
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import HalfDoneError, TreeError, UnrecordedError
from kith.core.locks import hold_when_free
from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change, Changes
from kith.core.workspace import SizeLimits
from kith.trees.files import (
    FileState,
    Folder,
    check_link,
    check_path,
    delete_file,
    folders_above,
    is_folder,
    nearest_folder,
    open_folder,
    read_link,
    show_path,
    split_path,
    told,
)
from kith.trees.git import run_git
from kith.trees.records import (
    ChangeRecord,
    DamagedError,
    RecordedFile,
    State,
    drop_record,
    find_records,
    keep_save,
    list_applied,
    load_changes,
    load_record,
    mark_record,
    new_change_id,
    open_journal,
    prune_records,
    save_record,
    tree_key,
)
from kith.trees.swap import (
    emptied_folders,
    find_save,
    find_side,
    give_back,
    is_same,
    look,
    stage,
    swap,
    sweep,
    take_back,
)

__all__ = ["Recovered", "apply_changes", "list_applied", "load_changes", "recover"]

LIMITS = SizeLimits()

Outcome = Literal["finished", "taken back", "unreadable"]


class Recovered(Struct, frozen=True):
    """The outcome of a change that a crash interrupted.

    `saved` are copies of what other programs wrote into its files meanwhile and wrote over since.
    `begun`: some of its files may have been new already.
    """

    change_id: str
    outcome: Outcome
    saved: tuple[Path, ...] = ()
    begun: bool = False


def apply_changes(
    root: Path, state: Path, changes: Changes, limits: SizeLimits = LIMITS, undoes: str = ""
) -> str:
    """Make all of `changes` in the tree at `root` or none; returns the id for undo.

    `state` is kith's own folder. `undoes` names the change that this one undoes: its files get their old
    permissions again. A folder that becomes empty is removed, as in git. Raises TreeError, nothing changed,
    when a path, a size, a content or the disk refuses, or when a file differs from `before`. Raises BusyError
    when another kith is applying a change, HalfDoneError where the disk refuses to revert what was begun.
    """
    with told(str(state)):
        journal = open_journal(state)
    originals = _originals(journal, undoes)
    wanted = _check_changes(root, changes, limits, originals)
    with told(str(journal)), hold_when_free(journal / f"{tree_key(root)}.lock"):
        _recover(root, journal)
        record = _plan(root, new_change_id(root, journal), wanted, originals)
        _carry_out(root, journal, replace(record, undoes=undoes))
        with suppress(OSError, TreeError):  # the change is made, and the next one prunes as well
            prune_records(root, journal)
    return record.id


def recover(root: Path, state: Path) -> tuple[Recovered, ...]:
    """Finish, or roll back, a change that a crash interrupted. Call it at start; it is idempotent.

    Where every file is either old or new, the change is finished. Where somebody has edited a file since, the
    others are rolled back and the edit stays. Raises TreeError when the disk refuses, HalfDoneError where
    that leaves some files new and others old.
    """
    with told(str(state)):
        journal = open_journal(state)
        with hold_when_free(journal / f"{tree_key(root)}.lock"):
            return _recover(root, journal)


# --- before anything is touched ------------------------------------------------------------------


def _originals(journal: Path, undoes: str) -> dict[str, RecordedFile]:
    return {entry.change.path: entry for entry in load_record(journal, undoes).entries} if undoes else {}


def _check_changes(
    root: Path, changes: Changes, limits: SizeLimits, originals: dict[str, RecordedFile]
) -> tuple[Change, ...]:
    """The changes with plain paths, those that change nothing left out."""
    wanted, seen, total = list[Change](), set[str](), 0
    for change in (replace(each, path=check_path(each.path)) for each in changes):
        if change.path in seen:
            raise TreeError(f"{show_path(change.path)} is named twice in one change")
        seen.add(change.path)
        total += _check_content(change, limits)
        _check_mode(root, change, originals.get(change.path))
        if change.before != change.after or (change.after is not None and change.mode != change.mode_before):
            wanted.append(change)
    if total > limits.change:
        raise TreeError(f"the change is too large: {total} bytes, the limit is {limits.change}")
    if not wanted:
        raise TreeError("there is nothing to change")
    return tuple(wanted)


def _check_content(change: Change, limits: SizeLimits) -> int:
    """The larger size of the two images, in bytes."""
    shown, images = show_path(change.path), (change.before or b"", change.after or b"")
    size = max(len(image) for image in images)
    if size > limits.file:
        raise TreeError(f"{shown} is too large: {size} bytes, the limit for one file is {limits.file}")
    if any(b"\0" in image for image in images):
        raise TreeError(f"{shown} is a binary file, and kith changes text only")
    return size


def _check_mode(root: Path, change: Change, original: RecordedFile | None) -> None:
    if change.after is None:
        return
    if change.mode not in (FILE, EXECUTABLE, SYMLINK):
        raise TreeError(f"{show_path(change.path)}: {change.mode:o} is not a mode of git")
    was_there = original is not None and original.change.before == change.after
    if change.mode == SYMLINK and not was_there:
        check_link(root, change.path, change.after, lambda path: read_link(root, path))


def _plan(root: Path, change_id: str, changes: Changes, originals: dict[str, RecordedFile]) -> ChangeRecord:
    """Compare every file with its `before`, and decide where the new contents are staged."""
    paths = {change.path for change in changes}
    gone = {change.path for change in changes if change.after is None}
    entries, folders = list[RecordedFile](), set[str]()
    for number, change in enumerate(changes):
        found = look(root, change.path)
        if not is_same(found, change.before, change.mode_before):
            raise TreeError(f"{show_path(change.path)} was edited meanwhile; nothing was changed")
        nearest, missing = nearest_folder(root, split_path(change.path)[0])
        _refuse_in_the_way(root, change, missing, gone)
        _refuse_read_only(root, change.path, found, nearest)
        if change.after is not None:
            folders.update(missing)
        original = originals.get(change.path)
        permissions = found.permissions if found else original.permissions if original else None
        staged_in, name = _staging_folder(nearest, paths), f".{change_id}-{number}.kith-tmp"
        entries.append(RecordedFile(change, f"{staged_in}/{name}" if staged_in else name, permissions))
    return ChangeRecord(change_id, tuple(entries), tuple(sorted(folders)))


def _staging_folder(nearest: str, paths: Collection[str]) -> str:
    """The file's own folder; further up where the change turns that folder into a file, or back."""
    turned = [folder for folder in (nearest, *folders_above(nearest)) if folder in paths]
    return split_path(turned[-1])[0] if turned else nearest


def _refuse_in_the_way(root: Path, change: Change, missing: list[str], gone: set[str]) -> None:
    """A folder where a file is to be, or a file where a folder is to be, unless the change removes it."""
    below = change.path + "/"
    if is_folder(root, change.path) and not any(path.startswith(below) for path in gone):
        raise TreeError(f"{show_path(change.path)} cannot be written: a folder is in the way")
    for folder in missing:
        if folder not in gone and look(root, folder) is not None:
            raise TreeError(f"{show_path(change.path)} cannot be written: {show_path(folder)} is a file")


def _refuse_read_only(root: Path, path: str, found: FileState | None, nearest: str) -> None:
    """Files that cannot be written are respected even when the system would let us rename over them.

    So are write bits, which root need not care about, and what is marked as immutable.
    """
    with told(path), open_folder(root, nearest) as folder:
        if found and not (found.permissions & 0o222 and _may_write(folder, found, split_path(path)[1])):
            raise TreeError(f"{show_path(path)} is read-only")
        writable = os.access(folder.at("."), os.W_OK, dir_fd=folder.fd)
        if not writable or not stat.S_IMODE(folder.stat(".").st_mode) & 0o222:
            raise TreeError(f"{show_path(path)} is in a read-only folder")


def _may_write(folder: Folder, found: FileState, name: str) -> bool:
    return found.mode == SYMLINK or os.access(folder.at(name), os.W_OK, dir_fd=folder.fd)


# --- carrying it out, and what follows a failure -------------------------------------------------


def _carry_out(root: Path, journal: Path, record: ChangeRecord) -> None:
    begun = False
    try:
        with told(str(journal)):
            save_record(journal, record)
            stage(root, record.entries)
            begun = True
            mark_record(journal, record.id, "staging", "swapping")
            swap(root, record.entries, emptied_folders(record.entries))
            mark_record(journal, record.id, "swapping", "applied")
    except BaseException as error:
        _give_up(root, journal, record, error, begun)
        if isinstance(error, TreeError):
            raise TreeError(f"{error}; nothing was changed") from error
        raise


def _give_up(root: Path, journal: Path, record: ChangeRecord, why: BaseException, begun: bool) -> None:
    """Roll everything back. A failed rollback stays in the journal, for `recover`.

    Raises UnrecordedError where all files are changed, and only the journal refuses to take that down.
    Raises HalfDoneError where some are, or where the journal says that they will be.
    """
    change_id, saved, state = record.id, tuple[Path, ...](), None
    try:
        state = dict(find_records(root, journal)).get(change_id)
        if state in ("swapping", "applied"):
            mark_record(journal, change_id, state, "failing")
            state = "failing"
        if state is not None:
            saved = _settle(root, journal, change_id, state).saved
    except HalfDoneError as error:
        if error.old or state == "failing":
            raise HalfDoneError(change_id, why, error.new, error.old) from why
        raise UnrecordedError(change_id, error) from why
    except (OSError, TreeError) as error:
        new, old = _sides(root, record)
        if new and not old and state != "failing":
            raise UnrecordedError(change_id, error) from why
        if new or (begun and state != "failing"):
            raise HalfDoneError(change_id, why, new, old) from why
        raise TreeError(f"{why}; nothing was changed, and the next start removes what is left over") from why
    if saved:
        kept = ", ".join(map(str, saved))
        raise TreeError(f"{why}; another program saved at the same time, and its text is in {kept}") from why


def _sides(root: Path, record: ChangeRecord) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files that are new, and those that are old; what somebody has edited since is neither."""
    sides = [(show_path(entry.change.path), find_side(root, entry.change)) for entry in record.entries]
    new, old = (tuple(path for path, side in sides if side == which) for which in ("new", "old"))
    return new, old


def _recover(root: Path, journal: Path) -> tuple[Recovered, ...]:
    found = find_records(root, journal)
    return tuple(
        _settle(root, journal, change_id, state)
        for change_id, state in found
        if state in ("new", "staging", "swapping", "failing")
    )


def _settle(root: Path, journal: Path, change_id: str, state: State) -> Recovered:
    """Finish one unfinished record, forwards where that is possible."""
    if state == "new":  # it was not even written to its end
        drop_record(journal, change_id, state)
        return Recovered(change_id, "taken back")
    try:
        record = load_record(journal, change_id, state)
    except DamagedError:
        mark_record(journal, change_id, state, "damaged")
        return Recovered(change_id, "unreadable")
    begun = state in ("swapping", "failing")
    try:
        if begun:
            give_back(root, record.entries)
        saved = _keep_saves(root, journal, record)
        sweep(root, record.entries)  # or no folder that they lie in could go
        return Recovered(change_id, _end(root, journal, record, state), saved, begun)
    except (OSError, TreeError) as error:
        new, old = _sides(root, record)
        if begun and new:
            raise HalfDoneError(change_id, error, new, old) from error
        raise


def _keep_saves(root: Path, journal: Path, record: ChangeRecord) -> tuple[Path, ...]:
    """Move late saves of other programs from the tree to the journal, where they are no litter."""
    kept = list[Path]()
    for number, entry in enumerate(record.entries):
        content = find_save(root, entry)
        if content is not None:
            if content not in (entry.change.before, entry.change.after):
                kept.append(keep_save(journal, record.id, number, content))
            delete_file(root, entry.temporary)
    return tuple(kept)


def _end(root: Path, journal: Path, record: ChangeRecord, state: State) -> Outcome:
    """Finish a record whose temporaries are gone, or take it back."""
    change_id = record.id
    if state == "swapping" and _finish(root, record):
        sweep(root, record.entries)
        mark_record(journal, change_id, state, "applied")
        return "finished"
    if state == "swapping":
        mark_record(journal, change_id, state, "failing")
        state = "failing"
    if state == "failing":
        take_back(root, record)
    sweep(root, record.entries)
    drop_record(journal, change_id, state)
    return "taken back"


def _finish(root: Path, record: ChangeRecord) -> bool:
    """Go on to the end. False when somebody has edited one of the files, or the disk refuses."""
    if any(find_side(root, entry.change) == "other" for entry in record.entries):
        return False
    try:
        stage(root, record.entries)
        swap(root, record.entries, emptied_folders(record.entries))
    except TreeError:
        return False
    return True


# Takes a change back without losing what was edited since: a three-way merge per file.


class GoneError(TreeError):
    """Nothing is left of a change, so it cannot be undone."""


async def undo_changes(root: Path, state: Path, change_id: str) -> Changes:
    """Compute the changes that undo the applied change `change_id`, the last one or an older one.

    A file without later edits gets its old content; in an edited one, the edits stay and the change is taken
    out around them. Nothing is written: hand the result to `apply_changes` with `undoes=change_id`. Raises
    TreeError naming the files where the two overlap, GoneError where nothing is left of the change.
    """
    wanted, conflicts = list[Change](), list[str]()
    for change in load_changes(state, change_id):
        try:
            undone = await _take_out(root, change)
        except _Conflict:
            conflicts.append(show_path(change.path))
            continue
        if undone is not None:
            wanted.append(undone)
    if conflicts:
        raise TreeError(f"edited since, in the same places: {', '.join(conflicts)}; nothing was changed")
    if not wanted:
        raise GoneError("nothing of this change is in your files any more")
    return tuple(wanted)


class _Conflict(Exception):
    """A later edit prevents the undo of one file."""


async def _take_out(root: Path, change: Change) -> Change | None:
    """The change that undoes `change` in the file as it is now; None when that has happened already."""
    found = look(root, change.path)
    if is_same(found, change.after, change.mode):
        return change.inverse
    if is_same(found, change.before, change.mode_before):
        return None
    if found is None or change.before is None or change.after is None:
        raise _Conflict
    if SYMLINK in (found.mode, change.mode, change.mode_before):
        raise _Conflict
    mode = change.mode_before if found.mode == change.mode else found.mode
    content = await merge_three(found.content, change.after, change.before)
    if content is None:
        raise _Conflict
    return Change(change.path, found.content, content, mode, found.mode)


async def merge_three(current: bytes, base: bytes, other: bytes) -> bytes | None:
    """`current` with the step from `base` to `other` made in it; None when both changed the same lines."""
    if current in (base, other):
        return other
    if base == other:
        return current
    with tempfile.TemporaryDirectory(prefix="kith-merge-") as folder:
        for name, content in (("current", current), ("base", base), ("other", other)):
            Path(folder, name).write_bytes(content)
        ran = await run_git(Path(folder), "merge-file", "-p", "-q", "current", "base", "other")
    return ran.stdout if ran.ok else None
