"""The secrets of a worker stay in it."""

import subprocess
import sys

import pytest

from kith.features.fleet.settings import without_dsn

HIDDEN = """
import ctypes
from kith.features.fleet.worker import hide_environment
hide_environment()
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is of Linux")
def test_no_other_process_reads_the_environment_of_a_worker() -> None:
    assert subprocess.check_output([sys.executable, "-c", HIDDEN], text=True) == "0\n"  # not dumpable


def test_what_a_worker_starts_is_given_no_secret() -> None:
    secrets = ("KITH_FLEET_DSN", "KITH_FLEET_TOKEN", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY")
    given = dict.fromkeys(secrets, "x") | {"PATH": "/bin", "KITH_MODEL": "m"}
    assert without_dsn(given) == {"PATH": "/bin", "KITH_MODEL": "m"}
