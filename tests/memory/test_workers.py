"""The processes that share a work: whoever dies takes nothing with it, and Ctrl-C is the parent's to tell."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kith.memory.workers import Crew


def double(numbers: Sequence[int]) -> list[int]:
    if any(number % 50 == 7 for number in numbers):
        os._exit(9)
    return [2 * number for number in numbers]


def negate(number: int) -> int:
    return -number


@pytest.mark.slow
def test_only_what_kills_a_process_is_lost_whatever_is_under_way_beside_it() -> None:
    async def work() -> list[list[int]]:
        with Crew(100, double, negate) as crew:
            return await asyncio.gather(*(crew.look(range(at, at + 4)) for at in range(0, 100, 4)))

    found = [number for part in asyncio.run(work()) for number in part]
    assert found == [-number if number % 50 == 7 else 2 * number for number in range(100)]


def whoami(things: Sequence[int]) -> list[int]:
    return [os.getpid() for _ in things]


def test_few_things_are_looked_at_without_processes() -> None:
    with Crew(3, whoami, negate) as crew:
        assert asyncio.run(crew.look([1, 2, 3])) == 3 * [os.getpid()]
        assert crew.width == 1


PRESSED = """\
import asyncio, time
from kith.memory.workers import Crew

def look(numbers):
    time.sleep(60)

async def work():
    with Crew(100, look, None) as crew:
        looks = [asyncio.ensure_future(crew.look([number])) for number in range(crew.width)]
        await asyncio.sleep(0.01)
        print("started", flush=True)
        await asyncio.gather(*looks)

if __name__ == "__main__":
    try:
        asyncio.run(work())
    except KeyboardInterrupt:
        print("stopped")
"""


def test_ctrl_c_while_processes_start_prints_no_traceback_and_waits_for_none(tmp_path: Path) -> None:
    (tmp_path / "pressed.py").write_text(PRESSED)
    process = subprocess.Popen(
        [sys.executable, tmp_path / "pressed.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout and process.stdout.readline() == "started\n"
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60) == ("stopped\n", "")
