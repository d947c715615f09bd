"""What a piece of a module needs of that module: the imports it uses, and the definitions beside it."""

import ast
import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from posixpath import dirname

from kith.context.python_modules import Modules
from kith.core.errors import UsageError
from kith.features.refactor.syntax.blocks import Block
from kith.features.refactor.syntax.codebase import Codebase, exported, taken_by
from kith.features.refactor.syntax.scopes import Mention, Names, find_owner
from kith.features.refactor.syntax.statements import Import


@dataclass(frozen=True, slots=True)
class Needs:
    """The imports that a moved piece takes along, the names that stay behind, and what only it used."""

    imports: dict[str, ast.alias]
    stays: tuple[str, ...]
    leftover: tuple[ast.alias, ...]


def find_needs(code: Codebase, names: Names, blocks: Sequence[Block]) -> Needs:
    """Look at every name in the blocks. Raises UsageError for what cannot be taken elsewhere."""
    moved = {name for block in blocks for name in block.names}
    imports: dict[str, ast.alias] = {}
    stays: list[str] = []
    inside = [each for each in names.mentions if is_inside(each, names, blocks)]
    for each in inside:
        owner = find_owner(each.scope, each.name)
        if owner is None:
            _check_known(names, each)
        if owner is not names.module or each.name in moved:
            continue
        if each.how == "declare" or (each.how == "bind" and each.scope is not names.module):
            raise UsageError(
                f"{_say(names, each)}: it changes {each.name}, a variable of {names.source.path}."
            )
        aliases = [bound.node for bound in names.of(names.module, each.name) if bound.how == "bind"]
        if len(aliases) == 1 and isinstance(aliases[0], ast.alias):
            imports[each.name] = aliases[0]
        elif each.name not in stays:
            stays.append(each.name)
    return Needs(imports, tuple(stays), tuple(_leftover(code, names, blocks, imports)))


def _check_known(names: Names, mention: Mention) -> None:
    stars = any(
        isinstance(each, ast.ImportFrom) and each.names[0].name == "*" for each in names.source.tree.body
    )
    if stars and not hasattr(builtins, mention.name):
        raise UsageError(
            f"{_say(names, mention)}: {mention.name} comes from `import *`, nobody can say from which."
        )


def _leftover(
    code: Codebase, names: Names, blocks: Sequence[Block], imports: dict[str, ast.alias]
) -> list[ast.alias]:
    """The imports that nothing needs any more once the blocks are gone."""
    if names.source.path.endswith("__init__.py"):
        return []
    return [
        alias
        for name, alias in imports.items()
        if not any(
            each.how != "bind" and not is_inside(each, names, blocks) for each in names.of(names.module, name)
        )
        and name not in {each.value for each in exported(names)}
        and not taken_by(code, names.source.path, name)
    ]


def is_inside(mention: Mention, names: Names, blocks: Sequence[Block]) -> bool:
    """Whether a name stands in one of the blocks."""
    start = mention.start
    if start < 0:
        start = names.source.span(mention.node)[0]
    return any(block.holds(start) for block in blocks)


def _say(names: Names, mention: Mention) -> str:
    return f"{names.source.path}:{getattr(mention.node, 'lineno', 0)}"


def import_line(modules: Modules, path: str, statement: Import, alias: ast.alias, importer: str) -> str:
    """The import of one name, as `importer` has to write what stands in `path`."""
    name = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
    if isinstance(statement, ast.Import):
        return f"import {name}"
    if not statement.level:
        return f"from {statement.module} import {name}"
    folder = dirname(path)
    for _ in range(statement.level - 1):
        folder = dirname(folder)
    stem = "/".join(filter(None, [folder, (statement.module or "").replace(".", "/")]))
    return f"from {modules.written(importer, modules.file(stem) or f'{stem}.py')} import {name}"


def origin_of(code: Codebase, path: str, statement: Import, alias: ast.alias) -> tuple[str, str]:
    """Where an imported name comes from: a module (its stem, if it is the project's) and the name there."""
    if isinstance(statement, ast.Import):
        return alias.name if alias.asname else alias.name.partition(".")[0], ""
    outside = f"{'.' * statement.level}{statement.module or ''}"
    return code.modules.imported(path, statement) or outside, alias.name
