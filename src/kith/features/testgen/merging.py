"""Thin out files of tests, and put two of them together."""

import ast
import re
from collections.abc import Collection, Sequence
from posixpath import splitext

from kith.gates.suites import (
    MAIN,
    PYTHON,
    Function,
    Part,
    blocks,
    can_split,
    end_of_bracket,
    find_cpp,
    find_part,
    find_parts,
    openings,
    python_tests,
    rows_of,
)


def part_of(id: str, parts: Sequence[Part]) -> Part | None:
    """The test that a runner means by `id`, whatever it puts around the name: path, parameters, instance."""
    return find_part(id, {part.name: part for part in reversed(parts)})


def drop_cpp(source: bytes, names: Collection[str]) -> bytes:
    """The file without these tests and the comments right above them."""
    for part in reversed(find_cpp(source)):
        if part.name in names:
            head = re.sub(rb"(?:^[ \t]*//[^\n]*\n)+\Z", b"", source[: part.start], flags=re.M)
            source = head.rstrip() + b"\n\n" + source[part.end :].lstrip()
    return source.rstrip() + b"\n"


def merge_cpp(kept: bytes, written: bytes) -> bytes:
    """New includes go below the includes, new helpers and tests to the end."""
    old, new = (text.decode("utf-8", "surrogateescape") for text in (kept, written))
    known = {part.name for part in find_cpp(kept)}
    present = {line.strip() for line in old.split("\n")}
    parts = [part for part in find_cpp(written) if part.name not in known]
    beside = _without_blocks(new)
    heads = [line for line in beside.split("\n") if _is_include(line) and line.strip() not in present]
    rest = "\n".join("" if _is_include(line) else line for line in beside.split("\n"))
    helpers = [chunk.strip("\n") for chunk in re.split(r"\n\s*\n", rest) if chunk.strip()]
    added = [chunk for chunk in helpers if chunk not in old] + [part.text for part in parts]
    rows = old.rstrip("\n").split("\n")
    top = max((row for row, line in enumerate(rows, 1) if line.startswith("#include")), default=0)
    rows[top:top] = heads
    return ("\n".join(rows) + "".join(f"\n\n{each}" for each in added) + "\n").encode(
        "utf-8", "surrogateescape"
    )


def _is_include(line: str) -> bool:
    return line.startswith(("#include", "using "))


def _without_blocks(text: str) -> str:
    """Return the text beside the tests, without a `main` of its own."""
    spans = [(first, last) for _, first, last in blocks(text)]
    for match in openings(text, MAIN):
        body = text.find("{", match.end())
        end = end_of_bracket(text, body) if body >= 0 else -1
        spans += [(match.start(), end)] if end >= 0 else []
    for first, last in sorted(spans, reverse=True):
        text = text[:first] + text[last:]
    return text


def drop_python(source: bytes, names: Collection[str]) -> bytes:
    """The file without these tests, classes that held no others, and imports that only they used."""
    tree, lines = ast.parse(source), source.splitlines(keepends=True)
    gone: set[int] = set()
    left: dict[ast.ClassDef, int] = {}
    for name, node, owner in python_tests(tree):
        if name in names:
            gone.update(range(*rows_of(node, lines)))
        if owner is not None:
            left[owner] = left.get(owner, 0) + (name not in names)
    for owner, number in left.items():
        if not number:
            gone.update(range(*rows_of(owner, lines)))
    left_over = ast.parse(_without(lines, gone))
    idle = _used(tree) - _used(left_over)
    for each in tree.body:
        if isinstance(each, ast.Import | ast.ImportFrom) and idle.issuperset(
            alias.asname or alias.name.partition(".")[0] for alias in each.names
        ):
            gone.update(range(each.lineno - 1, each.end_lineno or each.lineno))
    return _without(lines, gone)


def merge_python(kept: bytes, written: bytes) -> bytes:
    """Imports go below the imports, new methods into their class, everything else to the end."""
    old, new = ast.parse(kept), ast.parse(written)
    known = {name for name, _, _ in python_tests(old)}
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
                _text(each, their)
                for name, each, owner in python_tests(new)
                if owner is node and name not in known
            ]
            inside[row] = b"".join(b"\n" + method for method in methods)
        elif not (isinstance(node, Function) and node.name in known):
            behind.append(_text(node, their))
    head = (each for each in old.body if isinstance(each, ast.Import | ast.ImportFrom) or _is_docstring(each))
    top = max((each.end_lineno or 0 for each in head), default=0)
    rows = [line if line.endswith(b"\n") else line + b"\n" for line in lines]
    for row in sorted({top, *inside}, reverse=True):
        rows[row:row] = [inside.get(row, b""), *(imports if row == top else ())]
    return b"".join(rows).rstrip(b"\n") + b"\n" + b"".join(b"\n\n" + text for text in behind)


def _used(tree: ast.Module) -> set[str]:
    """Every name that is read; a parameter may be the name of an imported fixture."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _text(node: ast.stmt, lines: Sequence[bytes]) -> bytes:
    first, last = rows_of(node, lines)
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


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def drop_parts(path: str, source: bytes, names: Collection[str]) -> bytes:
    """The file without these tests; b"" when no other is left."""
    kept = [part for part in find_parts(path, source) if part.name not in names]
    if not kept:
        return b""
    if len(kept) == len(find_parts(path, source)):
        return source
    return drop_python(source, names) if splitext(path)[1].lower() in PYTHON else drop_cpp(source, names)


def merge_tests(path: str, kept: bytes, written: bytes) -> bytes:
    """`kept`, with the tests of `written` that it lacks and what they need. Where names meet, `kept` wins."""
    if not kept.strip() or not can_split(path):
        return written
    if splitext(path)[1].lower() in PYTHON:
        return merge_python(kept, written)
    return merge_cpp(kept, written)
