"""Find what commands wrote into submodules and other repositories of the tree, and undo it."""

import os
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from kith.core.errors import TreeError
from kith.core.generated import ALWAYS_GENERATED
from kith.core.values import Change
from kith.trees.compare import Look, Touched, compare, files_of
from kith.trees.files import FileState
from kith.trees.listing import ignored
from kith.trees.walk import walk

_MOST_TOLD: Final = 100  # paths
# What nobody looks for repositories in.
UNVISITED: Final = frozenset({".git", ".kith", *ALWAYS_GENERATED})


class Apart(Struct, frozen=True):
    """The user's repositories in which something may have been written, and those that are new."""

    touched: Mapping[str, Touched] = field(default_factory=dict)
    new: Collection[str] = ()


def is_repository_of(root: Path, folder: str) -> bool:
    """True if a folder of the user's tree is a submodule or a repository of its own."""
    return bool(folder) and os.path.lexists(root / folder / ".git")


def files_below(root: Path, path: str) -> Iterator[str]:
    """The file at `path`, or every file in the folder there."""
    if not (root / path).is_dir() or (root / path).is_symlink():
        yield path
        return
    for visit in walk(root / path):
        visit.folders = [name for name in visit.folders if name not in UNVISITED]
        yield from (f"{path}/{visit.inside}{name}" for name in visit.files if name not in UNVISITED)


async def put_back(
    root: Path,
    apart: Apart,
    look: Look,
    put: Callable[[str, FileState | None], None],
    ignored_here: Callable[[Collection[str]], Awaitable[set[str]]],
) -> tuple[str, ...]:
    """Give the files in the user's repositories their content again; returns the paths that differed.

    What is ignored stays, in them and around them: it is what was built, or fetched for that.
    """
    undone = list[str]()
    for folder, touched in apart.touched.items():
        with suppress(TreeError):  # too much to compare, or nothing that kith could read
            found = compare(touched, files_of(root), look)
            inside = [change.path.removeprefix(f"{folder}/") for change in found]
            if not inside or folder in await ignored_here([folder]):
                continue
            built = {f"{folder}/{path}" for path in await ignored(root / folder, inside)}
            changes = [change for change in found if change.path not in built]
            for change in sorted(changes, key=lambda change: change.before is not None):
                undone.append(change.path)
                put(change.path, _state_before(change))
    return tuple(sorted(undone)[:_MOST_TOLD])


def _state_before(change: Change) -> FileState | None:
    return None if change.before is None else FileState(change.before, change.mode_before, 0)
