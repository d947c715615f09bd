"""Files of a tree that no stranger may see: by name, by what git ignores, and in git's history."""

import asyncio
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.core.errors import TreeError
from kith.trees.bulk_read import read_files
from kith.trees.git import is_repository, run_git
from kith.trees.listing import SKIPPED, ignored
from kith.trees.revisions import read_blobs
from kith.trees.walk import walk

_MOST = 200_000  # entries that are looked at
_LARGEST = 65_536  # bytes of a file whose contents are wanted
_NEVER = SKIPPED | {".tox", ".nox", "site-packages", ".mypy_cache", ".ruff_cache", ".pytest_cache"}

# A path and whether git ignores it -> whether its name says that it holds secrets.
Tells = Callable[[str, bool], bool]


class Private(Struct, frozen=True):
    """Files whose names tell, those that git ignores and the others; and what small ignored files hold."""

    ignored: tuple[str, ...]
    known: tuple[str, ...]
    contents: dict[str, bytes]


async def find_private(root: Path, tells: Tells) -> Private:
    """Look through the tree at `root`, folders of dependencies and caches left out.

    `contents` holds the files whose names tell, and files beside tracked ones that git ignores one by one
    (`local_settings.py`), up to 64 kB each.
    """
    named = await asyncio.to_thread(lambda: [path for path in _walk(root) if tells(path, True)])
    left_out = await ignored(root, named)
    known = tuple(path for path in named if path not in left_out and tells(path, False))
    beside = await _ignored_one_by_one(root)
    wanted = sorted({*left_out, *known, *beside})
    contents = await asyncio.to_thread(_read, root, wanted)
    return Private(tuple(sorted(left_out)), known, contents)


def _walk(root: Path) -> Iterator[str]:
    """Every file below a folder, links left out, up to a number of entries."""
    seen = 0
    for visit in walk(root):
        visit.folders = sorted(name for name in visit.folders if name not in _NEVER)
        seen += len(visit.files) + len(visit.folders)
        if seen > _MOST:
            return
        yield from (visit.inside + name for name in visit.files)


async def _ignored_one_by_one(root: Path) -> list[str]:
    """Files that git ignores in folders that it does not."""
    if not await is_repository(root):
        return []
    words = ("--others", "--ignored", "--exclude-standard", "--directory")
    ran = await run_git(root, "ls-files", "-z", *words)
    names = os.fsdecode(ran.stdout).split("\0")[:-1] if ran.ok else []
    return [name for name in names if not name.endswith("/")]


def _read(root: Path, paths: list[str]) -> dict[str, bytes]:
    small = [path for path in paths if _size(root / path) <= _LARGEST]
    return {path: data for path, data in read_files(root, small).items() if b"\0" not in data}


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return _LARGEST + 1


# What files with telling names once held: in git's history, its stashes, and commits without a name.

_LARGEST_FORMER: Final = 65_536  # bytes of a file
_MOST_FORMER: Final = 400  # contents, the newest first
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
            return await _read_former(root, [f":(icase,glob)**/{each}" for each in patterns], tells)
    return ()


async def _read_former(root: Path, places: list[str], tells: Callable[[str], bool]) -> tuple[bytes, ...]:
    words = ("--all", "--reflog", "--full-history", "-m", "--format=", "--raw", "--no-abbrev", "--no-renames")
    ran = await run_git(root, "log", *words, "-z", "--", *places, env={"GIT_LITERAL_PATHSPECS": "0"})
    named = (
        blob.decode()
        for *blobs, path in _CHANGED.findall(ran.stdout)
        if tells(os.fsdecode(path))
        for blob in blobs
        if blob.strip(b"0")
    )
    blobs = list(dict.fromkeys(named))[:_MOST_FORMER]
    contents, _ = await read_blobs(root, set(blobs), _LARGEST_FORMER)
    return tuple(contents[blob] for blob in blobs if blob in contents)
