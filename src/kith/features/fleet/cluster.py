"""A PostgreSQL of the user's own on this machine, made when first needed, reached by a socket alone."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kith.core.errors import KithError, UsageError

_DEBIAN: Final = Path("/usr/lib/postgresql")  # /VERSION/bin
_WAIT_S: Final = 60
_HIDDEN_FROM_ROOT: Final = "PostgreSQL refuses to run as root; run `kith fleet up` as another user."


class Cluster:
    """A database cluster in a folder: its data, and beside them the socket that only its owner may use."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data, self.sockets = folder, folder / "data", folder / "socket"

    @property
    def dsn(self) -> str:
        return f"host={self.sockets} dbname=postgres user={pwd.getpwuid(os.getuid()).pw_name}"

    @contextmanager
    def running(self, say: Callable[[str], None]) -> Iterator[None]:
        """Start it, and stop it at the end unless it ran before. Raises KithError where it cannot."""
        if os.getuid() == 0:
            raise UsageError(_HIDDEN_FROM_ROOT)
        programs = find_programs()
        if not (self.data / "PG_VERSION").exists():
            say("Making a database cluster, once.")
            self._make(programs)
        before = _run([str(programs / "pg_ctl"), "--pgdata", str(self.data), "status"]).returncode == 0
        if not before:
            self._start(programs)
        try:
            yield
        finally:
            if not before:
                _run([str(programs / "pg_ctl"), "--pgdata", str(self.data), "--mode", "fast", "stop"])

    def _make(self, programs: Path) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.sockets.mkdir(exist_ok=True, mode=0o700)
        shutil.rmtree(self.data, ignore_errors=True)
        # The socket's folder is the owner's alone, so whoever reaches it is the owner.
        words = ["--pgdata", str(self.data), "--encoding", "UTF8", "--no-locale", "--auth", "trust"]
        _must([str(programs / "initdb"), *words], "made")

    def _start(self, programs: Path) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.sockets}' -c max_connections=200"
        words = ["--pgdata", str(self.data), "--log", str(self.folder / "log"), "--options", options]
        _must([str(programs / "pg_ctl"), *words, "--wait", "--timeout", str(_WAIT_S), "start"], "started")


def find_programs() -> Path:
    """The folder with PostgreSQL's programs: on the PATH, or the newest of Debian's. Raises UsageError."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda each: int(each.parts[-3].partition(".")[0]))
    if not versions:
        raise UsageError("PostgreSQL is not installed: apt install postgresql.")
    return versions[-1].parent


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run one of its programs; what it starts keeps running without our streams."""
    return subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if "start" not in words else subprocess.DEVNULL,
        stderr=subprocess.STDOUT if "start" not in words else subprocess.DEVNULL,
        text=True,
        cwd="/",
        start_new_session=True,
    )


def _must(words: Sequence[str], what: str) -> None:
    ran = _run(words)
    if ran.returncode:
        said = (ran.stdout or "").strip().splitlines()
        raise KithError(
            f"The database cannot be {what}: {said[-1] if said else f'exit code {ran.returncode}'}."
        )
