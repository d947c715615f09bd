"""Find the faults of a change without running anything."""

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from posixpath import splitext
from typing import Final

from kith.core.values import Changes
from kith.gates.soundness.bindings import Read, TreeState, both_views, parse_python, remembered
from kith.gates.soundness.fault import Fault, Suspect, Suspects
from kith.gates.soundness.imports import SCRIPTS, find_lost, find_lost_scripts, may_offer
from kith.gates.soundness.syntax import broken_files

# Names that a Python file uses and nothing defines, by pyflakes.

# Put there by who runs the file: gettext, IPython, Jupyter, type checkers, line_profiler.
_GIVEN: Final = frozenset(
    {"_", "display", "get_config", "get_ipython", "ngettext", "profile", "reveal_locals", "reveal_type"}
)


def undefined_names(path: str, content: bytes) -> Mapping[str, int]:
    """Each name that is undefined in a file, with the first line that uses it.

    Empty where the file cannot be parsed. Names in quoted annotations do not count: some libraries write
    other things there. Nor does an annotation of what the file defines anywhere (Python 3.14 looks it up
    later), or a line with `noqa`.
    """
    found = _undefined(content)
    if "__path__" in found and path.endswith("__init__.py"):
        return {name: line for name, line in found.items() if name != "__path__"}
    return found


@remembered
def _undefined(content: bytes) -> Mapping[str, int]:
    tree = parse_python(content)
    if tree is None:
        return {}
    real = {(node.lineno, node.col_offset, node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)}
    countable = real - _annotated(tree)
    lines = content.splitlines()
    found: dict[str, int] = {}
    for name, line, column in _reported(tree):
        excused = name in _GIVEN or b"noqa" in lines[line - 1 : line][0].lower()
        if (line, column, name) in countable and not excused:
            found.setdefault(name, line)
    return found


def _annotated(tree: ast.Module) -> set[tuple[int, int, str]]:
    """The places in annotations with a name that is defined somewhere in the file."""
    defined, roots = set[str](), list[ast.expr | None]()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                defined.add(name)
                roots.append(node.returns)
            case ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                defined.add(name)
            case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
                roots.append(annotation)
    inside = (node for root in roots if root is not None for node in ast.walk(root))
    names = (node for node in inside if isinstance(node, ast.Name) and node.id in defined)
    return {(node.lineno, node.col_offset, node.id) for node in names}


def _reported(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    from pyflakes.checker import Checker
    from pyflakes.messages import UndefinedName

    try:
        messages = Checker(tree).messages
    except RecursionError:
        return
    for each in sorted(messages, key=lambda each: (each.lineno, each.col)):
        if isinstance(each, UndefinedName):
            yield str(each.message_args[0]), each.lineno, each.col


# Begins to look for the files with one of these endings that hold one of these words. The call that it gives
# waits for them; there may be more files in the answer.
Search = Callable[[frozenset[str], Collection[str]], Callable[[], Iterable[str]]]

_PYTHON: Final = (".py", ".pyw")
_IMPORTS: Final = re.compile(rb"^[ \t]*(?:from|import)\b(?:[^\n(\\]|\\\r?\n|\([^)]*\))*", re.M)
_MOST_IMPORTERS: Final = 3_000  # files that may use what is gone; more are not looked at
_SETTINGS: Final = (
    *(".flake8", ".pylintrc", ".ruff.toml", "pyproject.toml", "ruff.toml", "setup.cfg", "tox.ini"),
)


def find_suspects(
    changes: Changes, files: Collection[str], read: Read, search: Search | None = None
) -> Suspects:
    """The new faults, with those that are none where the project's own tools say so."""
    before, after = both_views(changes, files, read)
    found = [suspect for change in changes for suspect in broken_files(change)]
    broken = {each.fault.path for each in found}
    # A link is in the paths and has no content of its own.
    whole = {change.path for change in changes if change.after is not None} - broken
    old = {change.path for change in changes if change.before is not None}
    words = _removed_words(before, after, changes)
    importers = _find_importers(before, words, changes, search)
    # All that needs no importers is done while the search runs.
    lost_before, lost_after = [*_all_lost(before, old)], [*_all_lost(after, whole)]
    named = [*_new_names(before, after, old, whole)]
    touched = importers()
    lost_before += _all_lost(before, touched - old)
    lost_after += _all_lost(after, touched - whole)
    known = {each.fault.detail for each in lost_before}
    found += (each for each in lost_after if each.fault.detail not in known)
    given = _given_names(after, named, search)
    found += (each for each in named if each.fault.detail not in given)
    familiar = frozenset(each.asks for each in lost_before if not each.sure)
    return Suspects(tuple(_each_once(found)), familiar)


def _each_once(suspects: Iterable[Suspect]) -> Iterator[Suspect]:
    """By path and line; what a file has wrong in several lines is told at the first."""
    seen = set[tuple[str, str, str]]()
    for each in sorted(suspects, key=lambda each: (each.fault.path, each.fault.line, each.fault.detail)):
        key = (each.fault.path, each.fault.kind, each.fault.detail)
        if key not in seen:
            seen.add(key)
            yield each


# --- imports ---------------------------------------------------------------------------------


def _all_lost(view: TreeState, paths: Iterable[str]) -> Iterator[Suspect]:
    return (lost for path in sorted(paths) for lost in _lost_in(view, path))


def _lost_in(view: TreeState, path: str) -> Iterator[Suspect]:
    ending = splitext(path)[1].lower()
    if ending in SCRIPTS:
        for line, written in find_lost_scripts(view, path):
            yield Suspect(Fault(path, line, "import", written))
    elif ending in _PYTHON:
        for lost in find_lost(view, path):
            asks = "" if lost.module.startswith(".") or (lost.own and lost.name) else lost.detail
            yield Suspect(Fault(path, lost.line, "import", lost.detail), lost.own, asks)


def _removed_words(before: TreeState, after: TreeState, changes: Changes) -> frozenset[str]:
    """The names and modules that a change takes away: who imports them says one of these words."""
    words = set[str]()
    for change in changes:
        stem, ending = splitext(change.path)
        if change.before is None or ending not in (*_PYTHON, *SCRIPTS):
            continue
        if change.after is None:
            *folders, name = stem.split("/")
            words.add(folders[-1] if name in ("__init__", "index") and folders else name)
        elif ending in _PYTHON:
            then, now = before.bindings(change.path), after.bindings(change.path)
            words |= then.names - now.names if then and now else set()
    return frozenset(words)


def _find_importers(
    view: TreeState, words: frozenset[str], changes: Changes, search: Search | None
) -> Callable[[], frozenset[str]]:
    """Begins to look for the unchanged files that import something by one of the words."""
    endings = {splitext(change.path)[1] for change in changes}
    kinds = tuple(each for kind in (_PYTHON, tuple(SCRIPTS)) if endings.intersection(kind) for each in kind)
    begun = search(words, kinds) if search and words and kinds else lambda: view.paths

    def importers() -> frozenset[str]:
        if not words:
            return frozenset()
        pattern = re.compile(rb"\b(?:%s)\b" % b"|".join(re.escape(word.encode()) for word in sorted(words)))
        changed = {change.path for change in changes}
        paths = (path for path in sorted(begun()) if path.endswith(kinds) and path not in changed)
        found = (path for path in paths if _imports_any(path, view.content(path), pattern))
        return frozenset(islice(found, _MOST_IMPORTERS))

    return importers


def _imports_any(path: str, content: bytes | None, pattern: re.Pattern[bytes]) -> bool:
    if content is None or not pattern.search(content):
        return False
    return not path.endswith(_PYTHON) or any(pattern.search(each[0]) for each in _IMPORTS.finditer(content))


# --- names -----------------------------------------------------------------------------------


def _new_names(before: TreeState, after: TreeState, old: set[str], whole: set[str]) -> Iterator[Suspect]:
    """Undefined names that no changed file used before: else somebody gives them."""
    found = [(path, *each) for path in sorted(whole) for each in _undefined_in(after, path).items()]
    known = {name for path in sorted(old) for name in _undefined_in(before, path)} if found else set[str]()
    for path, name, line in found:
        if name not in known and not _is_configured(after, name):
            yield Suspect(Fault(path, line, "name", name))


def _given_names(view: TreeState, suspects: Iterable[Suspect], search: Search | None) -> frozenset[str]:
    """The names that some file puts among the builtins."""
    names = frozenset(each.fault.detail for each in suspects)
    if not names:
        return names
    wanted = re.compile(
        rb"builtin[^\n]*\b(%s)\b" % b"|".join(re.escape(name.encode()) for name in sorted(names))
    )
    paths = search(names, _PYTHON)() if search else view.paths
    texts = (view.content(path) or b"" for path in paths if path.endswith(_PYTHON))
    return frozenset(found[1].decode() for text in texts for found in wanted.finditer(text))


def _undefined_in(view: TreeState, path: str) -> Mapping[str, int]:
    content = view.content(path)
    if content is None or not path.endswith((*_PYTHON, ".pyi")):
        return {}
    bindings = view.bindings(path)
    if bindings is None or bindings.injects:
        return {}
    found = dict(undefined_names(path, content))
    if path.endswith(_PYTHON):
        for name, line in bindings.exports:
            if not may_offer(view, path, name):
                found.setdefault(name, line)
    return found


def _is_configured(view: TreeState, name: str) -> bool:
    """True if a linter's settings declare that the name exists without a definition."""
    word = re.compile(rb"\b%s\b" % re.escape(name.encode()))
    texts = (view.content(path) or b"" for path in _SETTINGS if path in view.paths)
    return any(b"builtins" in text and word.search(text) for text in texts)
