"""Artefacts of runs, by the digest of their content, in a folder that all workers share."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import file_digest
from pathlib import Path
from typing import Final, Protocol

from kith.core.errors import TreeError

_DIGEST: Final = 64  # characters
RETAINED_S: Final = 3600.0  # after it was put, an artefact may not be named by a result yet


class Store(Protocol):
    """Files by their SHA-256. Every method raises TreeError where the place cannot be reached."""

    def put(self, file: Path) -> str:
        """Keep a file; its digest. A file that is there already costs nothing."""
        ...

    def get(self, digest: str, file: Path) -> None:
        """Write an artefact to a file, after its content was checked."""
        ...

    def remove(self, digest: str, young_s: float = 0.0) -> None:
        """Remove an artefact, if it is there and nobody put it in the last `young_s` seconds."""
        ...


class FolderStore:
    """A folder: on one machine, or on a file system that all workers mount."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, file: Path) -> str:
        digest = digest_of(file)
        place = self._place(digest)
        with suppress(OSError):
            os.utime(place)  # it is there, and wanted now
            return digest
        with _in_words(self.folder):
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=place.parent, prefix=".")
            try:
                with os.fdopen(handle, "wb") as out, file.open("rb") as source:
                    shutil.copyfileobj(source, out, 1 << 20)
                    out.flush()
                    os.fsync(out.fileno())
                Path(name).rename(place)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        return digest

    def get(self, digest: str, file: Path) -> None:
        with _in_words(self.folder):
            shutil.copyfile(self._place(digest), file)
        check_digest(file, digest)

    def remove(self, digest: str, young_s: float = 0.0) -> None:
        place = self._place(digest)
        with _in_words(self.folder), suppress(FileNotFoundError):
            if not young_s or self._now() - place.stat().st_mtime >= young_s:
                place.unlink()

    def _now(self) -> float:
        """The time of the file system's own clock, as files have it: this machine's may be wrong."""
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                return os.fstat(file.fileno()).st_mtime
        except OSError:  # it is full, and may become emptier now
            os.utime(self.folder)
            return self.folder.stat().st_mtime

    def _place(self, digest: str) -> Path:
        return self.folder / shard(digest)


def shard(digest: str) -> str:
    """The name of an artefact in a store. Raises TreeError for what is no digest."""
    if len(digest) != _DIGEST or not digest.isalnum():
        raise TreeError(f"{digest!r} names no artefact")
    return f"{digest[:2]}/{digest}"


def digest_of(file: Path) -> str:
    with file.open("rb") as source:
        return file_digest(source, "sha256").hexdigest()


def check_digest(file: Path, digest: str) -> None:
    """Raises TreeError for a file with another content; it is removed."""
    if digest_of(file) != digest:
        file.unlink()
        raise TreeError(f"the artefact {digest[:12]} is damaged")


@contextmanager
def _in_words(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TreeError(f"the store {folder} cannot be used: {error.strerror}") from error
