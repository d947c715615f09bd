"""Compute the changes between two states of a git repository: commits, the index, the working tree."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from kith.core.errors import TreeError
from kith.core.event_loop import leave
from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change, Changes
from kith.trees.files import check_path, look_at, show_path
from kith.trees.git import GitRan, run_git
from kith.trees.listing import STAGED, STATUS, begin, note_status
from kith.trees.walk import remove_tree

INDEX: Final = "index"
WORKTREE: Final = "worktree"
_MODES: Final = (FILE, EXECUTABLE, SYMLINK)
_SUBMODULE: Final = 0o160000


class Difference(Struct, frozen=True):
    """The changes from one state to another, and what they leave out, in words."""

    changes: Changes
    left_out: tuple[str, ...] = ()


class _RawDiffLine(Struct, frozen=True):
    """One line of a raw diff; an object's name is None where git has not stored it."""

    old_mode: int
    new_mode: int
    old_blob: str | None
    new_blob: str | None
    old_path: str
    path: str


async def resolve(root: Path, revision: str) -> str:
    """The commit that a name, a tag or an expression such as HEAD~2 means. Raises TreeError."""
    words = f"{revision}^{{commit}}"
    ran = await run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", words)
    if not ran.ok or revision.startswith("-"):
        raise TreeError(f"there is no commit {revision!r} here")
    return ran.stdout.decode().strip()


async def parent(root: Path, commit: str) -> str:
    """A commit's first parent; of a first commit, the empty tree."""
    ran = await run_git(root, "rev-parse", "--verify", "--quiet", f"{commit}^1")
    return ran.stdout.decode().strip() if ran.ok else await empty_tree(root)


async def empty_tree(root: Path) -> str:
    """The name of the tree without files, in the repository's own hash."""
    return (await _ask(root, "hash-object", "-t", "tree", "--stdin", input=b"")).stdout.decode().strip()


async def merge_base(root: Path, one: str, other: str) -> str:
    """The commit at which two lines of history part. Raises TreeError when they have none in common."""
    ran = await run_git(root, "merge-base", one, other)
    if not ran.ok:
        raise TreeError(f"{one[:12]} and {other[:12]} have no history in common")
    return ran.stdout.decode().split()[0]


async def diff_states(
    root: Path, old: str, new: str | Literal["index", "worktree"], most: int, *, renames: bool = True
) -> Difference:
    """The changes from `old` (a commit, a tree or INDEX) to `new` (one of these, or WORKTREE).

    A renamed file is one change under its new name. Untracked files belong to the working tree. Files over
    `most` bytes, submodules and what is out of bounds are left out, and named. Raises TreeError.
    """
    states = [state for state in (old, new) if state not in (INDEX, WORKTREE)]
    cached = ["--cached"] if new == INDEX else []
    found = "--find-renames" if renames else "--no-renames"
    shape = ("--raw", "-z", "--no-abbrev", "--relative", "--ignore-submodules=dirty", found)
    ran = await _ask(root, "diff", *shape, *cached, *states)
    entries = [*_entries(ran.stdout)]
    if new == WORKTREE:
        entries += await _untracked(root, {entry.path for entry in entries})
    left_out = [f"{entry.path} (a submodule)" for entry in entries if _SUBMODULE in _modes_of(entry)]
    left_out += [f"{entry.path} (out of bounds)" for entry in entries if _is_out_of_bounds(entry.path)]
    entries = [entry for entry in entries if not _modes_of(entry) - {0, *_MODES}]
    entries = [entry for entry in entries if not _is_out_of_bounds(entry.path)]
    blobs, too_large = await _read_blobs(root, entries, most)
    changes = list[Change]()
    for entry in entries:
        change = None if entry.path in too_large else _change(root, entry, blobs, most)
        if change is None:
            left_out.append(f"{entry.path} (over {most:,} bytes)")
        elif change != change.inverse:
            changes.append(change)
    return Difference(tuple(sorted(changes, key=lambda change: change.path)), tuple(left_out))


async def _ask(root: Path, *args: str, input: bytes | None = None) -> GitRan:
    ran = await run_git(root, *args, input=input)
    if not ran.ok:
        raise TreeError(f"git {args[0]} refused: {ran.complaint}")
    return ran


def _modes_of(entry: _RawDiffLine) -> set[int]:
    return {entry.old_mode, entry.new_mode}


def _is_out_of_bounds(path: str) -> bool:
    """True if no tree reads or writes the path, such as a folder's own configuration of kith."""
    try:
        check_path(path)
    except TreeError:
        return True
    return False


def _entries(raw: bytes) -> Iterator[_RawDiffLine]:
    """Source: git's `Documentation/diff-format`, the raw format with -z."""
    fields = iter(raw.split(b"\0")[:-1])
    for header in fields:
        old_mode, new_mode, old_blob, new_blob, status = header.decode().removeprefix(":").split(" ")
        first = os.fsdecode(next(fields))
        path = os.fsdecode(next(fields)) if status[0] in "RC" else first
        if status[0] != "U":  # beside it stands what the working tree has of the unmerged file
            yield _RawDiffLine(
                int(old_mode, 8), int(new_mode, 8), _blob(old_blob), _blob(new_blob), first, path
            )


def _blob(name: str) -> str | None:
    return name if name.strip("0") else None


async def _untracked(root: Path, known: set[str]) -> list[_RawDiffLine]:
    ran = await _ask(root, "ls-files", "--others", "--exclude-standard", "-z")
    paths = (os.fsdecode(path) for path in ran.stdout.split(b"\0") if path and not path.endswith(b"/"))
    return [_RawDiffLine(0, FILE, None, None, path, path) for path in paths if path not in known]


async def _read_blobs(
    root: Path, entries: Sequence[_RawDiffLine], most: int
) -> tuple[dict[str, bytes], frozenset[str]]:
    """The stored contents that the entries name, and the paths of those that are too large."""
    named = {blob for entry in entries for blob in (entry.old_blob, entry.new_blob) if blob}
    contents, too_large = await read_blobs(root, named, most)
    large = (entry.path for entry in entries if too_large & {entry.old_blob, entry.new_blob})
    return contents, frozenset(large)


async def read_blobs(root: Path, blobs: set[str], most: int) -> tuple[dict[str, bytes], frozenset[str]]:
    """Stored contents of at most so many bytes, by object; and which objects are larger. Raises TreeError."""
    sizes = await _sizes(root, blobs)
    small = [blob for blob, size in sizes.items() if size <= most]
    answer = (await _ask(root, "cat-file", "--batch", input=_lines(small))).stdout if small else b""
    contents, at = dict[str, bytes](), 0
    for blob in small:
        at = answer.index(b"\n", at) + 1
        contents[blob] = answer[at : at + sizes[blob]]
        at += sizes[blob] + 1
    return contents, frozenset(sizes.keys() - contents.keys())


async def _sizes(root: Path, blobs: set[str]) -> dict[str, int]:
    """Bytes of each object. Raises TreeError for one that is not there (a partial clone)."""
    if not blobs:
        return {}
    ran = await _ask(root, "cat-file", "--batch-check", input=_lines(sorted(blobs)))
    rows = [line.split() for line in ran.stdout.decode().splitlines()]
    if missing := next((row[0] for row in rows if row[-1] == "missing"), ""):
        raise TreeError(f"git has not stored the object {missing[:12]} here; fetch it first")
    return {name: int(size) for name, _, size in rows}


def _lines(names: Sequence[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _change(root: Path, entry: _RawDiffLine, blobs: dict[str, bytes], most: int) -> Change | None:
    """One entry with both sides, None when the file on the disk is too large. Raises TreeError."""
    before = blobs.get(entry.old_blob or "")
    if entry.new_mode == 0:
        return Change(entry.path, before, None, FILE, entry.old_mode)
    mode_before = entry.old_mode or FILE
    if entry.new_blob in blobs:
        return Change(entry.path, before, blobs[entry.new_blob], entry.new_mode, mode_before)
    there = look_at(root, entry.path)
    if there is None:
        raise TreeError(f"{show_path(entry.path)} vanished while it was read")
    if len(there.content) > most:
        return None
    return Change(entry.path, before, there.content, there.mode, mode_before)


# The state that a task began from: its commit, and that commit's files in a folder of their own.


_PATIENCE: Final = 0.3  # seconds for a look at the tree, as a task begins: 6 ms, 80 ms for 20,000 files
_AUTHOR: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "kith"), ("EMAIL", "kith@localhost"), ("DATE", "2000-01-01T00:00:00Z"))
}


async def clean_commit(root: Path, patience: float = _PATIENCE, *, lists: bool = False) -> str:
    """The commit that the tree at `root` is, file by file.

    "" where it is none: something was changed or is not tracked, there is no commit, no git, or git takes
    longer than `patience` (seconds). `lists`: at the top of a repository, also keep the list of files, for
    `list_files`.
    """
    begun, asked = begin(), [asyncio.ensure_future(run_git(root, *STATUS))]
    if lists:
        asked.append(asyncio.ensure_future(run_git(root, *STAGED)))
    try:
        async with asyncio.timeout(patience):
            ran, *staged = [await each for each in asked]
    except (TimeoutError, TreeError):
        return ""
    finally:
        await leave(*asked)
    if ran.ok and staged and staged[0].ok:
        await asyncio.to_thread(note_status, root, staged[0].stdout, ran.stdout, begun)
    lines = [line for line in ran.stdout.split(b"\0") if line]
    heads = [line for line in lines if line.startswith(b"# branch.oid ")]
    if not ran.ok or not heads or any(not line.startswith(b"#") for line in lines):
        return ""
    name = heads[0].removeprefix(b"# branch.oid ").decode()
    return name if name.isalnum() else ""  # "(initial)" before the first one


async def check_out(root: Path, commit: str, target: Path) -> Path:
    """Put a commit's files into `target`, as a repository of its own; returns where `root` is in there.

    Neither the tree at `root` nor its index is touched, and no hook, filter or driver of it runs. What is
    there already stays as it is. Raises TreeError when the commit or one of its files is gone.
    """
    prefix = (await _ask_git(root, "rev-parse", "--show-prefix")).decode().strip()

    async def fill(folder: Path) -> None:
        index = folder.with_name(f"{folder.name}.index")
        try:
            await _ask_git(root, "read-tree", commit, index=index)
            await _ask_git(root, "checkout-index", "--all", f"--prefix={folder}/", index=index)
        finally:
            index.unlink(missing_ok=True)

    await _make(target, fill)
    return target / prefix


async def lay_out(files: Mapping[str, str], target: Path) -> None:
    """Put these files (path to text) into `target`, as a repository of its own. Raises TreeError."""

    async def fill(folder: Path) -> None:
        for path, text in files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")

    await _make(target, fill)


async def _make(target: Path, fill: Callable[[Path], Awaitable[None]]) -> None:
    """A repository with one commit of what `fill` puts into its folder; it is there whole, or not at all."""
    if (target / ".git" / "HEAD").exists():
        return
    making = target.with_name(f"{target.name}.{os.getpid()}")
    if making.exists():
        remove_tree(making)
    making.mkdir(parents=True)
    await fill(making)
    await _ask_git(making, "init", "--quiet", "--template=", "--initial-branch=main")
    await _ask_git(making, "add", "--all", "--force")
    await _ask_git(making, "commit", "--quiet", "--allow-empty", "--message=As it was", env=_AUTHOR)
    if not target.exists():
        making.rename(target)


async def _ask_git(
    root: Path, *args: str, index: Path | None = None, env: dict[str, str] | None = None
) -> bytes:
    ran = await run_git(root, *args, index=index, env=env)
    if not ran.ok:
        raise TreeError(f"git {args[0]} refused: {ran.complaint}")
    return ran.stdout
