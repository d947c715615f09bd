"""Find what a source text imports, and the project's own files that its imports mean."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from posixpath import commonprefix, normpath, splitext
from typing import Final

from kith.context.source import CPP_ENDINGS
from kith.context.symbols import PYTHON_ENDINGS, parse_python

# An import that is not carried out when its module is: in a function, or for type checkers alone.
LATE: Final = "~"
SCRIPT_ENDINGS: Final = frozenset(".cjs .cts .js .jsx .mjs .mts .svelte .ts .tsx .vue".split())  # noqa: SIM905
_INNER: Final = re.compile(r"^[ \t]++(?:import|from)\b|[:;][ \t]*(?:import|from)\b", re.M)
_NO_BLOCKS: Final = frozenset(
    {ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Raise, ast.Pass}
)
_INCLUDE: Final = re.compile(
    r'^[ \t]*+#[ \t]*+include[ \t]*+(?:"([^"\n]{1,300})"|<([^>\n/]*/[^>\n]{1,300})>)', re.M
)
_SCRIPT: Final = re.compile(
    r"""(?:\bfrom|\bimport|\brequire[ \t]*\(|\bimport[ \t]*\()[ \t]*(["'])(\.{1,2}(?:/[^"'\n]{0,300})?)\1"""
)
_GO_BLOCK: Final = re.compile(r'^import[ \t]*+(?:\(([^)]*+)\)|(?:[\w.]+[ \t]+)?("[^"\n]+"))', re.M)
_QUOTED: Final = re.compile(r'"([^"\n]{1,300})"')
_GO_MODULE: Final = re.compile(r"^module[ \t]+(\S+)", re.M)
_RUST: Final = re.compile(
    r"^[ \t]*+(?:pub(?:\([^)\n]*\))?[ \t]+)?"
    r"(?:(mod[ \t]+\w+)[ \t]*;|use[ \t]+((?:crate|self|super)(?:::\w+)+))",
    re.M,
)


def find_imports(path: str, text: str) -> tuple[str, ...]:
    """The imports of a text, sorted, each once. Python's are found by `imports_of_module`.

    An include is the path between its quotes; one between angles begins with `<`, and is left out without a
    folder. A script's is its path, Go's the package's, Rust's `mod name` or `crate::a::b`; `go.mod` tells
    its own `module name`.
    """
    ending = splitext(path)[1].lower()
    if ending in CPP_ENDINGS:
        return _sorted(quoted or f"<{angled}" for quoted, angled in _INCLUDE.findall(text))
    if ending in SCRIPT_ENDINGS:
        return _sorted(name for _, name in _SCRIPT.findall(text))
    if ending == ".go":
        blocks = _GO_BLOCK.findall(text)
        return _sorted(name for several, one in blocks for name in _QUOTED.findall(several or one))
    if ending == ".rs":
        return _sorted(" ".join((module or used).split()) for module, used in _RUST.findall(text))
    if path.rpartition("/")[2] == "go.mod":
        return _sorted(f"module {name}" for name in _GO_MODULE.findall(text)[:1])
    return ()


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def imports_of_module(tree: ast.Module, text: str) -> tuple[str, ...]:
    """The imports of a Python module: `a.b` for `import a.b`, `..a:x,y` for `from ..a import x, y`.

    Those that are carried out later than the module, or never, begin with LATE.
    """
    found: set[str] = set()
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    deep = bool(_INNER.search(text))  # most modules import at their top and nowhere else
    while waiting:
        node, late = waiting.pop()
        for child in _statements(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                found.update(LATE * late + name for name in _names(child))
            elif deep and child.__class__ not in _NO_BLOCKS:
                waiting.append((child, late or _is_late(child)))
    return tuple(sorted(name for name in found if not (name[0] == LATE and name[1:] in found)))


def imports_of_python(text: str) -> tuple[str, ...]:
    """The same of a text; none of one that Python refuses."""
    tree = parse_python(text)
    return imports_of_module(tree, text) if tree else ()


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements, handlers and cases directly in a node: nothing else holds an import."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, block, None)
        if isinstance(inner, list):
            yield from inner


def _is_late(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        name = node.test.attr if isinstance(node.test, ast.Attribute) else getattr(node.test, "id", "")
        return name == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    else:
        yield f"{'.' * node.level}{node.module or ''}:{','.join(sorted(alias.name for alias in node.names))}"


# Which of a project's own files the imports of its source texts mean.

_SCRIPT_FILES: Final = (
    *("", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte", ".d.ts"),
    *("/index.ts", "/index.tsx", "/index.js", "/index.jsx", "/index.mjs"),
)
_TYPED: Final = {".js": (".ts", ".tsx"), ".mjs": (".mts",), ".cjs": (".cts",)}  # what `x.js` may have been
_RUST_ROOTS: Final = ("lib.rs", "main.rs")


class Resolver:
    """Finds the files that imports mean, among `files`; `go_modules`: folder of a go.mod -> its name.

    `mains`: folder of a package.json -> the file that an import of this folder means.
    """

    def __init__(
        self, files: Sequence[str], go_modules: Mapping[str, str] = {}, mains: Mapping[str, str] = {}
    ) -> None:
        self._mains = {normpath(folder): normpath(folder + main) for folder, main in mains.items()}
        self._files = frozenset(files)
        self._go_modules = go_modules
        self._python = _name_modules(files, self._files)
        self._headers: dict[str, list[str]] = defaultdict(list)  # the last part of a path -> paths
        for path in files:
            if splitext(path)[1].lower() in CPP_ENDINGS:
                self._headers[path.rpartition("/")[2]].append(path)
        self._python_folders = {_folder(path) for path in files if path.endswith((".py", ".pyi"))}
        self._go_folders = {_folder(path) for path in files if path.endswith(".go")}
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}
        self._scripts: dict[str, tuple[str, ...]] = {}

    def resolve(self, path: str, imports: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """The files that a file's imports mean, and whether each is imported later than the module.

        A Go package is its folder, with a slash at the end. What is not in the project is left out.
        """
        ending, folder = splitext(path)[1].lower(), _folder(path)
        for name in imports:
            late = name.startswith(LATE)
            place = path if ending == ".rs" else folder
            found = self._known.get((place, name))
            if found is None:
                found = tuple(dict.fromkeys(self._find(ending, path, folder, name.removeprefix(LATE))))
                self._known[place, name] = found
            yield from ((target, late) for target in found)

    def _find(self, ending: str, path: str, folder: str, name: str) -> Iterator[str]:
        if ending in PYTHON_ENDINGS:
            return self._find_python(folder, name)
        if ending in CPP_ENDINGS:
            return self._find_header(folder, name)
        if ending in SCRIPT_ENDINGS:
            return self._find_script(folder, name)
        if ending == ".go":
            return self._find_package(folder, name)
        if ending == ".rs":
            return self._find_rust(path, folder, name)
        return iter(())

    # --- Python ------------------------------------------------------------------------------

    def _find_python(self, folder: str, name: str) -> Iterator[str]:
        """A module, or for `from package import name` the modules among the names."""
        module, _, listed = name.partition(":")
        dots = len(module) - len(module.lstrip("."))
        if dots:
            base = folder
            for _ in range(dots - 1):
                base = _folder(base.rstrip("/"))
            place: str | None = (base + module[dots:].replace(".", "/")).rstrip("/")
        else:
            place = self._place_of(module, folder)
        return iter(()) if place is None else self._modules_at(place, listed.split(",") if listed else ())

    def _place_of(self, module: str, folder: str) -> str | None:
        """Find the nearest module of this name, without its ending; None if the project has none."""
        found = self._python.get(module)
        if found is None:
            return None
        first = module.partition(".")[0]
        if first in sys.stdlib_module_names:  # hidden only by what lies at the top
            found = [
                path for path in found if path.removeprefix("src/").startswith((f"{first}/", f"{first}.py"))
            ]
        elif first == module:  # no package: only a script beside the importing one, or from the top
            found = [
                path for path in found if path.endswith("/__init__.py") or folder.startswith(_folder(path))
            ]
        return splitext(_nearest(found, folder))[0].removesuffix("/__init__") if found else None

    def _modules_at(self, place: str, names: Sequence[str]) -> Iterator[str]:
        """The module or package at a path without ending; of a package, the modules that are named."""
        named, inner = 0, f"{place}/" if place else ""
        if names and inner in self._python_folders:
            for name in names:
                if found := self._module(inner + name):
                    named += 1
                    yield found
        if (named < len(names) or not names) and (own := self._module(place)):
            yield own

    def _module(self, place: str) -> str:
        for ending in (".py", "/__init__.py", ".pyi", "/__init__.pyi"):
            if place + ending in self._files:
                return place + ending
        return ""

    # --- C and C++ ---------------------------------------------------------------------------

    def _find_header(self, folder: str, name: str) -> Iterator[str]:
        """Beside the file that includes it, else below any folder: the nearest one."""
        angled, name = name.startswith("<"), name.removeprefix("<")
        beside = normpath(folder + name)
        if not angled and beside in self._files:
            yield beside
            return
        wanted = normpath(name)
        while wanted.startswith("../"):
            wanted = wanted[3:]
        endings = [
            path
            for path in self._headers.get(wanted.rpartition("/")[2], ())
            if path == wanted or path.endswith(f"/{wanted}")
        ]
        if endings:
            yield _nearest(endings, folder)

    # --- JavaScript, Go, Rust ----------------------------------------------------------------

    def scripts_at(self, places: Iterable[str]) -> Iterator[str]:
        """The scripts that imports of these paths mean; the paths begin at the top, and lack an ending."""
        for place in places:
            yield from self._script_at(place)

    def _find_script(self, folder: str, name: str) -> Iterator[str]:
        return iter(self._script_at(normpath(folder + name)))

    def _script_at(self, place: str) -> tuple[str, ...]:
        """The script that an import of a path means, or of a package's folder; nothing or one."""
        found = self._scripts.get(place)
        if found is None:
            main = self._mains.get(place)
            candidates = (*(_candidates(main) if main else ()), *_candidates(place))
            found = tuple(islice((path for path in candidates if path in self._files), 1))
            self._scripts[place] = found
        return found

    def _find_package(self, folder: str, name: str) -> Iterator[str]:
        for place, module in self._go_modules.items():
            inside = name == module or name.startswith(f"{module}/")
            target = f"{place}{name[len(module) + 1 :]}/".lstrip("/")
            if inside and folder.startswith(place) and target in self._go_folders | {"/"}:
                yield target

    def _find_rust(self, path: str, folder: str, name: str) -> Iterator[str]:
        stem = path.rpartition("/")[2].removesuffix(".rs")
        own = folder if stem in ("mod", "lib", "main") else f"{folder}{stem}/"
        if name.startswith("mod "):
            yield from self._rust_module(own, [name[4:]])
            return
        first, *rest = name.split("::")
        bases = {"crate": self._crate_of(folder), "self": own, "super": _folder(own.rstrip("/"))}
        base = bases.get(first, "")
        for length in range(len(rest), 0, -1):
            if found := [*self._rust_module(base, rest[:length])]:
                yield from found
                return
        whole = (f"{base.rstrip('/')}.rs", f"{base}mod.rs", *(base + root for root in _RUST_ROOTS))
        yield from [file for file in whole if file in self._files][:1]

    def _rust_module(self, base: str, parts: Sequence[str]) -> Iterator[str]:
        place = base + "/".join(parts)
        yield from [path for path in (f"{place}.rs", f"{place}/mod.rs") if path in self._files][:1]

    def _crate_of(self, folder: str) -> str:
        while not any(folder + root in self._files for root in _RUST_ROOTS):
            if not folder:
                return "src/"
            folder = _folder(folder.rstrip("/"))
        return folder


def _candidates(place: str) -> Iterator[str]:
    """The files that an import of a path of a script may mean, the likeliest first."""
    yield from (place + ending for ending in _SCRIPT_FILES)
    base, ending = splitext(place)
    yield from (base + other for other in _TYPED.get(ending, ()))


def _name_modules(files: Sequence[str], known: frozenset[str]) -> dict[str, list[str]]:
    """The files that each dotted name may mean: from above their package, from the top, and from `src`."""
    named: dict[str, list[str]] = defaultdict(list)
    roots: dict[str, str] = {}

    def root_of(folder: str) -> str:
        """The folder that holds the outermost package of a folder."""
        if folder not in roots:
            inside = f"{folder}__init__.py" in known and folder
            roots[folder] = root_of(_folder(folder.rstrip("/"))) if inside else folder
        return roots[folder]

    for path in files:
        if not path.endswith((".py", ".pyi")):
            continue
        place = splitext(path)[0].removesuffix("/__init__")
        above = root_of(_folder(path)) if path.count("/") < 50 else ""
        for root in {above, "", "src/" if path.startswith("src/") else ""}:
            named[place[len(root) :].replace("/", ".")].append(path)
    return named


def _folder(path: str) -> str:
    """The folder of a path, with its slash; "" for the top."""
    return path[: path.rfind("/") + 1]


def _nearest(paths: Sequence[str], folder: str) -> str:
    """The path that shares most of its way from the top with a folder; of equal ones the shortest."""
    if len(paths) == 1:
        return paths[0]
    return max(paths, key=lambda path: (len(commonprefix((path, folder))), -len(path), path))
