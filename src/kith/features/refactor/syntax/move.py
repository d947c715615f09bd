"""Move definitions to another module: with what belongs to them, and everybody who imports them follows."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from kith.context.python_modules import stem_of
from kith.core.errors import UsageError
from kith.features.refactor.syntax.blocks import Block, all_blocks, cut_blocks, find_block, insert_blocks
from kith.features.refactor.syntax.codebase import Codebase, Refactoring, exported, same_module
from kith.features.refactor.syntax.cycles import find_way, imported_files, imported_stems, loaded_with
from kith.features.refactor.syntax.exports import enlist, star_importers, unlist
from kith.features.refactor.syntax.importers import Move, Rewritten, rewrite_importer
from kith.features.refactor.syntax.needs import Needs, find_needs, import_line, is_inside, origin_of
from kith.features.refactor.syntax.scopes import Names
from kith.features.refactor.syntax.source import apply_splices, read_source
from kith.features.refactor.syntax.statements import add_import, drop_names

Files = dict[str, bytes]


def move(code: Codebase, path: str, wanted: Sequence[str], target: str) -> Refactoring:
    """Move definitions from the top of `path` to `target`; with none wanted, all of it, and the file goes.

    Decorators, the comments above, and the imports they need go along; whoever imports them is rewritten.
    `code` must hold every Python file. Raises UsageError with one sentence: no such definition, a name that
    is taken, something that cannot be taken along, or imports that would lead in a circle.
    """
    if not target.endswith(".py"):
        raise UsageError(f"{target} is no Python file; write PATH:NAME TARGET.py.")
    if target == path:
        raise UsageError(f"{path} is where it stands already.")
    code = code if target in code.files else _with_new(code, target)
    names = code.names(path)
    blocks = [find_block(names, name) for name in wanted] if wanted else all_blocks(names)
    if not blocks:
        raise UsageError(f"{path} defines nothing that could be moved.")
    blocks = sorted(blocks, key=lambda block: block.start)
    going = Move(path, target, frozenset(name for block in blocks for name in block.names))
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


def _with_new(code: Codebase, target: str) -> Codebase:
    return Codebase.of({**code.files, target: b""}, code.modules.paths | {target})


def _check_target(code: Codebase, going: Move) -> None:
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


def _rewrite_others(code: Codebase, going: Move) -> Files:
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


def _leave_source(code: Codebase, names: Names, blocks: Sequence[Block], needs: Needs, going: Move) -> bytes:
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


def _is_used(names: Names, blocks: Sequence[Block], name: str) -> bool:
    mentions = names.of(names.module, name)
    return any(each.how in ("read", "text") and not is_inside(each, names, blocks) for each in mentions)


# --- where it goes ---------------------------------------------------------------------------


def _fill_target(
    code: Codebase,
    names: Names,
    blocks: Sequence[Block],
    needs: Needs,
    going: Move,
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


def _import_lines(code: Codebase, own: Names, needs: Needs, going: Move) -> Iterator[str]:
    """What the target must import for the blocks. Raises UsageError for a name that is taken there."""
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


def _has(code: Codebase, own: Names, name: str, origin: tuple[str, str], path: str) -> bool:
    """Whether a file has a name from that origin. Raises UsageError when it has it from elsewhere."""
    target = own.source.path
    for mention in own.of(own.module, name):
        alias = mention.node
        if mention.how not in ("bind", "delete"):
            continue
        if not isinstance(alias, ast.alias) or origin != origin_of(
            code, target, code.statement_of(target, alias), alias
        ):
            raise UsageError(f"{target} calls something else {name} than {path} does.")
    return name in own.module.bound


# --- circles ---------------------------------------------------------------------------------


def _check_circles(code: Codebase, made: Mapping[str, bytes], going: Move) -> None:
    """Raises UsageError when a new import leads back to the file that it stands in."""
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
