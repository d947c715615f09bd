"""A PgBouncer in transaction mode before the tests' own PostgreSQL: one connection there, for all clients."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import pytest

from postgres import Postgres

PORT = 6543  # only the socket's name has it
CONFIG = """\
[databases]
* = host={there} user=tests
[pgbouncer]
pool_mode = transaction
default_pool_size = 2
auth_type = any
listen_addr =
unix_socket_dir = {folder}
listen_port = {port}
logfile = {folder}/log
"""


@contextmanager
def bouncing(postgres: Postgres) -> Iterator[Path]:
    """The folder of its socket. Skips the test where PgBouncer is not installed."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed")
    folder = Path(mkdtemp(prefix="kith-bounce-", dir="/tmp"))
    try:
        (folder / "ini").write_text(CONFIG.format(there=postgres.folder, folder=folder, port=PORT))
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        folder.chmod(0o755)
        who = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] * (os.getuid() == 0)
        process = subprocess.Popen([*who, program, "-q", str(folder / "ini")], cwd="/")
        try:
            end = time.monotonic() + 60
            while not (folder / f".s.PGSQL.{PORT}").exists():
                assert time.monotonic() < end and process.poll() is None
                time.sleep(0.02)
            yield folder
        finally:
            process.terminate()
            process.wait(60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
