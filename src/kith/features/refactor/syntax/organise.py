"""Organise imports: in groups, sorted, without what is certainly unused; comments stay with their import."""

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from kith.core.errors import UsageError
from kith.features.refactor.syntax.blocks import cut_blocks, find_block
from kith.features.refactor.syntax.codebase import Codebase, Refactoring, exported, taken_by
from kith.features.refactor.syntax.import_statements import (
    OTHERS,
    OWN,
    Import,
    drop_names,
    is_alone,
    lines_of,
    name_key,
    section_of,
    sort_key,
)
from kith.features.refactor.syntax.scopes import ModuleNames
from kith.features.refactor.syntax.source import PythonSource, Splice, apply_splices, read_source

# Find unused imports and private definitions, and remove the latter.


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


# Organise imports: in groups, sorted, without what is certainly unused; comments stay with their import.


_SKIP_FILE: Final = re.compile(
    r"#\s*(?:ruff:\s*)?(?:isort:\s*(?:skip_file|off)|noqa\b)|#\s*ruff:\s*noqa", re.I
)


class _Item(Struct, frozen=True):
    """One import of a block as text: its lines, with the comments above it that belong to it."""

    key: tuple[int, bool, int, str, str]
    text: str


def organise_imports(code: Codebase, paths: Sequence[str]) -> Refactoring:
    """Group, sort and clean the imports of some files.

    `code` must hold the files that may import from them: what another module takes from here stays. Raises
    UsageError for a file that does not parse.
    """
    made: dict[str, bytes | None] = {}
    notes: list[str] = []
    for path in paths:
        source = code.source(path)
        if any(_SKIP_FILE.match(comment.strip()) for comment in _whole_line_comments(source)):
            notes.append(f"{path} asks in a comment to be left alone.")
            continue
        content, doubts = _clean(code, path)
        content = _sort(code, path, content)
        notes += doubts
        if content != code.files[path]:
            made[path] = content
    return Refactoring(made, tuple(notes))


def _whole_line_comments(source: PythonSource) -> Iterator[str]:
    return (row for row in re.split(r"\r\n|\r|\n", source.text) if row.startswith("#"))


# --- what is not used ------------------------------------------------------------------------


def _clean(code: Codebase, path: str) -> tuple[bytes, list[str]]:
    """The file without its unused imports, and a sentence on each that stays for a doubt."""
    source, notes = code.source(path), list[str]()
    dead: dict[Import, list[ast.alias]] = {}
    for statement, alias, doubt in unused_imports(code, path):
        if doubt:
            bound = alias.asname or alias.name
            notes.append(f"{path}:{statement.lineno}: {bound} seems unused but stays, since {doubt}.")
        else:
            dead.setdefault(statement, []).append(alias)
    only = dict(removable(source))
    splices: list[Splice] = []
    for statement, aliases in dead.items():
        try:
            splices += drop_names(source, statement, aliases, only[statement])
        except UsageError as error:
            notes.append(str(error))
    return apply_splices(source, splices), notes


# --- order -----------------------------------------------------------------------------------


def _sort(code: Codebase, path: str, content: bytes) -> bytes:
    """The file with each run of imports sorted; names inside an import first, then the imports."""
    source = read_source(path, content)
    splices: list[Splice] = []
    for body in import_bodies(source):
        for statement in body:
            if isinstance(statement, ast.ImportFrom):
                splices += _sort_names(source, statement)
    source = read_source(path, apply_splices(source, splices))
    moved = [
        splice
        for body in import_bodies(source)
        for block in _blocks(source, body)
        for splice in _sort_block(code, source, block)
    ]
    return apply_splices(source, moved)


def _sort_names(source: PythonSource, statement: ast.ImportFrom) -> Iterator[Splice]:
    """Each name goes to the slot of another, so that the layout of the statement stays."""
    ordered = sorted(statement.names, key=lambda each: name_key(each.name))
    if "#" in source.cut(statement) or ordered == statement.names:
        return
    lines = {alias.lineno for alias in statement.names}
    if 1 < len(lines) < len(statement.names):
        yield _refill(source, statement, ordered)
        return
    for slot, alias in zip(statement.names, ordered, strict=True):
        yield Splice(*source.span(slot), source.cut(alias))


def _refill(source: PythonSource, statement: ast.ImportFrom, ordered: Sequence[ast.alias]) -> Splice:
    """Several names in each of several lines: refilled, as wide as they were."""
    start, end = source.span(statement.names[0])[0], source.span(statement.names[-1])[1]
    width = max(map(len, re.split(r"\r\n|\r|\n", source.text[start:end])[1:] or [""]))
    column = start - source.line_start(statement.names[0].lineno)
    second = next(alias for alias in statement.names if alias.lineno > statement.names[0].lineno)
    indent = source.text[source.line_start(second.lineno) : source.span(second)[0]]
    words = [f"{source.cut(alias)}".replace(" ", "\0") for alias in ordered]
    rows = textwrap.wrap(
        ", ".join(words),
        max(width, column + len(words[0])),
        initial_indent=" " * column,
        subsequent_indent=indent,
        break_long_words=False,
    )
    return Splice(start, end, source.newline.join(rows).lstrip(" ").replace("\0", " "))


def _blocks(source: PythonSource, body: Sequence[ast.stmt]) -> Iterator[list[Import]]:
    """Runs of imports with nothing between them but blank lines and comments."""
    block: list[Import] = []
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom) and is_alone(source, statement):
            block.append(statement)
            continue
        if block:
            yield block
        block = []
    if block:
        yield block


def _sort_block(code: Codebase, source: PythonSource, block: Sequence[Import]) -> Iterator[Splice]:
    """One splice for the run, none where a comment in it forbids or it is in order."""
    begin = _first_comment(source, block[0])
    end = lines_of(source, block[-1])[1]
    whole = source.text[begin:end]
    # Of two star imports the later one wins, so their order is meant.
    stars = any(alias.name == "*" for statement in block for alias in statement.names)
    if stars or re.search(r"#\s*isort:", whole):
        return
    items: list[_Item] = []
    at = begin
    for statement in block:
        after = lines_of(source, statement)[1]
        items += _items(code, source, statement, at)
        at = after
    newline, rows, section = source.newline, list[str](), -1
    for item in sorted(items, key=lambda each: each.key):
        if section not in (-1, item.key[0]):
            rows.append(newline)
        section = item.key[0]
        rows.append(item.text)
    sorted_text = "".join(rows)
    if not whole.endswith(("\n", "\r")):
        sorted_text = sorted_text.removesuffix(newline)
    if sorted_text != whole:
        yield Splice(begin, end, sorted_text)


def _first_comment(source: PythonSource, statement: Import) -> int:
    """The start of a run: the comment right above it, unless the file begins with that comment."""
    line = statement.lineno
    while line > 1 and source.text[source.line_start(line - 1) : source.line_start(line)].lstrip().startswith(
        "#"
    ):
        line -= 1
    return source.line_start(line if line > 1 else statement.lineno)


def _items(code: Codebase, source: PythonSource, statement: Import, at: int) -> Iterator[_Item]:
    """The statement with the comments above it; `import a, b` without a comment becomes two."""
    start, end = lines_of(source, statement)
    newline = source.newline
    above = "".join(
        row for row in re.findall(r".*?(?:\r\n|\r|\n)", source.text[at:start], re.S) if row.strip()
    )
    text = source.text[start:end]
    text = text if text.endswith(("\n", "\r")) else text + newline
    if isinstance(statement, ast.Import) and len(statement.names) > 1 and "#" not in text:
        indent = text[: len(text) - len(text.lstrip())]
        for alias in statement.names:
            single = ast.Import([alias])
            yield _Item(
                sort_key(code.modules, source.path, single),
                above + indent + f"import {source.cut(alias)}{newline}",
            )
            above = ""
        return
    yield _Item(sort_key(code.modules, source.path, statement), above + text)
