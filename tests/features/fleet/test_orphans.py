"""A worker that inherits orphans reaps them, and leaves its own children to those who wait for them."""

import subprocess
import sys

import pytest

# As process 1 would, this one inherits what a shell leaves behind (prctl(2), PR_SET_CHILD_SUBREAPER).
SCRIPT = """
import asyncio, ctypes, os, subprocess
from kith.features.fleet.orphans import find_zombies, reap_orphans
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
subprocess.run(["sh", "-c", "sleep 0.05 & exit 0"])
async def main():
    while not find_zombies():
        await asyncio.sleep(0.01)
    own = await asyncio.create_subprocess_exec("sh", "-c", "exit 7")
    reaping = asyncio.ensure_future(reap_orphans(0.02))
    code = await own.wait()
    while find_zombies():
        await asyncio.sleep(0.01)
    reaping.cancel()
    print(code)
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is of Linux")
def test_orphans_are_reaped_and_children_are_not() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60)
    assert done.stdout == "7\n", done.stderr
