"""Python imports that lead nowhere: to modules and names that the project lacks, or to unknown packages."""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import dirname
from typing import Final

from kith.context.modules import stem_of
from kith.gates.soundness.bindings import parse_python
from kith.gates.soundness.guards import Import, find_imports
from kith.gates.soundness.view import View

# From where absolute imports of a project's own packages begin, beside the folder of the importer's package.
_ROOTS: Final = frozenset({"", "src", "lib", "python"})
# Where a build says which modules it makes.
_BUILDS: Final = frozenset(
    (
        *(".gitignore", "CMakeLists.txt", "Cargo.toml", "MANIFEST.in", "Makefile", "build.py", "dodo.py"),
        *(
            "hatch_build.py",
            "meson.build",
            "noxfile.py",
            "pyproject.toml",
            "setup.cfg",
            "setup.py",
            "tasks.py",
        ),
    )
)
_MOST_BUILDS: Final = 30
_OF_EVERY_MODULE: Final = frozenset(
    (
        *("__annotations__", "__builtins__", "__cached__", "__dict__", "__doc__", "__file__", "__loader__"),
        *("__name__", "__package__", "__path__", "__spec__"),
    )
)


@dataclass(frozen=True, slots=True)
class Lost:
    """An import that finds nothing: `module`, or `name` in it. `own`: it is one of the project's."""

    line: int
    module: str
    name: str = ""
    own: bool = True

    @property
    def detail(self) -> str:
        return f"{self.module}:{self.name}" if self.name else self.module


def find_lost(view: View, path: str) -> Iterator[Lost]:
    """The imports of a file that nothing in the tree answers, and those of other packages (`own` is False).

    An import whose failure the file expects is left out.
    """
    content = view.content(path)
    tree = parse_python(content) if content is not None else None
    if tree is None:
        return
    moves = b"sys.path" in (content or b"") or b"addsitedir" in (content or b"")
    for each in find_imports(tree):
        if not each.guarded:
            yield from _lost(view, path, each, moves)


def _lost(view: View, path: str, each: Import, moves: bool) -> Iterator[Lost]:
    node = each.node
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _lost_module(view, path, alias.name, node.lineno, each.late or moves)
        return
    if node.level:
        yield from _lost_relative(view, path, node)
        return
    module = node.module or ""
    stem = _own_stem(view, path, module)
    if stem:
        if _is_certain(view, path, stem, module):
            yield from _lost_names(view, path, node, stem)
        return
    lost = [*_lost_module(view, path, module, node.lineno, each.late or moves)]
    yield from lost
    standard = module.partition(".")[0] in sys.stdlib_module_names
    if standard and not (each.late or moves or any(one.own for one in lost)):
        names = [alias for alias in node.names if alias.name != "*"]
        yield from (Lost(alias.lineno, module, alias.name, own=False) for alias in names)


def _own_stem(view: View, path: str, module: str) -> str:
    """The stem of a module of the project; a plain folder never hides one of the standard library."""
    stem = view.modules.find(path, module)
    standard = module.partition(".")[0] in sys.stdlib_module_names
    return "" if standard and not view.modules.file(stem) else stem


def _lost_relative(view: View, path: str, node: ast.ImportFrom) -> Iterator[Lost]:
    if node.level > path.count("/") + 1 or (node.level == path.count("/") + 1 and not node.module):
        return  # above the tree: nothing is known of that
    folder = dirname(path)
    for _ in range(node.level - 1):
        folder = dirname(folder)
    written = "." * node.level + (node.module or "")
    stem = view.modules.find(path, node.module or "", node.level)
    if not stem and node.module:
        inner = "/".join(filter(None, (folder, node.module.replace(".", "/"))))
        outer = view.modules.file(dirname(inner))
        bindings = view.bindings(outer) if outer else None
        if not _is_made(view, inner) and not (bindings and bindings.moved):
            yield Lost(node.lineno, written)
        return
    yield from _lost_names(view, path, node, stem or folder)


def _lost_names(view: View, path: str, node: ast.ImportFrom, stem: str) -> Iterator[Lost]:
    """The names that the module with this stem does not offer."""
    file = view.modules.file(stem)
    written = "." * node.level + (node.module or "")
    for alias in node.names:
        if alias.name == "*" or (file and may_offer(view, file, alias.name)):
            continue
        if not file and (view.modules.inside(stem, alias.name) or not _is_plain_folder(view, stem)):
            continue
        inner = f"{stem}/{alias.name}" if stem else alias.name
        if not _is_made(view, inner):
            yield Lost(alias.lineno, written, alias.name, own=bool(file) or node.level > 0)


def _is_plain_folder(view: View, stem: str) -> bool:
    """True for a folder of Python files that is no package: it offers its modules and nothing else."""
    return (
        stem in view.modules.folders
        and f"{stem}.pyi" not in view.paths
        and f"{stem}/__init__.pyi" not in view.paths
    )


def may_offer(view: View, file: str, name: str, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a name can be imported from a module, as far as anybody can tell by reading."""
    bindings = view.bindings(file)
    if bindings is None or bindings.open or name in bindings.names or name in _OF_EVERY_MODULE:
        return True
    stem = stem_of(file)
    if file.endswith("/__init__.py") and view.modules.inside(stem, name):
        return True
    if f"{file}i" in view.paths and _word_in(view.content(f"{file}i"), name):
        return True
    for star in bindings.stars:
        source = view.modules.file(view.modules.imported(file, star) or "?")
        if not source:
            return True  # another package's: it may bring anything
        if source not in seen and may_offer(view, source, name, seen | {file, source}):
            return True
    return False


def _is_certain(view: View, path: str, stem: str, module: str) -> bool:
    """Whether an absolute import surely means this module and no installed package of the same name."""
    root = "/".join(stem.split("/")[: -len(module.split("."))])
    return root in _ROOTS or root == view.modules.root(path)


def _lost_module(view: View, path: str, module: str, line: int, unsure: bool) -> Iterator[Lost]:
    """A module that no file of the tree is: one of the project's packages lacks it, or it is another's."""
    if not module or _own_stem(view, path, module):
        return
    parts = module.split(".")
    for length in range(len(parts) - 1, 0, -1):
        stem = view.modules.find(path, ".".join(parts[:length]))
        file = view.modules.file(stem) if stem else ""
        if not file:
            continue
        bindings = view.bindings(file)
        missing = f"{stem}/{parts[length]}"
        known = bindings is not None and not bindings.moved
        if known and _is_certain(view, path, stem, ".".join(parts[:length])) and not _is_made(view, missing):
            yield Lost(line, ".".join(parts[: length + 1]))
        return
    if not unsure and parts[0] not in view.modules.tails:
        yield Lost(line, module, own=False)


def _is_made(view: View, stem: str) -> bool:
    """Whether a module may be there without being listed: ignored, compiled, or made by a build."""
    name = stem.rpartition("/")[2]
    if any(view.is_there(path) for path in (f"{stem}.py", f"{stem}/__init__.py")):
        return True
    prefix = f"{stem}."
    if any(path.startswith(prefix) for path in view.paths):
        return True
    builds = sorted(
        (path for path in view.paths if path.rpartition("/")[2] in _BUILDS), key=lambda path: path.count("/")
    )
    return any(_word_in(view.content(path), name) for path in builds[:_MOST_BUILDS])


def _word_in(content: bytes | None, word: str) -> bool:
    return bool(
        re.search(rb"(?<![\w\x80-\xff])%s(?![\w\x80-\xff])" % re.escape(word.encode()), content or b"")
    )
