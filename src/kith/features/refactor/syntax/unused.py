"""Find unused imports and private definitions, and remove the latter."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from typing import Final

from kith.core.errors import UsageError
from kith.features.refactor.syntax.blocks import cut_blocks, find_block
from kith.features.refactor.syntax.codebase import Codebase, Refactoring, exported, taken_by
from kith.features.refactor.syntax.import_statements import (
    OTHERS,
    OWN,
    Import,
    is_alone,
    lines_of,
    section_of,
)
from kith.features.refactor.syntax.scopes import ModuleNames
from kith.features.refactor.syntax.source import PythonSource, apply_splices

_KEEP: Final = re.compile(r"#.*\b(?:noqa|isort:\s*skip|type:\s*ignore|pragma|pylint)\b", re.I)
_REFLECTION: Final = frozenset({"eval", "exec", "globals", "locals", "vars", "__getattr__"})


def unused_imports(code: Codebase, path: str) -> list[tuple[Import, ast.alias, str]]:
    """The names imported at the top of a module that nothing uses, each with a doubt ("" for none)."""
    names = code.names(path)
    hands_on = path.rpartition("/")[2] in ("__init__.py", "conftest.py") or path.endswith(".pyi")
    if hands_on or _may_reflect(names):
        return []
    listed = {element.value for element in exported(names)}
    found: list[tuple[Import, ast.alias, str]] = []
    for statement, _ in removable(names.source):
        for alias in statement.names:
            bound = alias.asname or alias.name.partition(".")[0]
            if alias.name == "*" or alias.asname == alias.name or bound in listed:
                continue
            mentions = names.of(names.module, bound)
            if any(each.how != "bind" or not isinstance(each.node, ast.alias) for each in mentions):
                continue
            found.append((statement, alias, _doubt(code, path, statement, bound)))
    return found


def _doubt(code: Codebase, path: str, statement: Import, bound: str) -> str:
    """The reason why an import that nothing uses may still be wanted."""
    if bound in _words_in_strings(code.source(path)):
        return "a string or comment speaks of it"
    section = section_of(code.modules, path, statement)
    if isinstance(statement, ast.Import) and section in (OTHERS, OWN):
        return "importing it may be what it is for"
    names = code.names(path)
    if any(bound in scope.bound for scope in names.scopes.values() if scope.kind == "function"):
        return "a parameter or variable is called so, as with fixtures"
    taker = taken_by(code, path, bound)
    return f"{taker} takes it from here" if taker else ""


def _may_reflect(names: ModuleNames) -> bool:
    """Tell whether a module looks names up by their spelling, so that nothing is certainly unused."""
    return any(names.unknown(word) for word in _REFLECTION) or "__getattr__" in names.module.bound


def removable(source: PythonSource) -> Iterator[tuple[Import, bool]]:
    """The imports that may be dropped, and whether each is the only statement of its block."""
    for body in import_bodies(source):
        for statement in body:
            if isinstance(statement, ast.Import | ast.ImportFrom) and is_alone(source, statement):
                start, end = lines_of(source, statement)
                future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
                if not future and not _KEEP.search(source.text[start:end]):
                    yield statement, len(body) == 1 and body is not source.tree.body


def import_bodies(source: PythonSource) -> Iterator[list[ast.stmt]]:
    """The module's own statements, and those under `if TYPE_CHECKING`."""
    yield source.tree.body
    for statement in source.tree.body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test).endswith("TYPE_CHECKING"):
            yield statement.body


def _words_in_strings(source: PythonSource) -> set[str]:
    words: set[str] = set()
    for token in tokenize.generate_tokens(io.StringIO(source.text, newline="").readline):
        typed = token.type == tokenize.COMMENT and re.match(r"#\s*type:", token.string)
        if typed or token.type == tokenize.STRING or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            words |= set(re.findall(r"[^\W\d]\w*", token.string))
    return words


def unused_definitions(code: Codebase, path: str) -> list[tuple[str, ast.stmt]]:
    """The private functions and classes of a module (`_name`) that no Python file speaks of."""
    names = code.names(path)
    if _may_reflect(names):
        return []
    found: list[tuple[str, ast.stmt]] = []
    for statement in names.source.tree.body:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        name = statement.name
        private = name.startswith("_") and not name.endswith("__") and not statement.decorator_list
        if not private or len(names.of(names.module, name)) > 1 or list(code.holding(name)) != [path]:
            continue
        if name not in _words_in_strings(names.source):
            found.append((name, statement))
    return found


def remove(code: Codebase, path: str, name: str) -> Refactoring:
    """Take a definition away that nothing uses. Raises UsageError when something may."""
    names = code.names(path)
    block = find_block(names, name)
    uses = [each for each in names.of(names.module, name) if each.how != "bind"]
    if uses:
        raise UsageError(f"{path}:{getattr(uses[0].node, 'lineno', 0)}: {name} is used here.")
    if any(element.value == name for element in exported(names)):
        raise UsageError(f"{path}: {name} is in __all__, so others may use it.")
    others = [other for other in code.holding(name) if other != path]
    if others:
        raise UsageError(f"{others[0]} speaks of {name}.")
    source = names.source
    return Refactoring({path: apply_splices(source, cut_blocks(source, [block]))})
