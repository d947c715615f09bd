"""One engine as it is known on the disk: its folder, what it runs, how far it is, and who holds it."""

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Literal

from msgspec import Struct

from kith.core.codec import decode, encode
from kith.core.replace_file import put_private
from kith.features.engine.file_names import parts_of

if sys.platform != "win32":  # where no engine runs
    import fcntl

_VERSION = 1  # of the files here: two versions of kith that do not understand each other share nothing


class EngineSpec(Struct, frozen=True):
    """An engine to run. `engine` is "xllamacpp" or a path, `flags` are llama-server's.

    `size`: bytes of the model's files. After `idle_s` seconds without a kith that uses it, it ends. The last
    `given` words of `flags` are the person's.
    """

    name: str
    model: str
    digest: str
    engine: str
    flags: tuple[str, ...]
    size: int
    idle_s: float
    given: int = 0


class EngineRecord(Struct, frozen=True):
    """The state of an engine: written by its keeper, read by every kith that uses it.

    `loaded` is in percent, `window` in tokens. `trouble` explains a failure, `crash` the last restart, as
    sentences; `crashes` counts. `flags` are llama-server's.
    """

    state: Literal["loading", "ready", "failed"]
    name: str
    model: str
    keeper: int = 0
    keeper_born: str = ""
    engine: int = 0
    engine_born: str = ""
    since: float = 0.0  # seconds since 1970
    url: str = ""
    key: str = ""
    window: int = 0
    loaded: int = 0
    trouble: str = ""
    crash: str = ""
    crashes: int = 0
    flags: tuple[str, ...] = ()


class EngineHome(Struct, frozen=True):
    """The folder of one engine.

    Two locks say all that must never be wrong. `keeper` is held by the process that keeps the engine: free,
    and there is no engine, whatever a file says. `lease` is shared by everybody who wants the engine: to end
    it, the keeper must get it for itself.
    """

    folder: Path

    @property
    def keeper(self) -> Path:
        return self.folder / "keeper"

    @property
    def lease(self) -> Path:
        return self.folder / "lease"

    @property
    def record(self) -> Path:
        return self.folder / "engine.json"

    @property
    def key(self) -> Path:
        return self.folder / "key"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def last_failure(self) -> Path:
        """The log of the engine that failed last, of whichever model; it stays."""
        return self.folder.parent / "last-failure.log"

    @property
    def kept(self) -> bool:
        return is_taken(self.keeper)

    @property
    def wanted(self) -> bool:
        return is_taken(self.lease)

    def make(self) -> None:
        """Make the folder, for this user's eyes only."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def read(self) -> EngineRecord | None:
        """The record, None when there is none that can be read."""
        try:
            record: EngineRecord = decode(json.loads(self.record.read_text("utf-8")), EngineRecord)
        except (OSError, ValueError, TypeError):
            return None
        return record

    def write(self, record: EngineRecord) -> None:
        """Replace the record in one step: a reader sees the former one or this one."""
        put_private(self.record, json.dumps(encode(record)).encode())

    def clear(self) -> None:
        """Remove everything; only the holder of the keeper's lock may."""
        for file in self.folder.iterdir():
            if file != self.keeper:
                file.unlink(missing_ok=True)
        # Last, so that until here nobody can begin anew in the same place.
        self.keeper.unlink(missing_ok=True)
        with suppress(OSError):  # somebody already does
            self.folder.rmdir()


def engines_folder(state: Path) -> Path:
    """The folder of this user's engines."""
    return state / "engines"


def all_homes(state: Path) -> Iterator[EngineHome]:
    """The folder of each engine, in order."""
    for folder in sorted(engines_folder(state).glob("*/")):
        yield EngineHome(folder)


def home_for(spec: EngineSpec, state: Path) -> EngineHome:
    """The home of the engine for this model and these options.

    A changed file, other flags, another engine or another machine (a home folder may be shared) is another.
    """
    parts = [
        (str(file), found.st_size, found.st_mtime_ns)
        for file in model_files(Path(spec.model))
        for found in [file.stat()]
    ]
    what = repr((_VERSION, parts, spec.engine, spec.flags, platform.node()))
    return EngineHome(engines_folder(state) / hashlib.sha256(what.encode()).hexdigest()[:16])


def real_path(model: Path) -> Path:
    """Resolve the path of a model's file; a split one keeps its name, which leads to the other parts."""
    path = model.expanduser().absolute()
    return path.resolve() if len(parts_of(path.name)) == 1 else path


def model_files(model: Path) -> tuple[Path, ...]:
    """The files of a model that are there: itself, and where it is split the other parts."""
    return tuple(part for part in map(model.with_name, parts_of(model.name)) if part.exists())


# --- locks that the system lets go of when their owner dies ----------------------------------


def take(path: Path) -> FileIO | None:
    """The file at `path`, locked for this process alone; None while anybody else has a lock on it."""
    return _lock(path, alone=True)


def share(path: Path) -> FileIO | None:
    """The file at `path`, locked together with any number of others; None while somebody has it alone."""
    return _lock(path, alone=False)


def holds(lock: FileIO, path: Path) -> bool:
    """True if a lock is on the file now at `path`, and not on one that was removed."""
    try:
        return os.fstat(lock.fileno()).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def is_taken(path: Path) -> bool:
    """True if any process has a lock on the file."""
    if not path.exists():
        return False
    lock = take(path)
    if lock is not None:
        lock.close()
    return lock is None


def _lock(path: Path, *, alone: bool) -> FileIO | None:
    """A lock is an open file: closing it, on purpose or by dying, releases it (flock(2))."""
    try:
        file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")
    except FileNotFoundError:  # its folder was just cleared away
        return None
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    # Between opening and locking, the last owner may have removed the file: then this lock is nobody's.
    if holds(file, path):
        return file
    file.close()
    return None
