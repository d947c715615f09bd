"""Top-level definitions as blocks of text: with their decorators, and the comments right above them."""

import ast
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from kith.core.errors import UsageError
from kith.features.refactor.syntax.import_statements import is_alone, is_docstring
from kith.features.refactor.syntax.scopes import ModuleNames
from kith.features.refactor.syntax.source import PythonSource, Splice, apply_splices


class DefinitionBlock(Struct, frozen=True):
    """Whole lines, from `start` to `end` (offsets), with the names that they define."""

    start: int
    end: int
    names: tuple[str, ...]
    node: ast.stmt

    def holds(self, offset: int) -> bool:
        return self.start <= offset < self.end


def find_block(names: ModuleNames, name: str) -> DefinitionBlock:
    """The statement that defines a name of a module. Raises UsageError when there is not exactly one."""
    source = names.source
    bound = [each for each in names.of(names.module, name) if each.how == "bind"]
    if not bound:
        raise UsageError(f"{source.path} defines no {name}.")
    found = [each for each in source.tree.body if defined_by(each) == (name,)]
    if len(bound) > 1 or len(found) != 1:
        raise UsageError(f"{source.path} does not define {name} by one statement at its top level.")
    return block_of(source, found[0])


def defines(names: ModuleNames, name: str) -> bool:
    """Tell whether a module defines a name itself, and does not only import it."""
    bound = [each for each in names.of(names.module, name) if each.how == "bind"]
    return any(not isinstance(each.node, ast.alias) for each in bound)


def all_blocks(names: ModuleNames) -> list[DefinitionBlock]:
    """Every definition of a module. Raises UsageError when it holds anything else that runs."""
    source, blocks = names.source, list[DefinitionBlock]()
    for statement in source.tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom) or is_docstring(statement):
            continue
        defined = defined_by(statement)
        if defined == ("__all__",):
            continue
        if not defined:
            raise UsageError(
                f"{source.path}:{statement.lineno} is not a definition, so the module cannot be moved whole."
            )
        blocks.append(block_of(source, statement))
    return blocks


def defined_by(statement: ast.stmt) -> tuple[str, ...]:
    """The names that a statement defines, when that is all it does."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (statement.name,)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    names = [each.id for each in targets if isinstance(each, ast.Name)]
    return tuple(names) if len(names) == len(targets) else ()


def first_line(statement: ast.stmt) -> int:
    """The line that a definition begins in, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def block_of(source: PythonSource, statement: ast.stmt) -> DefinitionBlock:
    """The block of a top-level statement."""
    if not is_alone(source, statement) and not getattr(statement, "decorator_list", None):
        raise UsageError(f"{source.path}:{statement.lineno}: several statements are on one line.")
    line = first_line(statement)
    while line > 1 and _row(source, line - 1).startswith("#"):
        line -= 1
    if line == 1 and first_line(statement) != 1:  # the comment that the file begins with is the file's
        line = first_line(statement)
    assert statement.end_lineno
    return DefinitionBlock(
        source.line_start(line), source.line_start(statement.end_lineno + 1), defined_by(statement), statement
    )


def cut_blocks(source: PythonSource, blocks: Sequence[DefinitionBlock]) -> Iterator[Splice]:
    """Cut blocks so that the blank lines around them become those of one gap."""
    start = end = -1
    for block in blocks:
        if end >= 0 and not source.text[end : block.start].strip():
            end = block.end
            continue
        if end >= 0:
            yield _cut(source, start, end)
        start, end = block.start, block.end
    yield _cut(source, start, end)


def _cut(source: PythonSource, start: int, end: int) -> Splice:
    after = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*").match(source.text, end)
    end = after.end() if after else end
    if source.text[end:].strip():
        return Splice(start, end, "")
    before = source.text[:start].rstrip()
    return Splice(len(before) + len(source.newline) if before else 0, len(source.text), "")


def _row(source: PythonSource, line: int) -> str:
    return source.text[source.line_start(line) : source.line_start(line + 1)]


def insert_blocks(
    source: PythonSource, text: str, blocks: Sequence[DefinitionBlock], *, early: bool
) -> bytes:
    """Blocks of another file's `text`, before the statement that needs them first, or at the end.

    `early`: right behind the imports.
    """
    end = source.newline
    joined = _join(text, blocks, end)
    moved = {name for block in blocks for name in block.names}
    rest = source.tree.body[sum(1 for each in source.tree.body[:1] if is_docstring(each)) :]
    first = next((each for each in rest if not isinstance(each, ast.Import | ast.ImportFrom)), None)
    following = first if early else next((each for each in rest if _needs_now(each, moved)), None)
    if following is None:
        before, last = source.text.rstrip(), source.tree.body[-1:]
        wide = _is_long(blocks[0].node) or any(map(_is_long, last))
        gap = end * (3 if wide else 2) if before else ""
        return (before + gap + joined + end).encode(source.codec)
    line = first_line(following)
    while line > 1 and _row(source, line - 1).startswith("#"):
        line -= 1
    at = source.line_start(line)
    return apply_splices(
        source,
        [Splice(at, at, joined + end * (3 if _is_long(blocks[-1].node) or _is_long(following) else 2))],
    )


def _join(text: str, blocks: Sequence[DefinitionBlock], end: str) -> str:
    """The texts of blocks with the blank lines that belong between them."""
    joined, before = "", None
    for block in blocks:
        row = re.sub(r"\r\n|\r|\n", end, text[block.start : block.end].rstrip())
        if before is not None:
            joined += end * (3 if _is_long(before.node) or _is_long(block.node) else 2)
        joined, before = joined + row, block
    return joined


def _is_long(statement: ast.stmt) -> bool:
    """Tell whether two blank lines belong around it."""
    return isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _needs_now(statement: ast.stmt, moved: set[str]) -> bool:
    """Tell whether a statement uses one of the names, or is the program's own start."""
    if isinstance(statement, ast.Import | ast.ImportFrom) or is_docstring(statement):
        return False
    if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
        return True
    read = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return defined_by(statement) != ("__all__",) and bool(read & moved)
