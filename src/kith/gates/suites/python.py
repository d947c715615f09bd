"""Python's tests: functions and methods whose names begin with `test`, by the syntax tree."""

import ast
from collections.abc import Collection, Iterator, Sequence

from kith.gates.suites.part import Part

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_python(source: bytes) -> tuple[Part, ...]:
    """Raises SyntaxError."""
    lines = source.splitlines(keepends=True)
    found = []
    for name, node, _ in _tests(ast.parse(source)):
        first, last = _rows(node, lines)
        start, text = len(b"".join(lines[:first])), b"".join(lines[first:last])
        part = Part(name, start, start + len(text), _asserts(node), text.decode("utf-8", "replace"))
        found.append(part)
    return tuple({part.name: part for part in found}.values())  # of two with one name, Python runs the last


def drop_python(source: bytes, names: Collection[str]) -> bytes:
    """The file without these tests, classes that held no others, and imports that only they used."""
    tree, lines = ast.parse(source), source.splitlines(keepends=True)
    gone: set[int] = set()
    left: dict[ast.ClassDef, int] = {}
    for name, node, owner in _tests(tree):
        if name in names:
            gone.update(range(*_rows(node, lines)))
        if owner is not None:
            left[owner] = left.get(owner, 0) + (name not in names)
    for owner, number in left.items():
        if not number:
            gone.update(range(*_rows(owner, lines)))
    left_over = ast.parse(_without(lines, gone))
    idle = _used(tree) - _used(left_over)
    for each in tree.body:
        if isinstance(each, ast.Import | ast.ImportFrom) and idle.issuperset(_bound(each)):
            gone.update(range(each.lineno - 1, each.end_lineno or each.lineno))
    return _without(lines, gone)


def merge_python(kept: bytes, written: bytes) -> bytes:
    """Imports go below the imports, new methods into their class, everything else to the end."""
    old, new = ast.parse(kept), ast.parse(written)
    known = {name for name, _, _ in _tests(old)}
    present = {ast.unparse(node) for node in old.body}
    classes = {node.name: node for node in old.body if isinstance(node, ast.ClassDef)}
    imports, inside, behind = list[bytes](), dict[int, bytes](), list[bytes]()
    lines, their = kept.splitlines(keepends=True), written.splitlines(keepends=True)
    for node in new.body:
        if ast.unparse(node) in present or _is_docstring(node) or _is_main(node):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(_text(node, their))
        elif isinstance(node, ast.ClassDef) and node.name in classes:
            row = classes[node.name].end_lineno or 0
            methods = [
                _text(each, their) for name, each, owner in _tests(new) if owner is node and name not in known
            ]
            inside[row] = b"".join(b"\n" + method for method in methods)
        elif not (isinstance(node, _Function) and node.name in known):
            behind.append(_text(node, their))
    top = max((node.end_lineno or 0 for node in old.body if _is_head(node)), default=0)
    rows = [line if line.endswith(b"\n") else line + b"\n" for line in lines]
    for row in sorted({top, *inside}, reverse=True):
        rows[row:row] = [inside.get(row, b""), *(imports if row == top else ())]
    return b"".join(rows).rstrip(b"\n") + b"\n" + b"".join(b"\n\n" + text for text in behind)


def _tests(tree: ast.Module) -> Iterator[tuple[str, _Function, ast.ClassDef | None]]:
    """Name, function, and the class that holds it."""
    for node in tree.body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            yield node.name, node, None
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, _Function) and inner.name.startswith("test"):
                    yield f"{node.name}.{inner.name}", inner, node


def _asserts(node: ast.AST) -> bool:
    """Whether anything below asserts: the statement, unittest's methods, pytest's `raises` and its kin."""
    for each in ast.walk(node):
        if isinstance(each, ast.Assert):
            return True
        if isinstance(each, ast.Call):
            called = each.func.attr if isinstance(each.func, ast.Attribute) else ast.unparse(each.func)
            if called.startswith(("assert", "fail", "raises", "warns")):
                return True
    return False


def _used(tree: ast.Module) -> set[str]:
    """Every name that is read; a parameter may be the name of an imported fixture."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _bound(node: ast.Import | ast.ImportFrom) -> set[str]:
    return {alias.asname or alias.name.partition(".")[0] for alias in node.names}


def _rows(node: ast.stmt, lines: Sequence[bytes]) -> tuple[int, int]:
    """The lines of a definition, from 0: with its decorators and the comments right above."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)]) - 1
    while first and lines[first - 1].strip().startswith(b"#"):
        first -= 1
    return first, node.end_lineno or node.lineno


def _text(node: ast.stmt, lines: Sequence[bytes]) -> bytes:
    first, last = _rows(node, lines)
    return b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines[first:last])


def _without(lines: Sequence[bytes], gone: Collection[int]) -> bytes:
    """The other lines; the gap above what was taken out goes with it."""
    out: list[bytes] = []
    for row, line in enumerate(lines):
        if row not in gone:
            out.append(line)
        while row in gone and out and not out[-1].strip():
            out.pop()
    return b"".join(out).rstrip() + b"\n"


def _is_head(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom) or _is_docstring(node)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
