"""One state of a tree: which files it has, and what its Python modules bind."""

from collections.abc import Callable, Collection, Mapping
from functools import cached_property

from kith.context.modules import Modules, find_modules
from kith.core.values import SYMLINK, Changes
from kith.gates.soundness.bindings import Bindings, find_bindings

Read = Callable[[str], bytes | None]


class View:
    """The files of a tree with some contents in place of its own; a file is read and parsed once.

    `paths` are all files that are not ignored. What `read` finds beyond them (ignored ones) is there, too.
    `like` is a state with the same paths, whose modules and folders are the same.
    """

    def __init__(
        self,
        paths: frozenset[str],
        contents: Mapping[str, bytes | None],
        read: Read,
        like: "View | None" = None,
    ) -> None:
        self.paths = paths
        self._like = like
        self._contents = contents
        self._read = read
        self._parsed: dict[str, Bindings | None] = {}

    @cached_property
    def modules(self) -> Modules:
        return self._like.modules if self._like else find_modules(self.paths)

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder that holds a file."""
        if self._like:
            return self._like.folders
        found = set[str]()
        for path in self.paths:
            folder = path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)

    def content(self, path: str) -> bytes | None:
        if path in self._contents:
            return self._contents[path]
        return self._read(path)

    def is_there(self, path: str) -> bool:
        return path in self.paths or self.content(path) is not None

    def bindings(self, path: str) -> Bindings | None:
        """What a module binds; None where it cannot be read or parsed."""
        if path not in self._parsed:
            content = self.content(path)
            self._parsed[path] = None if content is None else find_bindings(content)
        return self._parsed[path]


def both_views(changes: Changes, files: Collection[str], read: Read) -> tuple[View, View]:
    """The tree before and after the changes; `files` and `read` tell of the one after."""
    plain = [each for each in changes if SYMLINK not in (each.mode, each.mode_before)]
    gone = {each.path for each in changes if each.after is None}
    new = {each.path for each in changes if each.before is None}
    after = frozenset(files) - gone | {each.path for each in changes} - gone
    before = after - new | gone
    kept: dict[str, bytes | None] = {}

    def read_once(path: str) -> bytes | None:
        if path not in kept:
            kept[path] = read(path)
        return kept[path]

    now = View(after, {each.path: each.after for each in plain}, read_once)
    same = now if before == after else None
    return View(before, {each.path: each.before for each in plain}, read_once, same), now
