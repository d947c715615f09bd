"""Find the subject of a review: working tree, index, branch, commits or a patch, as changed files."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.project import Project
from kith.core.errors import TreeError, UsageError
from kith.core.values import SYMLINK, Change, Changes
from kith.edits import Create, Delete, Edit, EditError, Hunk, Patch, make_changes, paths_of, split_hunks
from kith.edits.hunks import is_text
from kith.edits.rows import decode, split_keys
from kith.edits.unified import parse_unified
from kith.trees.git import head, is_repository, run_git
from kith.trees.revisions import (
    INDEX,
    WORKTREE,
    Difference,
    diff_states,
    empty_tree,
    merge_base,
    parent,
    resolve,
)


class ReviewSubject(Struct, frozen=True):
    """The subject of a review.

    `changes` are the diff. `overlay` turns the user's tree into the new side of it, for tools that read whole
    projects; empty where the tree already is that. `left_out` names files that cannot be reviewed. `base` and
    `head` are the two commits, "" where a side is none.
    """

    words: str
    changes: Changes
    overlay: Changes = ()
    left_out: tuple[str, ...] = ()
    base: str = ""
    head: str = ""


class Sheet(Struct, frozen=True):
    """One changed file. Lines count from 1, in the new side; `before` is None for a file that is new.

    `added` are the lines that are new or changed, and those next to a gap. `shown` are all lines
    that the hunks hold, with their context: what a finding may speak of.
    """

    path: str
    before: str | None
    after: str
    rows: tuple[str, ...]  # the new side's lines, without terminators
    hunks: tuple[Hunk, ...]
    added: frozenset[int]
    shown: frozenset[int]

    def text(self, first: int, last: int) -> str:
        """Some lines of the new side."""
        return "\n".join(self.rows[first - 1 : last])


Sheets = Mapping[str, Sheet]


def make_sheets(changes: Changes) -> dict[str, Sheet]:
    """The files that have a new side in text, by path; deleted, binary and linked ones are left out."""
    return {
        change.path: _sheet(change)
        for change in changes
        if change.after is not None and change.mode != SYMLINK and is_text(change)
    }


def find_unreadable(changes: Changes) -> tuple[str, ...]:
    """The changed files that nobody can review line by line, in words."""
    return tuple(f"{change.path} (binary)" for change in changes if not is_text(change))


def _sheet(change: Change) -> Sheet:
    before = None if change.before is None else decode(change.before)
    after = decode(change.after or b"")
    hunks = tuple(hunk for hunk in split_hunks(change) if hunk.start is not None)
    rows = tuple(split_keys(after))
    added = frozenset(line for hunk in hunks for line in _added(hunk) if line <= len(rows))
    shown = frozenset(line for hunk in hunks for line in lines_of(hunk))
    return Sheet(change.path, before, after, rows, hunks, added, shown)


class LinePlace(Struct, frozen=True):
    """A line of the new side in the diff: the lines of its hunk, and its number in the old side.

    `old` is None for a line that is new or changed.
    """

    first: int
    last: int
    old: int | None


def find_in_diff(sheet: Sheet, line: int) -> LinePlace | None:
    """The place of a line in the diff; None for one that the diff does not show."""
    hunk = next((each for each in sheet.hunks if line in lines_of(each)), None)
    if hunk is None:
        return None
    shown, old, new = lines_of(hunk), hunk.start or 1, hunk.new_start or 1
    for sign in hunk.signs:
        if sign != "-" and new == line:
            return LinePlace(shown[0], shown[-1], old if sign == " " else None)
        old, new = old + (sign != "+"), new + (sign != "-")
    return None


def lines_of(hunk: Hunk) -> range:
    """The lines that a hunk holds of the new side."""
    first = hunk.new_start or 0
    return range(first, first + len(hunk.new))


def _added(hunk: Hunk) -> Iterator[int]:
    """The lines that a hunk adds; where it only removes some, those above and below the gap."""
    line, signs = hunk.new_start or 1, [signed[:1] for signed in hunk.lines if signed[:1] != "\\"]
    for at, sign in enumerate(signs):
        if sign == "+":
            yield line
        elif sign == "-" and signs[at + 1 : at + 2] not in (["-"], ["+"]):
            yield from {max(1, line - 1), line}
        line += sign in ("+", " ")


# What a review is about: the working tree, the index, a branch, commits or a patch, as changes.

_RANGE: Final = re.compile(r"^(.*?)(\.{2,3})(.*)$")
# What `git format-patch` writes below a diff: it would read as one more removed line.
_SIGNATURE: Final = re.compile(r"^-- \n\d+\.\d[^\n]*\n*", re.M)
_INVERSE: Final = {"+": "-", "-": "+"}


class ReviewRequest(Struct, frozen=True):
    """The request for a review; by default, everything that is not committed.

    `base` is a branch that HEAD is compared with, `revision` a commit or a range, `patch` a diff's text and
    `patch_name` its origin.
    """

    staged: bool = False
    base: str = ""
    revision: str = ""
    patch: str | None = None
    patch_name: str = ""


async def find_subject(project: Project, wish: ReviewRequest) -> ReviewSubject:
    """The changes that are meant. Raises UsageError for what does not exist or does not fit."""
    if wish.patch is not None:
        return await _patch(project, wish.patch, wish.patch_name)
    if not await is_repository(project.root):
        raise UsageError("This is not a git repository; name a diff with --patch FILE.")
    try:
        return await _from_git(project, wish)
    except TreeError as error:
        text = str(error)
        raise UsageError(f"{text[:1].upper()}{text[1:]}.") from error


async def _from_git(project: Project, wish: ReviewRequest) -> ReviewSubject:
    root = project.root
    last = await head(root)
    if wish.staged:
        words, old, new = "what is staged", last or await empty_tree(root), INDEX
    elif wish.base:
        base = await resolve(root, wish.base)
        new = await resolve(root, "HEAD")
        words, old = f"HEAD since it left {wish.base}", await merge_base(root, base, new)
    elif wish.revision:
        words = wish.revision
        old, new = await _ends(project, wish.revision)
    else:
        words, old, new = "what is not committed", last or await empty_tree(root), WORKTREE
    compared = await _compare(project, old, new)
    overlay = await _overlay(project, new) if compared.changes else ()
    begin, end = (each if each not in (INDEX, WORKTREE) else "" for each in (old, new))
    return ReviewSubject(words, compared.changes, overlay, compared.left_out, begin, end)


async def _ends(project: Project, revision: str) -> tuple[str, str]:
    """The two commits of `A..B` or `A...B`; of a single commit, its parent and itself."""
    root = project.root
    if found := _RANGE.match(revision):
        one, other = await resolve(root, found[1] or "HEAD"), await resolve(root, found[3] or "HEAD")
        return (await merge_base(root, one, other) if found[2] == "..." else one), other
    commit = await resolve(root, revision)
    return await parent(root, commit), commit


async def _compare(project: Project, old: str, new: str, *, renames: bool = True) -> Difference:
    return await diff_states(project.root, old, new, project.settings.max_file_bytes, renames=renames)


async def _overlay(project: Project, new: str) -> Changes:
    """Compute the changes from the working tree to another state; untracked files stay."""
    if new == WORKTREE:
        return ()
    away = await _compare(project, new, WORKTREE, renames=False)
    stored = await run_git(project.root, "ls-files", "--others", "--exclude-standard", "-z")
    untracked = set(stored.stdout.decode("utf-8", "surrogateescape").split("\0"))
    return tuple(change.inverse for change in away.changes if change.path not in untracked)


# --- patches ---------------------------------------------------------------------------------


async def _patch(project: Project, text: str, name: str) -> ReviewSubject:
    """A diff, whether the tree has it already or not."""
    known = frozenset(await project.tree.files())
    try:
        edits = parse_unified(_SIGNATURE.sub("", text).split("\n"), known)
        paths = paths_of(edits, known)
    except EditError as error:
        raise UsageError(f"{name} is not a diff that can be read: {_first_line(error)}") from error
    contents = dict[str, bytes | None]()
    for path in paths:
        contents[path] = None
        with suppress(TreeError):  # there is no such file: the diff may add it
            contents[path] = await project.tree.read(path)
    if await _is_applied(project, text):
        return _subject(name, _taken_back(edits, contents), applied=True)
    try:
        return _subject(name, make_changes(edits, contents), applied=False)
    except EditError as error:
        with suppress(EditError):
            return _subject(name, _taken_back(edits, contents), applied=True)
        raise UsageError(f"{name} does not fit the files here: {_first_line(error)}") from error


def _subject(name: str, changes: Changes, *, applied: bool) -> ReviewSubject:
    if applied:
        return ReviewSubject(f"{name}, which is applied", tuple(change.inverse for change in changes))
    return ReviewSubject(name, changes, changes)


async def _is_applied(project: Project, patch: str) -> bool:
    """True if git could reverse the diff; False also where there is no git."""
    data = patch.encode("utf-8", "surrogateescape")
    with suppress(TreeError):
        return (await run_git(project.root, "apply", "--check", "--reverse", "-", input=data)).ok
    return False


def _taken_back(edits: list[Edit], contents: dict[str, bytes | None]) -> Changes:
    return make_changes([_inverse(edit) for edit in reversed(edits)], contents)


def _inverse(edit: Edit) -> Edit:
    match edit:
        case Create(path=path, content=content):
            return Delete(path, content)
        case Delete(path=path, content=content):
            return Create(path, content or "")
        case Patch(path=path, hunks=hunks, moved_to=moved_to):
            back = tuple(map(_turned, hunks))
            return Patch(moved_to or path, back, path if moved_to else None)
        case _:
            raise EditError("only unified diffs can be reversed.")


def _turned(hunk: Hunk) -> Hunk:
    return replace(hunk, lines=tuple(_INVERSE.get(line[:1], line[:1]) + line[1:] for line in hunk.lines))


def _first_line(error: EditError) -> str:
    return next((line.strip() for line in str(error).split("\n") if line.strip()), "it is empty.")
