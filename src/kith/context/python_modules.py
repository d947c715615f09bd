"""Resolve imports to files: modules of a project, found by their paths."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable
from posixpath import commonpath, dirname

from msgspec import Struct

from kith.core.errors import UsageError

ENDINGS = (".py", ".pyi")


class Modules(Struct, frozen=True):
    """The Python files of a project; a module's stem is its path without `.py` or `/__init__.py`."""

    paths: frozenset[str]
    folders: frozenset[str]
    tails: dict[str, list[str]]

    def file(self, stem: str) -> str:
        """The file of a module, "" for a folder without one and for what is not there."""
        return next((path for path in (f"{stem}/__init__.py", f"{stem}.py") if path in self.paths), "")

    def is_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py" in self.paths

    def inside(self, stem: str, name: str) -> str:
        """The stem of a module in a package, "" when there is none of that name."""
        inner = f"{stem}/{name}" if stem else name
        return inner if self.file(inner) or inner in self.folders else ""

    def root(self, path: str) -> str:
        """The folder from which a file is imported: the one above its outermost package."""
        folder = dirname(path)
        while folder and self.is_package(folder):
            folder = dirname(folder)
        return folder

    def dotted(self, path: str, root: str | None = None) -> str:
        """The name a file is imported by, seen from its root; "" when the root does not hold it."""
        root = self.root(path) if root is None else root
        stem = stem_of(path)
        if root and not stem.startswith(f"{root}/"):
            return ""
        return stem.removeprefix(f"{root}/" if root else "").replace("/", ".")

    def package(self, path: str) -> str:
        """The outermost package that a file belongs to, "" for none."""
        root, folder = self.root(path), dirname(path)
        return (
            "" if root == folder else "/".join(folder.split("/")[: len(root.split("/")) + 1 if root else 1])
        )

    def written(self, importer: str, path: str, root: str | None = None) -> str:
        """Return the name by which a file imports a module: relative in a package, else from a root.

        Raises UsageError when it cannot be imported from there.
        """
        package = self.package(importer)
        if root is None and package and self.package(path) == package:
            level, name = relative(importer, path)
            return "." * level + name
        name = self.dotted(path, root)
        if not name:
            raise UsageError(
                f"{importer} cannot import {path}: it does not lie below {root or 'the project'}."
            )
        return name

    def find(self, importer: str, dotted: str, level: int = 0) -> str:
        """The stem of the module that `importer` means, "" when it is none of the project's, or unclear."""
        if level:
            folder = dirname(importer)
            for _ in range(level - 1):
                folder = dirname(folder)
            return self._below(folder, dotted) if dotted else folder
        parts = dotted.split(".")
        found = [
            stem
            for stem in self.tails.get(parts[-1], ())
            if stem.split("/")[-len(parts) :] == parts and self._is_root(stem, len(parts), importer)
        ]
        here = dirname(importer)
        nearest = sorted(found, key=lambda stem: (-_shared(stem, here), stem.count("/")))
        return nearest[0] if nearest else ""

    def _below(self, folder: str, dotted: str) -> str:
        stem = "/".join(filter(None, (folder, dotted.replace(".", "/"))))
        return stem if self.file(stem) or stem in self.folders else ""

    def _is_root(self, stem: str, length: int, importer: str) -> bool:
        """True if the folder above the first of `length` parts can be an import root."""
        root = "/".join(stem.split("/")[:-length])
        first = "/".join(stem.split("/")[: len(stem.split("/")) - length + 1])
        if self.is_package(root):
            return False
        if root == dirname(importer):  # a script's own folder comes first
            return True
        if root and first.rpartition("/")[2] in sys.stdlib_module_names:
            return False
        return bool(self.file(first)) or length > 1

    def imported(self, importer: str, node: ast.ImportFrom) -> str:
        """The stem of the module in `from MODULE import ...`."""
        return self.find(importer, node.module or "", node.level)


def find_modules(paths: Iterable[str]) -> Modules:
    """The modules among the files of a project."""
    kept = frozenset(path for path in paths if path.endswith(ENDINGS))
    folders = _folders(kept)
    tails = defaultdict(list)
    for stem in sorted({stem_of(path) for path in kept} | folders):
        tails[stem.rpartition("/")[2]].append(stem)
    return Modules(kept, folders, dict(tails))


def stem_of(path: str) -> str:
    """`a/b` for `a/b.py` as for `a/b/__init__.py`."""
    return path.rpartition(".")[0].removesuffix("/__init__")


def relative(importer: str, path: str) -> tuple[int, str]:
    """Level and dotted name by which `importer` reaches a module of its own package."""
    here, stem = dirname(importer), stem_of(path)
    shared = commonpath([here, stem]) if here else ""
    level = 1 + (len(here.split("/")) if here else 0) - (len(shared.split("/")) if shared else 0)
    return level, stem.removeprefix(f"{shared}/" if shared else "").replace(
        "/", "."
    ) if stem != shared else ""


def _folders(paths: Iterable[str]) -> frozenset[str]:
    """Every folder that holds one of the files, at any depth."""
    found = set[str]()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(found)


def _shared(stem: str, folder: str) -> int:
    """Count the folders that a module and a folder share."""
    pairs = zip(dirname(stem).split("/"), folder.split("/"), strict=False)
    count = 0
    for one, other in pairs:
        if one != other or not one:
            break
        count += 1
    return count
