"""A run's state as one file: its log, copied by SQLite, and its trial, by content."""

import asyncio
import os
from pathlib import Path
from typing import Final, Literal

from kith.core.errors import KithError, TreeError
from kith.core.processes import Ended, run_program
from kith.features.fleet.settings import without_dsn
from kith.memory.database import copy_log, move_log
from kith.memory.log import LOG_FILE
from kith.trees.copied_trial import mark_of, settle
from kith.trees.walk import remove_tree, walk

_PACK_S: Final = 600.0
_TRIALS: Final = "trials"
# Extended attributes and device nodes: an overlay marks with them what a trial has deleted.
_TAR: Final = ("tar", "--xattrs", "--xattrs-include=*", "--numeric-owner")


Packed = Literal["packed", "too large", "too early"]


async def pack(state: Path, file: Path, most_bytes: int) -> Packed:
    """Write a run's state into a file while its kith is at work.

    The log is copied first: a trial may be a tool call ahead of its log, as after a crash, and never behind.
    "too early": a check began or ended meanwhile, and the copy does not know which files are its by-products.
    Raises TreeError where the disk refuses.
    """
    copied = file.with_suffix(".log")
    mark = mark_of(state / _TRIALS)
    try:
        await asyncio.to_thread(copy_log, state / LOG_FILE, copied)
        if await asyncio.to_thread(_size, state) > most_bytes:
            return "too large"
        ran = await _tar(
            *("--create", "--gzip", "--file", str(file), "--ignore-failed-read", "--warning=none"),
            *("--exclude", f"./{LOG_FILE}*", "--transform", f"s,^{copied.name}$,./{LOG_FILE},"),
            *("-C", str(state), ".", "-C", str(copied.parent), copied.name),
        )
        if ran.code > 1:  # 1: a file changed while it was read
            raise TreeError(
                f"the checkpoint cannot be written: {ran.stderr.decode(errors='replace').strip()}"
            )
        return "packed" if mark_of(state / _TRIALS) == mark else "too early"
    finally:
        copied.unlink(missing_ok=True)


async def unpack(file: Path, state: Path, tree: Path) -> None:
    """Make a run's state from a file, for its tree on this machine, which is at the same commit.

    Raises KithError for a damaged one; then there is no state.
    """
    state.mkdir(parents=True, mode=0o700)
    ran = await _tar("--extract", "--gzip", "--preserve-permissions", "--file", str(file), "-C", str(state))
    try:
        if ran.code:
            raise TreeError(f"the checkpoint cannot be read: {ran.stderr.decode(errors='replace').strip()}")
        move_log(state / LOG_FILE, tree)
        for trial in (state / _TRIALS).glob("*"):
            if (trial / "lower").is_symlink():
                settle(trial, tree)
    except (KithError, OSError, ValueError) as error:
        remove_tree(state)
        if isinstance(error, KithError):
            raise
        raise TreeError(f"the checkpoint cannot be used: {error}") from error


async def _tar(*args: str) -> Ended:
    try:
        return await run_program([*_TAR, *args], seconds=_PACK_S, env=without_dsn(os.environ))
    except TimeoutError:
        raise TreeError(f"tar took longer than {_PACK_S:.0f} s") from None
    except OSError as error:
        raise TreeError(f"tar cannot be run: {error.strerror}") from error


def _size(folder: Path) -> int:
    return sum(
        (folder / visit.inside / name).lstat().st_size for visit in walk(folder) for name in visit.files
    )
