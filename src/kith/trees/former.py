"""What files with telling names once held: in git's history, its stashes, and commits without a name."""

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kith.core.errors import TreeError
from kith.trees.git import is_repository, run_git
from kith.trees.revisions import read_blobs

_LARGEST: Final = 65_536  # bytes of a file
_MOST: Final = 400  # contents, the newest first
_PATIENCE_S: Final = 10.0  # a long history is worth no longer wait
# A line of git's raw format: modes, the object before and after, what happened, the path.
_CHANGED: Final = re.compile(rb":\d+ \d+ ([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [A-Z]\d*\0([^\0]+)\0")


async def find_former(root: Path, patterns: Sequence[str], tells: Callable[[str], bool]) -> tuple[bytes, ...]:
    """The contents that files had whose names fit one of the `patterns` (case aside) and `tells`.

    Nothing where that cannot be told soon: no repository, a huge one, objects that were never fetched.
    """
    if not await is_repository(root):
        return ()
    with suppress(TreeError, TimeoutError):
        async with asyncio.timeout(_PATIENCE_S):
            return await _read(root, [f":(icase,glob)**/{each}" for each in patterns], tells)
    return ()


async def _read(root: Path, places: list[str], tells: Callable[[str], bool]) -> tuple[bytes, ...]:
    words = ("--all", "--reflog", "--full-history", "-m", "--format=", "--raw", "--no-abbrev", "--no-renames")
    ran = await run_git(root, "log", *words, "-z", "--", *places, env={"GIT_LITERAL_PATHSPECS": "0"})
    named = (
        blob.decode()
        for *blobs, path in _CHANGED.findall(ran.stdout)
        if tells(os.fsdecode(path))
        for blob in blobs
        if blob.strip(b"0")
    )
    blobs = list(dict.fromkeys(named))[:_MOST]
    contents, _ = await read_blobs(root, set(blobs), _LARGEST)
    return tuple(contents[blob] for blob in blobs if blob in contents)
