"""The journal's records on disk: one file per change, whose suffix says how far the change has come."""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, cast, get_args

from msgspec import Struct

from kith.core.codec import decode, encode
from kith.core.errors import TreeError
from kith.core.values import Change, Changes
from kith.trees.files import told

# new: half written; staging: no file of the tree is touched yet; swapping: it will be finished; failing: it
# will be taken back; damaged: nobody can read it.
State = Literal["new", "staging", "swapping", "failing", "applied", "damaged"]

KEEP_COUNT = 200  # applied changes of one tree that can still be undone
KEEP_BYTES = 256_000_000

_ID = re.compile(r"[0-9a-f]{10}-[0-9a-f]{11,}")


class RecordedFile(Struct, frozen=True):
    """One file of a change: where its new content is staged, and the permission bits the file had."""

    change: Change
    temporary: str
    permissions: int | None = None


class ChangeRecord(Struct, frozen=True):
    """A whole change with before- and after-images, and the folders it has to make (outermost first)."""

    id: str
    entries: tuple[RecordedFile, ...]
    folders: tuple[str, ...] = ()
    undoes: str = ""


class DamagedError(TreeError):
    """A record of the journal is not what was written."""


def open_journal(state: Path) -> Path:
    """The journal's folder, readable by its owner only."""
    journal = state / "journal"
    journal.mkdir(mode=0o700, parents=True, exist_ok=True)
    return journal


def tree_key(root: Path) -> str:
    """Return the prefix that the records of one tree share."""
    return hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:10]


def new_change_id(root: Path, journal: Path) -> str:
    """An id greater than all earlier ones of this tree, even when the clock went back."""
    key = tree_key(root)
    last = max((name for name, _ in find_records(root, journal)), default="")
    after = int(last.partition("-")[2], 16) + 1 if last else 0
    return f"{key}-{max(after, time.time_ns() // 1_000_000):011x}"


def find_records(root: Path, journal: Path) -> list[tuple[str, State]]:
    """(id, state) of every record of this tree, the oldest first."""
    key = tree_key(root)
    names = (path.name.rpartition(".") for path in journal.iterdir() if path.name.startswith(key + "-"))
    return sorted((stem, cast("State", suffix)) for stem, _, suffix in names if suffix in get_args(State))


def save_record(journal: Path, record: ChangeRecord) -> None:
    """Write a record in state "staging": whole and on the disk, or not at all."""
    new = journal / f"{record.id}.new"
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb", buffering=0):
        waiting = memoryview(json.dumps(encode(record)).encode())
        while waiting:
            waiting = waiting[os.write(fd, waiting) :]
        os.fsync(fd)
    new.replace(journal / f"{record.id}.staging")
    sync_folder(journal)


def keep_save(journal: Path, change_id: str, number: int, content: bytes) -> Path:
    """Keep the text that somebody else saved in the place of a change's file; it is on the disk then."""
    path = journal / f"{change_id}.{number}.saved"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(fd)
    sync_folder(journal)
    return path


def load_record(journal: Path, change_id: str, state: State = "applied") -> ChangeRecord:
    """Raises TreeError when there is no such record or the disk refuses, DamagedError for what is none."""
    if not _ID.fullmatch(change_id):
        raise TreeError(f"{change_id!r} is not the id of a change")
    path = journal / f"{change_id}.{state}"
    with told(str(path)):
        content = path.read_bytes() if path.exists() else None
    if content is None:
        raise TreeError(f"there is no change {change_id} (any more)")
    try:
        record = decode(json.loads(content), ChangeRecord)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedError(f"the journal of change {change_id} is damaged: {error}") from error
    if not isinstance(record, ChangeRecord):
        raise DamagedError(f"the journal of change {change_id} is damaged: it is empty")
    return record


def mark_record(journal: Path, change_id: str, before: State, after: State) -> None:
    """Move a record from one state to the next; it is on the disk when this returns."""
    (journal / f"{change_id}.{before}").replace(journal / f"{change_id}.{after}")
    sync_folder(journal)


def drop_record(journal: Path, change_id: str, state: State) -> None:
    (journal / f"{change_id}.{state}").unlink()
    sync_folder(journal)


def forget_records(state: Path, changes: Iterable[str]) -> None:
    """Remove the images of applied changes, which can be undone no more. Raises TreeError."""
    with told(str(state)):
        journal = open_journal(state)
        for change_id in filter(_ID.fullmatch, changes):
            for over in ("applied", "damaged"):
                (journal / f"{change_id}.{over}").unlink(missing_ok=True)
        sync_folder(journal)


def prune_records(root: Path, journal: Path, count: int = KEEP_COUNT, size: int = KEEP_BYTES) -> None:
    """Forget the oldest applied changes beyond `count` records or `size` bytes; the newest is always kept."""
    kept = 0
    for number, (change_id, suffix) in enumerate(reversed(find_records(root, journal))):
        path = journal / f"{change_id}.{suffix}"
        kept += path.stat().st_size
        if number and suffix == "applied" and (number >= count or kept > size):
            with suppress(OSError):
                path.unlink()


def sync_folder(path: Path) -> None:
    if os.name == "posix":
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def load_changes(state: Path, change_id: str) -> Changes:
    """An applied change, as it was applied. Raises TreeError when the journal no longer has it."""
    with told(str(state)):
        journal = open_journal(state)
    return tuple(entry.change for entry in load_record(journal, change_id).entries)


def list_applied(root: Path, state: Path) -> tuple[str, ...]:
    """The ids of the changes that can be undone, the oldest first."""
    with told(str(state)):
        found = find_records(root, open_journal(state))
    return tuple(change_id for change_id, suffix in found if suffix == "applied")
