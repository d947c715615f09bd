"""Many files of a tree at once: their sizes and times, their contents, and git's ids of these."""

import asyncio
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from kith.core.errors import TreeError
from kith.core.git import blob_id
from kith.trees.files import check_path, open_folder, split_path
from kith.trees.git import is_repository, run_git
from kith.trees.listing import list_files

# Many files of a tree at once: their sizes and times, and their contents, each folder opened once.


def stamp_files(root: Path, paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """(bytes, time of the last write in ns) of each regular file; links and what is gone are left out.

    20,000 files take about 0.1 s.
    """
    found, top = dict[str, tuple[int, int]](), os.fspath(root) + os.sep
    for path in paths:
        with suppress(OSError):
            state = os.lstat(top + path)
            if stat.S_ISREG(state.st_mode):
                found[path] = (state.st_size, state.st_mtime_ns)
    return found


def read_files(root: Path, paths: Iterable[str]) -> dict[str, bytes]:
    """The contents of regular files, by path; no link is followed, and what cannot be read is left out.

    Sorted paths come five times as fast as one by one.
    """
    contents = dict[str, bytes]()
    for folder_path, names in groupby(map(split_path, paths), key=lambda each: each[0]):
        with (
            suppress(TreeError, OSError),
            open_folder(root, folder_path and check_path(folder_path)) as folder,
        ):
            for _, name in names:
                path = f"{folder_path}/{name}" if folder_path else name
                with suppress(TreeError, OSError):
                    state = folder.read(check_path(name), path)
                    if stat.S_IFMT(state.mode) == stat.S_IFREG:
                        contents[path] = state.content
    return contents


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
