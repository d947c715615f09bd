"""A PostgreSQL of the tests' own, and in it a new database for each test that asks for one."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import pytest

FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")
NUMBERS = count(1)


def programs() -> Path | None:
    """The folder of PostgreSQL's programs; Debian keeps them off the PATH."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    found_all = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found_all[-1].parent if found_all else None


class Postgres:
    """A running cluster that only a socket leads to; as root it runs as the user `postgres`.

    `environment`: words such as `NAME=value` for its programs alone.
    """

    def __init__(self, folder: Path, environment: Sequence[str] = ()) -> None:
        self.folder, self.data, self.environment = folder, folder / "data", environment
        found = programs()
        assert found
        self.programs = found

    def run(self, program: str, *words: str, check: bool = True) -> None:
        who = (
            ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        )
        command = [*who, "env", *self.environment, str(self.programs / program), *words]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, check=check, cwd="/", start_new_session=True, **quiet)  # type: ignore[call-overload]

    def make(self) -> None:
        self.folder.chmod(0o755)
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self.run("initdb", "--pgdata", str(self.data), "--auth", "trust", "--username", "tests", "--no-sync")

    def start(self) -> None:
        options = " ".join(f"-c {each}" for each in FAST)
        options += f" -c listen_addresses='' -c unix_socket_directories='{self.folder}'"
        self.run("pg_ctl", "--pgdata", str(self.data), "--wait", "--options", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        self.run("pg_ctl", "--pgdata", str(self.data), "--mode", mode, "--wait", "stop", check=False)

    def address(self, database: str) -> str:
        return f"host={self.folder} user=tests dbname={database}"

    def new_database(self, template: str = "template1") -> str:
        """The address of a new database."""
        name = f"test{next(NUMBERS)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.address(name)

    def sql(self, statement: str, database: str = "postgres") -> str:
        words = [
            "psql",
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            statement,
            self.address(database),
        ]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One cluster for all tests of a process; in /tmp, for a socket's path may have 107 bytes."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    server = Postgres(Path(mkdtemp(prefix="kith-pg-", dir="/tmp")))
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)
