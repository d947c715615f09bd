"""What every file of a tree holds, as git's blob ids: asked of git where it knows them already."""

import asyncio
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from kith.core.digest import blob_id
from kith.trees.bulk import read_files
from kith.trees.git import is_repository, run_git
from kith.trees.listing import list_files


async def read_digests(root: Path) -> Mapping[str, str]:
    """Each file that is not ignored, with the id of its content (SHA-1 over git's blob form).

    Of files that git tracks and sees unchanged, its index tells the id; all others are read.
    """
    files = set(await list_files(root))
    known = await _known_to_git(root) if await is_repository(root) else {}
    told = {path: digest for path, digest in known.items() if path in files}
    told |= await asyncio.to_thread(_digest, root, sorted(files - told.keys()))
    return told


async def _known_to_git(root: Path) -> dict[str, str]:
    """The ids in the index, but for files that are not as they were when it was written."""
    staged = await run_git(root, "ls-files", "-z", "--stage")
    modified = await run_git(root, "ls-files", "-z", "--modified")
    if not (staged.ok and modified.ok):
        return {}
    found = {}
    for entry in os.fsdecode(staged.stdout).split("\0")[:-1]:
        info, _, path = entry.partition("\t")
        mode, digest, stage = info.split(" ")
        if stage == "0" and mode != "160000":
            found[path] = digest
    for path in os.fsdecode(modified.stdout).split("\0")[:-1]:
        found.pop(path, None)
    return found


def _digest(root: Path, paths: Iterable[str]) -> dict[str, str]:
    read = read_files(root, paths)
    found = {path: blob_id(content) for path, content in read.items()}
    for path in paths:
        if path not in found and stat.S_ISLNK(_mode(root / path)):
            found[path] = blob_id(os.fsencode((root / path).readlink()))
    return found


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0
