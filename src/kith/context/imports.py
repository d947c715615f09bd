"""What a source text imports, as it is written there; `resolve.py` finds the files that are meant."""

import ast
import re
from collections.abc import Iterable, Iterator
from posixpath import splitext
from typing import Final

from kith.context.tokens import CPP_ENDINGS

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
