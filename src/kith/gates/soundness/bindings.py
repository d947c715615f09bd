"""One state of a tree: which files it has, and which names its Python modules offer to others."""

import ast
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, wraps
from hashlib import blake2b
from typing import Final, TypeVar

from msgspec import Struct

from kith.context.python_modules import Modules, find_modules
from kith.core.values import SYMLINK, Changes

LARGEST: Final = 1_000_000  # bytes of a file that is parsed
_REMEMBERED: Final = 4_096  # contents of files
T = TypeVar("T")
_WRITERS: Final = frozenset({"__setitem__", "setdefault", "update"})


class Bindings(Struct, frozen=True):
    """The names at the top of a module; `stars` are its star imports, `exports` the entries of `__all__`.

    `injects`: it may write names that no statement shows. `moved`: its modules may lie elsewhere.
    """

    names: frozenset[str]
    stars: tuple[ast.ImportFrom, ...]
    exports: tuple[tuple[str, int], ...]
    injects: bool = False
    moved: bool = False

    @property
    def open(self) -> bool:
        """True if it may offer names that are not among `names`."""
        return self.injects or self.moved or "__getattr__" in self.names


def remembered(find: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """Keep what was found in the latest contents: a task is looked at after each of its edits.

    A digest stands for a content, so the contents themselves are not kept.
    """
    known = dict[bytes, T]()

    @wraps(find)
    def look(content: bytes) -> T:
        key = blake2b(content, digest_size=16).digest()
        if key in known:
            with suppress(KeyError):  # another thread may have removed it just now
                return known[key]
        found = known[key] = find(content)
        while len(known) > _REMEMBERED:
            with suppress(KeyError, RuntimeError, StopIteration):  # the same
                known.pop(next(iter(known)))
        return found

    return look


def parse_python(content: bytes) -> ast.Module | None:
    """The tree of a file's bytes, None where Python refuses them."""
    if len(content) > LARGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@remembered
def find_bindings(content: bytes) -> Bindings | None:
    """Collect the names that a module binds, on any branch; None when it does not parse."""
    tree = parse_python(content)
    if tree is None:
        return None
    names, stars, exports = set[str](), list[ast.ImportFrom](), list[tuple[str, int]]()
    for node in _top(tree):
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            stars.append(node)
        else:
            names.update(bound_by(node))
        exports += _exported_by(node)
    every = [*ast.walk(tree)]
    names.update(name for node in every if isinstance(node, ast.Global) for name in node.names)
    injects = any(_injects(node) for node in every)
    moved = any(_replaces(node) for node in every)
    return Bindings(frozenset(names), tuple(stars), tuple(exports), injects, moved)


def _injects(node: ast.AST) -> bool:
    """Code that is run from a string, and writing into a table of names."""
    match node:
        case ast.Call(func=ast.Name(id="exec" | "execfile")):
            return True
        case ast.Subscript(value=ast.Call(func=ast.Name(id=name)), ctx=ast.Store()):
            return name in ("globals", "locals", "vars")
        case ast.Attribute(value=ast.Call(func=ast.Name(id=name)), attr=attribute):
            return name in ("globals", "locals", "vars") and attribute in _WRITERS
        case ast.Assign(value=ast.Call(func=ast.Name(id="globals" | "vars", ctx=ast.Load()))):
            return True
        case ast.Call(args=arguments):  # who gets the table may write into it
            return any(_is_table(each) for each in arguments)
    return False


def _is_table(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="globals")):
            return True
        case ast.Call(func=ast.Name(id="vars"), args=[ast.Name(id="self"), *_]):
            return False
        case ast.Call(func=ast.Name(id="vars"), args=[]):
            return True
    return False


def _replaces(node: ast.AST) -> bool:
    """A module that puts something else in its own place, or looks for its modules elsewhere."""
    match node:
        case ast.Name(id="__path__"):
            return True
        case ast.Subscript(
            value=ast.Attribute(attr="modules"), slice=ast.Name() | ast.BinOp() | ast.JoinedStr()
        ):
            return True
    return False


def _top(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run with the module: all but the bodies of functions and classes."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _top(child)


def bound_inside(node: ast.AST) -> Iterator[str]:
    """The names that a node of any scope binds, or takes from another one."""
    yield from bound_by(node)
    match node:
        case ast.arg(arg=name):
            yield name
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names


def bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a node binds in its own scope; `*` for all of a module."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (each.asname or each.name.partition(".")[0] for each in aliases)
        case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
            yield name
        case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
            yield name


def _exported_by(node: ast.AST) -> Iterator[tuple[str, int]]:
    """The entries that a statement writes into `__all__`."""
    match node:
        case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
            yield from _entries(value)
        case ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value):
            yield from _entries(value)
        case ast.AugAssign(target=ast.Name(id="__all__"), value=value):
            yield from _entries(value)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="__all__"), attr="extend"), args=[value]):
            yield from _entries(value)


def _entries(value: ast.expr) -> Iterator[tuple[str, int]]:
    if isinstance(value, ast.BinOp):
        yield from _entries(value.left)
        yield from _entries(value.right)
    elif isinstance(value, ast.List | ast.Tuple):
        for each in value.elts:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each.value, each.lineno


# One state of a tree: which files it has, and what its Python modules bind.

Read = Callable[[str], bytes | None]


class TreeState:
    """The files of a tree with some contents in place of its own; a file is read and parsed once.

    `paths` are all files that are not ignored. What `read` finds beyond them (ignored ones) is there, too.
    `like` is a state with the same paths, whose modules and folders are the same.
    """

    def __init__(
        self,
        paths: frozenset[str],
        contents: Mapping[str, bytes | None],
        read: Read,
        like: "TreeState | None" = None,
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
        """Return the bindings of a module; None where it cannot be read or parsed."""
        if path not in self._parsed:
            content = self.content(path)
            self._parsed[path] = None if content is None else find_bindings(content)
        return self._parsed[path]


def both_views(changes: Changes, files: Collection[str], read: Read) -> tuple[TreeState, TreeState]:
    """The tree before and after the changes; `files` and `read` describe the one after."""
    plain = [each for each in changes if SYMLINK not in (each.mode, each.mode_before)]
    gone = {each.path for each in changes if each.after is None}
    new = {each.path for each in changes if each.before is None}
    there, present = frozenset(files), {each.path for each in changes} - gone
    # Most changes add and delete nothing: a set of all paths is not copied then.
    after = there if present <= there and gone.isdisjoint(there) else there - gone | present
    before = after - new | gone if new or gone else after
    kept: dict[str, bytes | None] = {}

    def read_once(path: str) -> bytes | None:
        if path not in kept:
            kept[path] = read(path)
        return kept[path]

    now = TreeState(after, {each.path: each.after for each in plain}, read_once)
    same = now if before is after else None
    return TreeState(before, {each.path: each.before for each in plain}, read_once, same), now
