"""Wait for what another process, thread or task does."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

WAIT_S = 60.0  # how long a hang is borne; how quick something is on a quiet machine is not for a test to say

T = TypeVar("T")


def until(happened: Callable[[], T], what: str = "it did not happen") -> T:
    """The first true answer; fails, saying `what`, when none comes."""
    end = time.monotonic() + WAIT_S
    while not (found := happened()):
        assert time.monotonic() < end, what
        time.sleep(0.01)
    return found


async def soon(happened: Callable[[], T], what: str = "it did not happen") -> T:
    """`until`, while other tasks go on."""
    end = time.monotonic() + WAIT_S
    while not (found := happened()):
        assert time.monotonic() < end, what
        await asyncio.sleep(0.01)
    return found


def running(words: str) -> list[int]:
    """Every other process that has this on its command line, where a NUL ends each word."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it ended meanwhile
            if os.fsencode(words) in file.read_bytes() and int(file.parent.name) != os.getpid():
                found.append(int(file.parent.name))
    return found
