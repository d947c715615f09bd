"""Move definitions to another module: with what belongs to them, and everybody who imports them follows."""

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from posixpath import dirname

from msgspec import Struct

from kith.context.python_modules import Modules, stem_of
from kith.core.errors import UsageError
from kith.features.refactor.syntax.blocks import (
    DefinitionBlock,
    all_blocks,
    cut_blocks,
    find_block,
    insert_blocks,
)
from kith.features.refactor.syntax.codebase import (
    Codebase,
    Refactoring,
    enlist,
    exported,
    same_module,
    star_importers,
    taken_by,
    unlist,
)
from kith.features.refactor.syntax.import_statements import Import, add_import, drop_names
from kith.features.refactor.syntax.importers import MovedNames, Rewritten, rewrite_importer
from kith.features.refactor.syntax.scopes import Mention, ModuleNames, find_owner
from kith.features.refactor.syntax.source import apply_splices, read_source


class MovedNeeds(Struct, frozen=True):
    """The imports that a moved piece takes along, the names that stay behind, and what only it used."""

    imports: dict[str, ast.alias]
    stays: tuple[str, ...]
    leftover: tuple[ast.alias, ...]


def find_needs(code: Codebase, names: ModuleNames, blocks: Sequence[DefinitionBlock]) -> MovedNeeds:
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
    return MovedNeeds(imports, tuple(stays), tuple(_leftover(code, names, blocks, imports)))


def _check_known(names: ModuleNames, mention: Mention) -> None:
    stars = any(
        isinstance(each, ast.ImportFrom) and each.names[0].name == "*" for each in names.source.tree.body
    )
    if stars and not hasattr(builtins, mention.name):
        raise UsageError(f"{_say(names, mention)}: {mention.name} comes from an unknown `import *`.")


def _leftover(
    code: Codebase, names: ModuleNames, blocks: Sequence[DefinitionBlock], imports: dict[str, ast.alias]
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


def is_inside(mention: Mention, names: ModuleNames, blocks: Sequence[DefinitionBlock]) -> bool:
    """True if a name is in one of the blocks."""
    start = mention.start
    if start < 0:
        start = names.source.span(mention.node)[0]
    return any(block.holds(start) for block in blocks)


def _say(names: ModuleNames, mention: Mention) -> str:
    return f"{names.source.path}:{getattr(mention.node, 'lineno', 0)}"


def import_line(modules: Modules, path: str, statement: Import, alias: ast.alias, importer: str) -> str:
    """The import of one name of `path`, as `importer` has to write it."""
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
    """The origin of an imported name: a module (its stem, if it is the project's) and the name there."""
    if isinstance(statement, ast.Import):
        return alias.name if alias.asname else alias.name.partition(".")[0], ""
    outside = f"{'.' * statement.level}{statement.module or ''}"
    return code.modules.imported(path, statement) or outside, alias.name


# --- circles of imports ----------------------------------------------------------------------


def find_way(code: Codebase, start: str, goal: str, made: Mapping[str, bytes]) -> list[str]:
    """The files on the way by which loading `start` loads `goal`, [] when there is none.

    `made` holds files as they become; the others are as they are.
    """
    way: dict[str, str] = {start: ""}
    todo = [start]
    while todo:
        path = todo.pop(0)
        for other in imported_files(code, path, made.get(path, code.files.get(path, b""))):
            if other in way:
                continue
            way[other] = path
            if other == goal:
                return _trace(way, other)
            todo.append(other)
    return []


def _trace(way: Mapping[str, str], last: str) -> list[str]:
    found = [last]
    while way[found[-1]]:
        found.append(way[found[-1]])
    return found[::-1]


def imported_files(code: Codebase, path: str, content: bytes) -> Iterator[str]:
    """The project's files that a file imports as soon as it is loaded."""
    for stem in imported_stems(code, path, content):
        yield from loaded_with(code, path, stem)


def imported_stems(code: Codebase, path: str, content: bytes) -> Iterator[str]:
    """The modules of the project that a file names in imports that run when it is loaded."""
    try:
        body = read_source(path, content).tree.body
    except UsageError:  # nothing is known of what it imports
        return
    for statement in _loaded(body):
        if isinstance(statement, ast.Import):
            stems = [code.modules.find(path, alias.name) for alias in statement.names]
        else:
            package = code.modules.imported(path, statement)
            inner = [code.modules.inside(package, alias.name) for alias in statement.names] if package else []
            stems = [package, *inner] if not all(map(code.modules.file, inner)) else inner
        yield from filter(None, stems)


def loaded_with(code: Codebase, path: str, stem: str) -> Iterator[str]:
    """The file of a module, and the packages around it that are not being loaded already."""
    parts = stem.split("/")
    for length in range(1, len(parts) + 1):
        file, package = code.modules.file("/".join(parts[:length])), "/".join(parts[:length])
        if file and file != path and not (length < len(parts) and path.startswith(f"{package}/")):
            yield file


def _loaded(body: Sequence[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when a module is loaded."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif isinstance(statement, ast.If) and ast.unparse(statement.test).endswith("TYPE_CHECKING"):
            yield from _loaded(statement.orelse)
        elif isinstance(statement, ast.If | ast.Try | ast.With | ast.ClassDef | ast.For | ast.While):
            for part in ("body", "orelse", "finalbody"):
                yield from _loaded(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _loaded(handler.body)


# --- the move --------------------------------------------------------------------------------


Files = dict[str, bytes]


def move(code: Codebase, path: str, wanted: Sequence[str], target: str) -> Refactoring:
    """Move definitions from the top of `path` to `target`; with none wanted, all of it, and the file goes.

    Decorators, the comments above, and the imports they need go along; their importers are rewritten.
    `code` must hold every Python file. Raises UsageError when there is no such definition, or the name is
    taken. It also does for what cannot be taken along, and for imports that would lead in a circle.
    """
    if not target.endswith(".py"):
        raise UsageError(f"{target} is no Python file; write PATH:NAME TARGET.py.")
    if target == path:
        raise UsageError(f"{path} is already its place.")
    if target not in code.files:
        code = Codebase.of({**code.files, target: b""}, code.modules.paths | {target})
    names = code.names(path)
    blocks = [find_block(names, name) for name in wanted] if wanted else all_blocks(names)
    if not blocks:
        raise UsageError(f"{path} defines nothing that could be moved.")
    blocks = sorted(blocks, key=lambda block: block.start)
    going = MovedNames(path, target, frozenset(name for block in blocks for name in block.names))
    _check_target(code, going)
    needs = find_needs(code, names, blocks)
    made = _rewrite_others(code, going)
    made[target] = _fill_target(code, names, blocks, needs, going, made)
    if wanted:
        made[path] = _leave_source(code, names, blocks, needs, going)
    _check_circles(code, made, going)
    changed: dict[str, bytes | None] = {each: text for each, text in made.items() if text != code.files[each]}
    if not wanted:
        _check_gone(code, made, path)
        changed[path] = None
    return Refactoring(changed)


def _check_target(code: Codebase, going: MovedNames) -> None:
    """Raises UsageError when the target has one of the names, and not from where it comes."""
    names = code.names(going.target)
    for name in sorted(going.names & names.module.bound if isinstance(going.names, frozenset) else ()):
        for mention in names.of(names.module, name):
            alias = mention.node
            if mention.how != "bind":
                continue
            statement = code.statement_of(going.target, alias) if isinstance(alias, ast.alias) else None
            here = isinstance(statement, ast.ImportFrom) and same_module(
                code.modules, code.modules.imported(going.target, statement), going.path
            )
            if not here:
                line = getattr(alias, "lineno", 0)
                raise UsageError(f"{going.target}:{line}: {name} is already a name there.")


# --- the other files -------------------------------------------------------------------------


def _rewrite_others(code: Codebase, going: MovedNames) -> Files:
    made: Files = {}
    holding = {path for name in going.names for path in code.holding(name)}
    for path in sorted((holding | star_importers(code, going.path)) - {going.path}):
        rewritten = rewrite_importer(code, path, going)
        content = _apply(code, path, rewritten)
        if content != code.files[path]:
            made[path] = content
    return made


def _apply(code: Codebase, path: str, rewritten: Rewritten) -> bytes:
    content = apply_splices(code.source(path), rewritten.splices)
    return _add_imports(code, path, content, rewritten.lines)


def _add_imports(code: Codebase, path: str, content: bytes, lines: Sequence[str]) -> bytes:
    """The file with more imports, one after the other, each where it belongs."""
    for line in dict.fromkeys(lines):
        source = read_source(path, content)
        content = apply_splices(source, [add_import(source, code.modules, line)])
    return content


# --- where it was ----------------------------------------------------------------------------


def _leave_source(
    code: Codebase,
    names: ModuleNames,
    blocks: Sequence[DefinitionBlock],
    needs: MovedNeeds,
    going: MovedNames,
) -> bytes:
    """The file without the blocks; what it still uses of them it imports."""
    source = names.source
    splices = list(cut_blocks(source, blocks))
    dead: dict[ast.Import | ast.ImportFrom, list[ast.alias]] = {}
    for alias in needs.leftover:
        dead.setdefault(code.statement_of(going.path, alias), []).append(alias)
    for statement, aliases in dead.items():
        if statement in source.tree.body and "#" not in source.cut(statement):
            splices += drop_names(source, statement, aliases, only=False)
    splices += unlist(names, going.names)
    content = apply_splices(source, splices)
    used = [name for name in sorted(going.names) if _is_used(names, blocks, name)]
    written = code.modules.written(going.path, going.target) if used else ""
    if used and needs.stays:
        raise UsageError(
            f"{going.path} still uses {used[0]}, which uses {needs.stays[0]} of it: "
            f"move both, or neither ({','.join([*sorted(going.names), needs.stays[0]])})."
        )
    return _add_imports(code, going.path, content, [f"from {written} import {name}" for name in used])


def _is_used(names: ModuleNames, blocks: Sequence[DefinitionBlock], name: str) -> bool:
    mentions = names.of(names.module, name)
    return any(each.how in ("read", "text") and not is_inside(each, names, blocks) for each in mentions)


# --- where it goes ---------------------------------------------------------------------------


def _fill_target(
    code: Codebase,
    names: ModuleNames,
    blocks: Sequence[DefinitionBlock],
    needs: MovedNeeds,
    going: MovedNames,
    made: Mapping[str, bytes],
) -> bytes:
    """The target with the blocks, their imports, and their places in its `__all__`."""
    target, own = going.target, code.names(going.target)
    content = made.get(target, code.files[target])
    content = _add_imports(code, target, content, list(_import_lines(code, own, needs, going)))
    listed = [str(each.value) for each in exported(names) if each.value in going.names]
    content = enlist(target, content, listed)
    # Who loads this module may need the names as early as it had them until now.
    early = bool(set(going.names) & own.module.bound) or target in star_importers(code, going.path)
    return insert_blocks(read_source(target, content), names.source.text, blocks, early=early)


def _import_lines(code: Codebase, own: ModuleNames, needs: MovedNeeds, going: MovedNames) -> Iterator[str]:
    """List what the target must import for the blocks. Raises UsageError for a name that is taken there."""
    for name, alias in needs.imports.items():
        statement = code.statement_of(going.path, alias)
        if statement not in code.source(going.path).tree.body:
            where = f"{going.path}:{statement.lineno}"
            raise UsageError(f"{where}: {name} is imported under a condition; move it by hand.")
        origin = origin_of(code, going.path, statement, alias)
        if origin[0] != stem_of(going.target) and not _has(code, own, name, origin, going.path):
            yield import_line(code.modules, going.path, statement, alias, going.target)
    for name in needs.stays:
        if not _has(code, own, name, (stem_of(going.path), name), going.path):
            yield f"from {code.modules.written(going.target, going.path)} import {name}"


def _has(code: Codebase, own: ModuleNames, name: str, origin: tuple[str, str], path: str) -> bool:
    """Tell whether a file has a name from that origin. Raises UsageError when it has it from elsewhere."""
    target = own.source.path
    for mention in own.of(own.module, name):
        alias = mention.node
        if mention.how not in ("bind", "delete"):
            continue
        if not isinstance(alias, ast.alias) or origin != origin_of(
            code, target, code.statement_of(target, alias), alias
        ):
            raise UsageError(f"{name} means something else in {target} than in {path}.")
    return name in own.module.bound


# --- circles ---------------------------------------------------------------------------------


def _check_circles(code: Codebase, made: Mapping[str, bytes], going: MovedNames) -> None:
    """Raises UsageError when a new import leads back to its own file."""
    for path, content in made.items():
        # An import of the target that was there already may stand further down than the one that joins it.
        known = set(imported_stems(code, path, code.files[path])) - {stem_of(going.target)}
        new = set(imported_stems(code, path, content)) - known
        for other in sorted({file for stem in new for file in loaded_with(code, path, stem)}):
            way = find_way(code, other, path, made)
            if way:
                around = f" by way of {', '.join(way[1:-1])}" if way[1:-1] else ""
                raise UsageError(
                    f"{path} would have to import {other}, which imports it back{around}: "
                    f"moving {', '.join(sorted(going.names)[:3])} there makes a circle."
                )


def _check_gone(code: Codebase, made: Mapping[str, bytes], path: str) -> None:
    """Raises UsageError when a file still imports the module that goes."""
    word = path.rpartition("/")[2].removesuffix(".py")
    for other in code.holding(word):
        if other == path:
            continue
        content = made.get(other, code.files[other])
        if path in imported_files(code, other, content):
            raise UsageError(
                f"{other} still needs {path} itself, so it cannot go; move its definitions by name."
            )
