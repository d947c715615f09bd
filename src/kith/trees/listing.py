"""List the files of a tree and those that its owner ignores; keep the last list while it holds."""

import asyncio
import codecs
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kith.core.errors import TreeError
from kith.core.event_loop import leave
from kith.core.generated import ALWAYS_GENERATED, is_generated
from kith.trees.files import look_at
from kith.trees.git import is_repository, run_git
from kith.trees.walk import walk

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


# The last list of a tree's files, for as long as the tree shows that it still holds.

FRESH_S: Final = 5.0  # for what shows nowhere: a file in a folder that was empty, rules outside of the tree
_TICK_NS: Final = 50_000_000  # clocks of file systems are coarse: what changed so lately may change unseen
_MOST: Final = 4  # trees
_INDEX: Final = ".git/index"

Stamp = tuple[int, int, int] | None
_lists: dict[Path, "_Known"] = {}


class _Known(Struct, frozen=True):
    files: tuple[str, ...]
    at: float
    stamps: Mapping[str, Stamp]  # of each folder, git's index and the rules of what is ignored, by full path


class Begun(Struct, frozen=True):
    """The start of a listing: by the clock of the disk, and by a monotonic clock."""

    wall_ns: int
    steady: float


def begin() -> Begun:
    return Begun(time.time_ns(), time.monotonic())


def recall(root: Path) -> tuple[str, ...] | None:
    """The files of the tree at `root`, None where nobody has listed them lately or anything came or went."""
    known = _lists.get(root)
    if known is None or time.monotonic() - known.at > FRESH_S:
        return None
    if any(_stamp(path) != stamp for path, stamp in known.stamps.items()):
        _lists.pop(root, None)
        return None
    return known.files


def remember(root: Path, files: tuple[str, ...], begun: Begun) -> None:
    """Keep a list, unless something changed while it was made, or just before that."""
    top = os.fspath(root)
    rules = (path for path in files if path.endswith(".gitignore"))
    places = (f"{top}/{path}" for path in (*_folders(files), *rules, _INDEX))
    stamps = {place: _stamp(place) for place in places}
    _lists.pop(root, None)
    if all(stamp is None or stamp[0] < begun.wall_ns - _TICK_NS for stamp in stamps.values()):
        _lists[root] = _Known(files, begun.steady, stamps)
    while len(_lists) > _MOST:
        _lists.pop(next(iter(_lists)), None)


def _folders(files: Iterable[str]) -> set[str]:
    """All folders that hold one of the files, at any depth, and the top ("")."""
    found = {path.rpartition("/")[0] for path in files} | {""}
    for folder in tuple(found):
        while (folder := folder.rpartition("/")[0]) not in found:
            found.add(folder)
    return found


def _stamp(place: str) -> Stamp:
    """Return attributes that change when a folder's names or a file do; None for a missing path."""
    try:
        found = os.lstat(place)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


SKIPPED = frozenset({".git", ".hg", ".svn", ".kith", *ALWAYS_GENERATED})

STAGED: Final = ("ls-files", "-z", "--stage", "-v")
STATUS: Final = (
    *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all"),
    *("--no-renames", "--ignore-submodules=dirty"),
)
_ASSUMED: Final = (b"h ", b"s ", b"m ")  # the tags of files that git does not look at
_SUBMODULE = re.compile(rb"(?:^|\0)(?:\w )?160000 [0-9a-f]+ \d\t([^\0]+)")
_STAGED_NAME = re.compile(r"[^\t]*\t([^\0]*)\0")  # behind mode, object and stage

Rules = tuple[
    tuple[str, "GitIgnoreSpec"], ...
]  # (folder with its slash, its .gitignore), the outermost first


async def list_files(root: Path) -> tuple[str, ...]:
    """Every file and link of the tree that is not ignored, sorted; paths with forward slashes.

    In a repository these are git's tracked and untracked files that are there now; submodules and nested
    repositories are left out. Elsewhere a walk that honours `.gitignore` files. Generated folders that git
    does not track count as ignored.
    """
    if (known := recall(root)) is not None:
        return known
    begun = begin()
    files = await _list(root)
    remember(root, files, begun)
    return files


async def _list(root: Path) -> tuple[str, ...]:
    # Asking git all questions at once is faster than looking at each file ourselves.
    questions = (["--stage"], ["--others", "--exclude-standard"], ["--deleted"])
    asked = [asyncio.ensure_future(run_git(root, "ls-files", "-z", *words)) for words in questions]
    try:
        if not await is_repository(root):
            return tuple(sorted(_walk(root)))
        staged, others, gone = [await each for each in asked]
    finally:
        await leave(*asked)  # no process may outlive the question
    if not (staged.ok and others.ok and gone.ok):
        return tuple(sorted(_walk(root)))
    return _merge(staged.stdout, _names(others.stdout), _names(gone.stdout))


def note_status(root: Path, staged: bytes, status: bytes, begun: Begun) -> None:
    """Keep the list that git's answers to STAGED and STATUS give, at the top of a repository.

    Where they do not tell all, nothing is kept: of a merge's conflicts, and of files that git was told to
    assume unchanged.
    """
    lines = status.split(b"\0")[:-1]
    others = [os.fsdecode(line[2:]) for line in lines if line.startswith(b"? ")]
    changed = [line.split(b" ", 8) for line in lines if line.startswith(b"1 ")]
    heads = sum(line.startswith(b"# ") for line in lines)
    assumed = (staged.startswith(tag) or b"\0" + tag in staged for tag in _ASSUMED)
    if heads + len(others) + len(changed) < len(lines) or any(assumed):
        return
    gone = [os.fsdecode(fields[8]) for fields in changed if fields[1].endswith(b"D")]
    remember(root, _merge(staged, others, gone), begun)


def _merge(staged: bytes, untracked: Sequence[str], gone: Iterable[str]) -> tuple[str, ...]:
    """The files that git tracks or could track, as `list_files` gives them."""
    tracked: list[str] = _STAGED_NAME.findall(os.fsdecode(staged))
    absent = {*gone, *_submodules(staged), *_generated(untracked, tracked)}
    absent.update(filter(_is_apart, untracked if b".kith/" not in staged else (*tracked, *untracked)))
    names: Iterable[str] = dict.fromkeys((*tracked, *untracked))
    return tuple(sorted(names if not absent else (name for name in names if name not in absent)))


def _names(output: bytes) -> list[str]:
    """Split git's output at NUL characters."""
    return os.fsdecode(output).split("\0")[:-1]


def _submodules(staged: bytes) -> list[str]:
    if b"160000 " not in staged:  # their mode; the pattern is slower
        return []
    return [os.fsdecode(name) for name in _SUBMODULE.findall(staged)]


def _generated(untracked: Sequence[str], tracked: Sequence[str]) -> list[str]:
    """The files in generated folders, but for those that git tracks."""
    there = frozenset((*tracked, *untracked)) if untracked else frozenset[str]()
    return [name for name in untracked if is_generated(name, there.__contains__)]


def _is_apart(name: str) -> bool:
    """A nested repository (git names it with a slash at the end), or kith's own."""
    return name[-1] == "/" or (".kith/" in name and ".kith" in name.split("/"))


def _walk(root: Path) -> Iterator[str]:
    rules: dict[str, Rules] = {}  # of the folders that are still to be visited
    for visit in walk(root):
        inside = visit.inside
        here = rules.pop(visit.path, ())
        if ".gitignore" in visit.files:
            here = (*here, *_rules_of(root, inside))
        visit.folders = [
            name
            for name in visit.folders
            if name not in SKIPPED
            and not is_generated(f"{name}/", partial(_is_there, root / inside))
            and not _is_ignored(inside + name, True, here)
        ]
        rules |= {inside + name: here for name in visit.folders}
        for name in visit.files:
            if name not in visit.special and not _is_ignored(inside + name, False, here):
                yield inside + name


def _is_there(folder: Path, name: str) -> bool:
    return os.path.lexists(folder / name)


def _rules_of(root: Path, folder: str) -> Rules:
    """The rules in a folder's own `.gitignore`, if it is a regular file (git follows no link here either)."""
    from pathspec import GitIgnoreSpec

    try:
        found = look_at(root, folder + ".gitignore")
    except TreeError:
        return ()
    if found is None or stat.S_IFMT(found.mode) != stat.S_IFREG:
        return ()
    return ((folder, GitIgnoreSpec.from_lines(_lines(found.content))),)


def _lines(content: bytes) -> list[str]:
    text = os.fsdecode(content.removeprefix(codecs.BOM_UTF8))
    return [line.removesuffix("\r") for line in text.split("\n")]


def _is_ignored(path: str, is_folder: bool, rules: Rules) -> bool:
    """The innermost `.gitignore` that says anything decides."""
    for folder, spec in reversed(rules):
        verdict = spec.check_file(path[len(folder) :] + ("/" if is_folder else "")).include
        if verdict is not None:
            return verdict
    return False


async def ignored(root: Path, paths: Iterable[str]) -> set[str]:
    """Those of `paths` (files, present or not) that the ignore rules leave out; tracked files never."""
    asked = sorted(set(paths))
    if not asked:
        return set()
    if await is_repository(root):
        names = b"".join(b"./" + os.fsencode(path) + b"\0" for path in asked)  # "./": a leading ":" is magic
        ran = await run_git(root, "check-ignore", "-z", "--stdin", input=names)
        # 0: some are, 1: none is. Else one path (behind a link, in a submodule) made git refuse them all.
        if ran.code in (0, 1):
            return {os.fsdecode(name[2:]) for name in ran.stdout.split(b"\0") if name}
    return _ignored_by_rules(root, asked)


def _ignored_by_rules(root: Path, paths: Iterable[str]) -> set[str]:
    known, found = dict[str, Rules](), set[str]()
    for path in paths:
        folder, rules = "", known.setdefault("", _rules_of(root, ""))
        for part in path.split("/")[:-1]:
            if part in SKIPPED or _is_ignored(folder + part, True, rules):
                found.add(path)
                break
            folder += part + "/"
            if folder not in known:
                known[folder] = (*rules, *_rules_of(root, folder))
            rules = known[folder]
        else:
            if _is_ignored(path, False, rules):
                found.add(path)
    return found


async def list_ignored(root: Path) -> tuple[str, ...]:
    """List the paths that git ignores: files, and whole folders with a slash at their end."""
    if not await is_repository(root):
        return ()
    words = ("--others", "--ignored", "--exclude-standard", "--directory")
    ran = await run_git(root, "ls-files", "-z", *words)
    return tuple(name for name in _names(ran.stdout) if not _is_apart(name.rstrip("/"))) if ran.ok else ()
