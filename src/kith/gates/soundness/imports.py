"""Imports that lead nowhere, in Python and in JavaScript and TypeScript."""

import ast
import re
import sys
from collections.abc import Iterator
from posixpath import dirname, normpath, splitext
from typing import Final

from msgspec import Struct

from kith.context.python_modules import stem_of
from kith.gates.soundness.bindings import TreeState, parse_python, remembered

# The imports of a Python file, and which of them may fail without harm.

_CATCHING: Final = frozenset(
    {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "AttributeError", "raises"}
)


class Import(Struct, frozen=True):
    """An import. `guarded`: its failure is caught, or a condition leads to it. `late`: in a function."""

    node: ast.Import | ast.ImportFrom
    guarded: bool
    late: bool


def find_imports(tree: ast.Module) -> Iterator[Import]:
    """Every import of a file; those of modules that `importorskip` names are guarded."""
    skipped = frozenset(_named_to_skip(tree))
    for each in _in_block(tree.body, guarded=False, late=False):
        top = _tops(each.node)
        yield Import(each.node, each.guarded or bool(skipped & top), each.late)


def _in_block(body: list[ast.stmt], guarded: bool, late: bool) -> Iterator[Import]:
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield Import(node, guarded, late)
            case ast.Try() | ast.TryStar():
                inner = guarded or bool(node.handlers)
                blocks = [node.body, *(each.body for each in node.handlers), node.orelse, node.finalbody]
                for block in blocks:
                    yield from _in_block(block, inner, late)
            case ast.If():
                inner = guarded or not _is_main(node.test)
                yield from _in_block([*node.body, *node.orelse], inner, late)
            case ast.With() | ast.AsyncWith():
                inner = guarded or any(_names(item.context_expr) & _CATCHING for item in node.items)
                yield from _in_block(node.body, inner, late)
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from _in_block([*node.body, *node.orelse], guarded, late)
            case ast.Match():
                for case in node.cases:
                    yield from _in_block(case.body, True, late)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _in_block(node.body, guarded, True)
            case ast.ClassDef():
                yield from _in_block(node.body, guarded, late)


def _is_main(test: ast.expr) -> bool:
    return "__name__" in _names(test)


def _names(node: ast.AST) -> set[str]:
    plain = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return plain | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def _tops(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    return set() if node.level else {(node.module or "").partition(".")[0]}


def _named_to_skip(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=func, args=[ast.Constant(value=str() as module), *_]):
                if "importorskip" in _names(func):
                    yield module.partition(".")[0]


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


class Lost(Struct, frozen=True):
    """An import that finds nothing: `module`, or `name` in it. `own`: it is one of the project's."""

    line: int
    module: str
    name: str = ""
    own: bool = True

    @property
    def detail(self) -> str:
        return f"{self.module}:{self.name}" if self.name else self.module


def find_lost(view: TreeState, path: str) -> Iterator[Lost]:
    """The imports of a file that nothing in the tree answers, and those of other packages (`own` is False).

    An import whose failure the file expects is left out.
    """
    content = view.content(path)
    if content is None:
        return
    moves = b"sys.path" in content or b"addsitedir" in content
    for each in _unguarded(content):
        yield from _lost(view, path, each, moves)


@remembered
def _unguarded(content: bytes) -> tuple[Import, ...]:
    tree = parse_python(content)
    return tuple(each for each in find_imports(tree) if not each.guarded) if tree else ()


def _lost(view: TreeState, path: str, each: Import, moves: bool) -> Iterator[Lost]:
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


def _own_stem(view: TreeState, path: str, module: str) -> str:
    """The stem of a module of the project; a plain folder never hides one of the standard library."""
    stem = view.modules.find(path, module)
    standard = module.partition(".")[0] in sys.stdlib_module_names
    return "" if standard and not view.modules.file(stem) else stem


def _lost_relative(view: TreeState, path: str, node: ast.ImportFrom) -> Iterator[Lost]:
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


def _lost_names(view: TreeState, path: str, node: ast.ImportFrom, stem: str) -> Iterator[Lost]:
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


def _is_plain_folder(view: TreeState, stem: str) -> bool:
    """True for a folder of Python files that is no package: it offers its modules and nothing else."""
    return (
        stem in view.modules.folders
        and f"{stem}.pyi" not in view.paths
        and f"{stem}/__init__.pyi" not in view.paths
    )


def may_offer(view: TreeState, file: str, name: str, seen: frozenset[str] = frozenset()) -> bool:
    """True if a name may be importable from a module, as far as its text shows."""
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


def _is_certain(view: TreeState, path: str, stem: str, module: str) -> bool:
    """True if an absolute import means this module, and no installed package of the same name."""
    root = "/".join(stem.split("/")[: -len(module.split("."))])
    return root in _ROOTS or root == view.modules.root(path)


def _lost_module(view: TreeState, path: str, module: str, line: int, unsure: bool) -> Iterator[Lost]:
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


def _is_made(view: TreeState, stem: str) -> bool:
    """True if a module may exist without being listed: ignored, compiled, or generated by a build."""
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


# Relative imports of JavaScript and TypeScript that lead to no file.

SCRIPTS: Final = frozenset({".cjs", ".cts", ".js", ".jsx", ".mjs", ".mts", ".ts", ".tsx"})
_TRIED: Final = (
    *("", ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json", ".vue", ".svelte"),
    *(
        ".node",
        ".css",
        ".native.js",
        ".native.ts",
        ".native.tsx",
        ".ios.js",
        ".web.js",
        ".web.ts",
        ".web.tsx",
    ),
    *("/index.ts", "/index.tsx", "/index.d.ts", "/index.js", "/index.jsx", "/index.mjs", "/index.cjs"),
    *("/index.vue", "/index.json", "/package.json"),
)
# A path that ends so may be written for what the compiler makes of another file.
_MADE_FROM: Final = {".js": (".ts", ".tsx", ".jsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
# What a build makes is there later.
_MADE: Final = frozenset(
    (
        "__generated__",
        "_generated",
        "build",
        "codegen",
        "dist",
        "gen",
        "generated",
        "lib",
        "out",
        "pkg",
        "wasm",
    )
)
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.S)
_IMPORT: Final = re.compile(
    r"""^[ \t]*(?:(?:import|export)\b[^"'`;()\n]*\bfrom|import|\}[ \t]*from
        |(?:const|let|var)\b[^"'`;\n]*=[ \t]*require[ \t]*\()[ \t]*(["'])(\.{1,2}/[^"'\n?#!]{1,300})\1""",
    re.M | re.X,
)


def find_lost_scripts(view: TreeState, path: str) -> Iterator[tuple[int, str]]:
    """The line and the path of each relative import of a script that no file answers."""
    content = view.content(path)
    if content is None or not any(word in content for word in (b"import", b"export", b"require")):
        return
    # Behind the first backtick may be a text that holds code; imports stand before it.
    head = content.decode("utf-8", "replace").partition("`")[0]
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), head)
    for found in _IMPORT.finditer(text):
        target = normpath(f"{dirname(path)}/{found[2]}" if dirname(path) else found[2])
        if not target.startswith("..") and not _is_there(view, target):
            yield text.count("\n", 0, found.start(2)) + 1, found[2]


def _is_there(view: TreeState, target: str) -> bool:
    if not _MADE.isdisjoint(target.split("/")) or target == "." or target in view.folders:
        return True
    stem, ending = splitext(target)
    others = (stem + each for each in _MADE_FROM.get(ending, ()))
    listed = (*(target + each for each in _TRIED), *others)
    if any(each in view.paths for each in listed) or any(
        each.startswith(f"{target}.") for each in view.paths
    ):
        return True
    return any(view.content(each) is not None for each in listed)
