"""Reap orphans of tasks: a worker that is process 1 of a container inherits them."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path


def find_zombies() -> set[int]:
    """The children of this process that have ended, and that nothing has waited for."""
    return {int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and _is_zombie(each)}


def _is_zombie(folder: Path) -> bool:
    try:
        state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
    except OSError:  # it is gone
        return False
    return state == "Z" and int(parent) == os.getpid()


async def reap_orphans(seconds: float) -> None:
    """Reap those that are found at two looks in a row: asyncio waits for its own children at once."""
    before = set[int]()
    while True:
        await asyncio.sleep(seconds)
        now = find_zombies()
        for each in now & before:
            with suppress(ChildProcessError):
                os.waitpid(each, os.WNOHANG)
        before = now - before
