"""The cache of downloaded models that all programs share: Hugging Face's layout on the disk.

    models--USER--REPO/blobs/DIGEST               the bytes, once
    models--USER--REPO/snapshots/COMMIT/FILE      a relative link to them
    models--USER--REPO/refs/main                  the newest COMMIT
    .locks/models--USER--REPO/DIGEST.lock         held by who downloads

Source: https://huggingface.co/docs/huggingface_hub/guides/manage-cache.
"""

import asyncio
import errno
import hashlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from kith.core.errors import KithError, ModelError
from kith.core.events import Notice, Progress
from kith.core.model import Emit
from kith.core.numbers import size_text
from kith.features.engine.hub import Arrival, ChangedFileError, Hub, Listing
from kith.features.engine.quants import HubFile

PAUSE_S = 0.2
# What a file system answers that has no locks: the download then goes on without.
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


class Shelf(Struct, frozen=True):
    """One repository's place in the cache. Its methods raise OSError; each may be repeated after a crash."""

    cache: Path
    repo: str

    @property
    def folder(self) -> Path:
        return self.cache / f"models--{self.repo.replace('/', '--')}"

    @property
    def locks(self) -> Path:
        return self.cache / ".locks" / self.folder.name

    def blob(self, file: HubFile) -> Path:
        return self.folder / "blobs" / file.digest

    def snapshot(self, commit: str, file: HubFile) -> Path:
        return self.folder / "snapshots" / commit / file.path

    def holds(self, commit: str, file: HubFile) -> bool:
        """True if the whole file is there, here or in the snapshot (where links cannot be made)."""
        return any(size_of(path) == file.size for path in (self.blob(file), self.snapshot(commit, file)))

    def show(self, commit: str, file: HubFile) -> Path:
        """Let a blob be found under the file's name in the snapshot; returns that path."""
        path, blob = self.snapshot(commit, file), self.blob(file)
        if size_of(path) == file.size and not path.is_symlink():
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        target = os.path.relpath(blob, path.parent)
        if path.is_symlink() and os.readlink(path) == target:  # noqa: PTH115 -- as text
            return path
        path.unlink(missing_ok=True)
        _link(blob, path, target)
        return path

    def point(self, commit: str) -> None:
        """Make `main` mean this commit. The new file is written beside the refs, which others list."""
        fresh = self.locks / f"main.{os.getpid()}"
        fresh.write_text(commit, encoding="ascii")
        (self.folder / "refs").mkdir(exist_ok=True)
        fresh.replace(self.folder / "refs" / "main")


def size_of(path: Path) -> int:
    """A file's size in bytes; -1 when it is not there."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return -1


def _link(blob: Path, path: Path, target: str) -> None:
    """A symbolic link, else a hard one, else the file itself moves: a copy would take its room twice."""
    try:
        path.symlink_to(target)
    except OSError:  # Windows without the privilege, or FAT
        try:
            path.hardlink_to(blob)
        except OSError:
            blob.replace(path)


@asynccontextmanager
async def hold_lock(path: Path, tell_busy: Callable[[], None]) -> AsyncIterator[None]:
    """Hold a lock file, waiting for its owner as long as that lives; `tell_busy` is called meanwhile.

    A stale lock cannot exist: the kernel lets go when the process ends, however it ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        while not try_lock(fd):
            tell_busy()
            await asyncio.sleep(PAUSE_S)
        yield
    finally:
        os.close(fd)


def is_held(path: Path) -> bool:
    """True if a process holds the lock file."""
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(fd)
    finally:
        os.close(fd)


if sys.platform == "win32":
    import msvcrt

    def try_lock(fd: int) -> bool:
        """Take the lock of an open file, if nobody has it."""
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(fd: int) -> bool:
        """Take the lock of an open file, if nobody has it; a file system without locks counts as free."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        return True


# One file of a hub onto the disk, whole or not at all: it goes on where a killed process stopped.

PART, NOTE = ".kith.part", ".kith.json"
# Seconds before each new try after a broken connection; whenever something new came, they begin anew.
PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
LONGEST_PAUSE_S = 60.0  # a hub that wants more patience than this is told to the person
_BLOCK = 4 * 1024 * 1024  # bytes

Tell = Callable[[int], None]  # hears how many bytes of the file are here


async def fetch(
    hub: Hub, listing: Listing, file: HubFile, shelf: Shelf, emit: Emit, tell: Tell, pauses: tuple[float, ...]
) -> None:
    """Download a file's blob into the cache, checked against its digest; nothing happens when it is there.

    Another process that fetches the same file is waited for. Raises KithError for what a hub refuses or sends
    wrong, ModelError (retryable) when the connection stays broken, OSError from the disk.
    """
    blob = shelf.blob(file)
    blob.parent.mkdir(parents=True, exist_ok=True)
    waiting = _Waiting(blob.with_name(blob.name + PART), emit, tell)
    async with hold_lock(shelf.locks / f"{file.digest}.lock", waiting):
        if size_of(blob) == file.size:
            return tell(file.size)
        _drop_outdated(shelf, file)
        with _Part.open(blob, file) as part:
            await part.read_again(emit)
            await _receive_all(hub, listing, part, shelf.repo, emit, tell, pauses)
            part.finish()


class _Waiting(Struct):
    """Tells once that another process is at work, and then how far it is."""

    part: Path
    emit: Emit
    tell: Tell
    told: bool = False

    def __call__(self) -> None:
        if not self.told:
            self.emit(Notice("Another kith is downloading this file; waiting for it."))
            self.told = True
        self.tell(max(0, size_of(self.part)))


class _Part(Struct):
    """The beginning of a file: its bytes on the disk, and their hash."""

    blob: Path
    file: HubFile
    stream: BinaryIO
    hash: "hashlib._Hash"
    etag: str = ""
    size: int = 0

    @classmethod
    def open(cls, blob: Path, file: HubFile) -> "_Part":
        path = blob.with_name(blob.name + PART)
        # Unbuffered: what was received survives a kill; and created if missing, but never cut.
        stream = os.fdopen(
            os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+b", 0
        )
        return cls(blob, file, stream, _hash_for(file), _read_note(blob).get("etag", ""))

    def __enter__(self) -> "_Part":
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    async def read_again(self, emit: Emit) -> None:
        """Hash what an earlier process left."""
        there = os.fstat(self.stream.fileno()).st_size
        if there > self.file.size:
            return self.restart("")
        while block := self.stream.read(_BLOCK):
            self.hash.update(block)
            self.size += len(block)
            emit(Progress("checking", self.size, there))
            await asyncio.sleep(0)  # may be cancelled here
        if self.size:
            emit(Notice(f"Resuming at {size_text(self.size)} of {size_text(self.file.size)}."))

    def restart(self, etag: str) -> None:
        """Forget the bytes, then note what comes next: a note is never older than the bytes beside it."""
        self.stream.seek(0)
        self.stream.truncate()
        self.size, self.hash, self.etag = 0, _hash_for(self.file), etag
        _note(self.blob).write_text(json.dumps({"file": self.file.path, "etag": etag}), encoding="utf-8")

    def write(self, chunk: bytes) -> None:
        """Raises KithError when more comes than the file has."""
        if self.size + len(chunk) > self.file.size:
            self.discard()
            raise KithError(f"The server sent more of {self.file.path} than the file has; try again.")
        view = memoryview(chunk)
        while view:
            written = self.stream.write(view)
            self.hash.update(view[:written])
            self.size += written
            view = view[written:]

    def finish(self) -> None:
        """Make it the blob, durably. Raises KithError, and deletes it, when its digest is another."""
        if self.hash.hexdigest() != self.file.digest:
            self.discard()
            raise KithError(f"{self.file.path} had a wrong checksum and was deleted; try again.")
        os.fsync(self.stream.fileno())
        self.stream.close()
        # The note first: killed in between, the next process finds a whole part, and nothing else.
        _note(self.blob).unlink(missing_ok=True)
        self.blob.with_name(self.blob.name + PART).replace(self.blob)
        _sync_folder(self.blob.parent)

    def discard(self) -> None:
        self.stream.close()
        _drop(self.blob)


async def _receive_all(
    hub: Hub, listing: Listing, part: _Part, repo: str, emit: Emit, tell: Tell, pauses: tuple[float, ...]
) -> None:
    """Receive until the part is whole, over as many connections as it takes."""
    failures, most = 0, part.size
    while part.size < part.file.size:
        try:
            async with hub.open(repo, listing.commit, part.file, part.size, part.etag) as arrival:
                await _receive(arrival, part, tell)
        except ModelError as error:
            if part.size > most:
                failures, most = 0, part.size
            if not error.retryable or failures >= len(pauses):
                raise _given_up(error, part) from error
            if isinstance(error, ChangedFileError):
                part.restart("")
            pause = max(pauses[failures], error.after_s or 0.0)
            if pause > LONGEST_PAUSE_S:
                raise _given_up(error, part) from error
            emit(Notice(f"{error}; trying again in {pause:.0f} s."))
            failures += 1
            await asyncio.sleep(pause)


async def _receive(arrival: Arrival, part: _Part, tell: Tell) -> None:
    if arrival.start != part.size or part.size == 0:
        part.restart(arrival.etag)
    async for chunk in arrival.chunks:
        part.write(chunk)
        tell(part.size)
    if part.size < part.file.size:
        raise ModelError("the server sent less than the whole file", retryable=True)


def _given_up(error: ModelError, part: _Part) -> ModelError:
    if not part.size:
        return error
    kept = f"{size_text(part.size)} of {size_text(part.file.size)} are kept"
    return ModelError(
        f"{error}; {kept}, and the same command resumes.", retryable=error.retryable, after_s=error.after_s
    )


def _drop_outdated(shelf: Shelf, file: HubFile) -> None:
    """Delete parts of what the file was earlier, unless somebody is still at them."""
    for note in (shelf.folder / "blobs").glob(f"*{NOTE}"):
        blob = note.with_name(note.name.removesuffix(NOTE))
        known = _read_note(blob).get("file") == file.path
        if known and blob.name != file.digest and not is_held(shelf.locks / f"{blob.name}.lock"):
            _drop(blob)


def _drop(blob: Path) -> None:
    """Delete the part and its note, in this order: a part without a note would be nobody's."""
    for suffix in (PART, NOTE):
        blob.with_name(blob.name + suffix).unlink(missing_ok=True)


def _note(blob: Path) -> Path:
    return blob.with_name(blob.name + NOTE)


def _read_note(blob: Path) -> dict[str, str]:
    """Read the note beside a partial download; empty when it is missing or incomplete."""
    with suppress(OSError, ValueError):
        note = json.loads(_note(blob).read_text(encoding="utf-8"))
        return {key: str(value) for key, value in note.items()} if isinstance(note, dict) else {}
    return {}


def _hash_for(file: HubFile) -> "hashlib._Hash":
    """SHA-256, or for small files git's way of naming a content: SHA-1 over a header and the bytes."""
    if len(file.digest) == 64:
        return hashlib.sha256()
    return hashlib.sha1(f"blob {file.size}\0".encode(), usedforsecurity=False)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, where folders can be synced."""
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
