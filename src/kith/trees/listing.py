"""Which files a tree has, and which of them its owner ignores."""

import asyncio
import codecs
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kith.core.errors import TreeError
from kith.core.loops import leave
from kith.trees import recent
from kith.trees.files import look_at
from kith.trees.git import is_repository, run_git
from kith.trees.walk import walk

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SKIPPED = frozenset({".git", ".hg", ".svn", ".kith", "node_modules", ".venv", "__pycache__"})

_SUBMODULE = re.compile(rb"(?:^|\0)160000 [0-9a-f]+ \d\t([^\0]+)")

Rules = tuple[
    tuple[str, "GitIgnoreSpec"], ...
]  # (folder with its slash, its .gitignore), the outermost first


async def list_files(root: Path) -> tuple[str, ...]:
    """Every file and link of the tree that is not ignored, sorted; paths with forward slashes.

    In a repository these are git's tracked and untracked files that are there now; submodules and nested
    repositories are left out. Elsewhere a walk that honours `.gitignore` files.
    """
    if (known := recent.recall(root)) is not None:
        return known
    begun = recent.begin()
    files = await _list(root)
    recent.remember(root, files, begun)
    return files


async def _list(root: Path) -> tuple[str, ...]:
    # Asking git all questions at once is faster than looking at each file ourselves.
    questions = (["--cached", "--others", "--exclude-standard"], ["--deleted"], ["--stage"])
    asked = [asyncio.ensure_future(run_git(root, "ls-files", "-z", *words)) for words in questions]
    try:
        if not await is_repository(root):
            return tuple(sorted(_walk(root)))
        known, gone, staged = [await each for each in asked]
    finally:
        await leave(*asked)  # no process may outlive the question
    if not (known.ok and gone.ok and staged.ok):
        return tuple(sorted(_walk(root)))
    absent = {*_names(gone.stdout), *_submodules(staged.stdout)}
    names = _names(known.stdout)
    return tuple(sorted(dict.fromkeys(n for n in names if n not in absent and not _is_apart(n))))


def _names(output: bytes) -> list[str]:
    """What git separates by NUL characters."""
    return os.fsdecode(output).split("\0")[:-1]


def _submodules(staged: bytes) -> list[str]:
    if b"160000 " not in staged:  # their mode; the pattern is slower
        return []
    return [os.fsdecode(name) for name in _SUBMODULE.findall(staged)]


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
            if name not in SKIPPED and not _is_ignored(inside + name, True, here)
        ]
        rules |= {inside + name: here for name in visit.folders}
        for name in visit.files:
            if name not in visit.special and not _is_ignored(inside + name, False, here):
                yield inside + name


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
    """What git ignores in the tree: files, and whole folders with a slash at their end; none elsewhere."""
    if not await is_repository(root):
        return ()
    words = ("--others", "--ignored", "--exclude-standard", "--directory")
    ran = await run_git(root, "ls-files", "-z", *words)
    return tuple(name for name in _names(ran.stdout) if not _is_apart(name.rstrip("/"))) if ran.ok else ()
