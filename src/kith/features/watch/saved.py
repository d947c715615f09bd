"""Find the AI comments that a person has saved since kith began to watch."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Final

from msgspec import Struct

from kith.core.errors import TreeError
from kith.core.values import Change, Changes
from kith.features.watch.comments import AiComment, find_comments
from kith.features.watch.repository import GitState, git_state, is_as_git_left_it, versions_in_git
from kith.trees.local import LocalTree

LARGEST: Final = 1_000_000  # bytes of a file that is read
Stamps = Mapping[str, tuple[int, int]]


class Look(Struct, frozen=True):
    """The result of one look: `new` comments, those that git has put there, and if any file changed."""

    new: tuple[AiComment, ...] = ()
    from_git: tuple[AiComment, ...] = ()
    quiet: bool = True
    git_busy: bool = False


class SavedComments:
    """The AI comments in a tree, and which of them are new at each look.

    Not new is a comment that was in the file before, and one that git or a change of kith put there. In a new
    file, those of all other files are not new either: it may be a copy.
    """

    def __init__(self, tree: LocalTree) -> None:
        self._tree = tree
        self._stamps: Stamps = {}
        self._known: dict[str, Counter[str]] = {}  # the comments of each file, by their meanings
        self._git = GitState()
        self._changes: dict[str, Changes] = {}  # of kith, since the beginning, by their ids

    async def begin(self) -> int:
        """Take what is there now as known; return the number of files."""
        self._git = git_state(self._tree.root)
        self._stamps = await self._tree.stamps()
        self._changes = dict.fromkeys(await self._tree.applied(), ())
        for path, comments in (await self._read(self._stamps)).items():
            self._know(path, comments)
        return len(self._stamps)

    async def look(self) -> Look:
        """Read the files that changed since the last look.

        A look in which git was at work is none: what it has written is looked at when it has ended.
        """
        root = self._tree.root
        git = git_state(root)
        stamps = await self._tree.stamps()
        changed = [path for path, stamp in stamps.items() if self._stamps.get(path) != stamp]
        if not changed:
            self._stamps, self._git = stamps, git
            return Look()
        read = await self._read({path: stamps[path] for path in changed})
        new, from_git = list[AiComment](), list[AiComment]()
        for path, comments in read.items():
            fresh = self._fresh(path, comments)
            if fresh:
                written = await self._written(path)
                fresh = [each for each in fresh if each.meaning not in written]
            brought = await self._from_git(path, fresh, git) if fresh else []
            from_git += brought
            new += [each for each in fresh if each not in brought]
        if git.busy or git_state(root) != git:
            return Look(quiet=False, git_busy=True)
        for path, comments in read.items():
            self._know(path, comments)
        self._stamps, self._git = stamps, git
        return Look(tuple(new), tuple(from_git), quiet=False)

    async def still_there(self, comments: Iterable[AiComment]) -> tuple[AiComment, ...]:
        """These comments as they are in the files now, without those that are gone."""
        wanted = {each.key for each in comments}
        contents = await self._tree.read_many(sorted({path for path, _ in wanted}))
        found = (each for path, content in contents.items() for each in find_comments(path, content))
        return tuple(each for each in found if each.key in wanted)

    async def _read(self, stamps: Stamps) -> dict[str, tuple[AiComment, ...]]:
        """The comments of files, whatever could be read."""
        paths = sorted(path for path, (size, _) in stamps.items() if size <= LARGEST)
        contents = await self._tree.read_many(paths)
        return await asyncio.to_thread(_comments_of, contents)

    def _know(self, path: str, comments: Sequence[AiComment]) -> None:
        if comments or path in self._known:
            self._known[path] = Counter(each.meaning for each in comments)

    def _fresh(self, path: str, comments: Sequence[AiComment]) -> list[AiComment]:
        """The comments that were not there at the last look."""
        known = Counter(self._known.get(path))
        if path not in self._stamps:  # a copy, or a file with another name
            for each in self._known.values():
                known |= each
        fresh = []
        for comment in comments:
            if known[comment.meaning]:
                known[comment.meaning] -= 1
            else:
                fresh.append(comment)
        return fresh

    async def _written(self, path: str) -> set[str]:
        """The comments that changes of kith have put into a file, of this process or another one."""
        for id in await self._tree.applied():
            if id not in self._changes:
                self._changes[id] = ()
                with suppress(TreeError):
                    self._changes[id], _ = self._tree.recall(id)
        return {
            every for each in chain(*self._changes.values()) if each.path == path for every in _added(each)
        }

    async def _from_git(self, path: str, fresh: Sequence[AiComment], now: GitState) -> list[AiComment]:
        """The comments that git put there: it was at work meanwhile, and holds them."""
        was = self._git
        if now == was:
            return []
        root = self._tree.root
        if now.stash != was.stash or await is_as_git_left_it(root, path):
            return list(fresh)  # git does not hold any more what was popped
        if "\n" in path:
            return list(fresh)  # a name that git cannot be asked about
        held = {
            each.meaning
            for content in await versions_in_git(root, path)
            for each in find_comments(path, content)
        }
        return [each for each in fresh if each.meaning in held]


def _added(change: Change) -> Counter[str]:
    """The comments that a change adds to its file."""
    before, after = (find_comments(change.path, each or b"") for each in (change.before, change.after))
    return Counter(each.meaning for each in after) - Counter(each.meaning for each in before)


def _comments_of(contents: Mapping[str, bytes]) -> dict[str, tuple[AiComment, ...]]:
    return {path: find_comments(path, content) for path, content in contents.items()}
