"""Rewrite the files that import names which move to another module."""

import ast
import re
from collections.abc import Collection, Sequence

from msgspec import Struct, field

from kith.context.python_modules import stem_of
from kith.core.errors import UsageError
from kith.features.refactor.syntax.codebase import Codebase, is_exported, same_module, star_importers
from kith.features.refactor.syntax.import_statements import drop_names
from kith.features.refactor.syntax.scopes import Mention, NameScope, find_owner
from kith.features.refactor.syntax.source import Splice


class MovedNames(Struct, frozen=True):
    """The names that move, from one file to another."""

    path: str
    target: str
    names: Collection[str]


class Rewritten(Struct, frozen=True):
    """The edits of one file, and the imports that it needs beside them."""

    splices: list[Splice] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def rewrite_importer(code: Codebase, path: str, move: MovedNames) -> Rewritten:
    """Let one file take the moved names from where they are now. Raises UsageError when it cannot."""
    made = Rewritten()
    for statement, scope in code.imports(path):
        if isinstance(statement, ast.ImportFrom) and same_module(
            code.modules, code.modules.imported(path, statement), move.path
        ):
            _rewrite_from(code, path, statement, scope, move, made)
    uses = [
        (node, scope)
        for name in sorted(move.names)
        for node, scope in code.attributes(path, name)
        if same_module(code.modules, code.module_of(path, node.value, scope), move.path)
    ]
    if path == move.target:
        _use_plainly(code, path, uses, made)
        return made
    for binding, group in _by_binding(code, path, uses).items():
        if binding is None or not _follow_module(code, path, binding, group, move, made):
            written = code.modules.written(path, move.target)
            made.lines.extend(f"from {written} import {node.attr}" for node, _ in group)
            _use_plainly(code, path, group, made)
    return made


# --- from module import name -----------------------------------------------------------------


def _rewrite_from(
    code: Codebase, path: str, statement: ast.ImportFrom, scope: NameScope, move: MovedNames, made: Rewritten
) -> None:
    names, source = code.names(path), code.source(path)
    if statement.names[0].name == "*":
        taken = [name for name in sorted(move.names) if is_exported(code.names(move.path), name)]
        if path not in {move.target, *star_importers(code, move.target)}:
            made.lines.extend(f"from {_from(code, path, statement, move)} import {name}" for name in taken)
        return
    moved = [alias for alias in statement.names if alias.name in move.names]
    if not moved:
        return
    only = _is_only(names.source.tree, statement)
    if path == move.target:
        renamed = next((alias for alias in moved if alias.asname not in (None, alias.name)), None)
        if renamed:
            raise UsageError(f"{path}:{statement.lineno}: it imports {renamed.name} as {renamed.asname}.")
        made.splices.extend(drop_names(source, statement, moved, only))
        return
    written = _from(code, path, statement, move)
    if len(moved) == len(statement.names):
        start, end = source.span(statement)
        found = re.compile(r"from\s*([.\w \t]*?)\s+import\b").match(source.text, start, end)
        if found is None:
            raise UsageError(
                f"{path}:{statement.lineno}: this import is written in a way that is not understood."
            )
        made.splices.append(Splice(*found.span(1), f"{'' if found[0][4].isspace() else ' '}{written}"))
        return
    made.splices.extend(drop_names(source, statement, moved, only))
    lines = [f"from {written} import {source.cut(alias)}" for alias in moved]
    if scope.kind == "module" and statement in source.tree.body:
        made.lines.extend(lines)
        return
    assert statement.end_lineno
    start, at = source.line_start(statement.lineno), source.line_start(statement.end_lineno + 1)
    indent = source.text[start : start + statement.col_offset]
    made.splices.append(Splice(at, at, "".join(indent + line + source.newline for line in lines)))


def _from(code: Codebase, path: str, statement: ast.ImportFrom, move: MovedNames) -> str:
    """The target's name in the style of the statement: relative, or from the same root."""
    if statement.level:
        return code.modules.written(path, move.target)
    stem, parts = stem_of(move.path), len((statement.module or "").split("."))
    return code.modules.written(path, move.target, "/".join(stem.split("/")[:-parts]))


def _is_only(tree: ast.Module, statement: ast.stmt) -> bool:
    """Tell whether a statement is all that its block holds."""
    for node in ast.walk(tree):
        for part in ("body", "orelse", "finalbody"):
            if getattr(node, part, None) == [statement]:
                return node is not tree
    return False


# --- module.name -----------------------------------------------------------------------------

_Uses = Sequence[tuple[ast.Attribute, NameScope]]


def _use_plainly(code: Codebase, path: str, uses: _Uses, made: Rewritten) -> None:
    """`module.name` becomes `name`. Raises UsageError where that means something else."""
    source = code.source(path)
    for node, scope in uses:
        owner = find_owner(scope, node.attr)
        if owner and (owner.kind != "module" or path != _home(code, path, node, owner)):
            raise UsageError(f"{source.say(source.span(node)[0])}: {node.attr} means something else there.")
        made.splices.append(Splice(*source.span(node), node.attr))


def _home(code: Codebase, path: str, node: ast.Attribute, owner: NameScope) -> str:
    """The file itself, when all that it calls by this name it imports (and that import is rewritten)."""
    bound = [each for each in code.names(path).of(owner, node.attr) if each.how == "bind"]
    return path if all(isinstance(each.node, ast.alias) for each in bound) else ""


def _by_binding(code: Codebase, path: str, uses: _Uses) -> dict[Mention | None, _Uses]:
    """The uses of each import of the module; None: those of a name that several imports bind."""
    groups: dict[Mention | None, list[tuple[ast.Attribute, NameScope]]] = {}
    for node, scope in uses:
        bindings = code.bindings(path, _first(node).id, scope)
        groups.setdefault(bindings[0] if len(bindings) == 1 else None, []).append((node, scope))
    return dict(groups)


def _follow_module(
    code: Codebase, path: str, bound: Mention, uses: _Uses, move: MovedNames, made: Rewritten
) -> bool:
    """Let an import of the module name the target instead; False when it is used for other things, too."""
    first = {_first(node) for node, _ in uses}
    names, alias = code.names(path), bound.node
    reads = [each for each in names.of(bound.scope, bound.name) if each is not bound]
    if not isinstance(alias, ast.alias) or any(each.node not in first for each in reads):
        return False
    new = _new_module(code, path, alias, move)
    top = new.partition(".")[0]
    if not new or (
        not alias.asname and top != bound.name and any(each.name == top for each in names.mentions)
    ):
        return False
    source = code.source(path)
    start = source.span(alias)[0]
    made.splices.append(Splice(start, start + len(alias.name), new))
    if not alias.asname:
        made.splices.extend(Splice(*source.span(node.value), new) for node, _ in uses)
    return True


def _new_module(code: Codebase, path: str, alias: ast.alias, move: MovedNames) -> str:
    """The name that an alias must have to mean the target, "" when its statement cannot say that."""
    statement, stem = code.statement_of(path, alias), stem_of(move.target)
    if isinstance(statement, ast.ImportFrom):
        package = code.modules.imported(path, statement)
        return stem.rpartition("/")[2] if stem.rpartition("/")[0] == package else ""
    parts = len(alias.name.split("."))
    return code.modules.dotted(move.target, "/".join(stem_of(move.path).split("/")[:-parts]))


def _first(node: ast.expr) -> ast.Name:
    """The name that a row of attributes begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    assert isinstance(node, ast.Name)
    return node
