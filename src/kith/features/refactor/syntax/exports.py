"""`__all__` and star imports: what a module hands on without being asked for it by name."""

import ast
from collections.abc import Collection, Iterator, Sequence

from kith.features.refactor.syntax.codebase import Codebase, exported, same_module
from kith.features.refactor.syntax.scopes import Names, bind_names
from kith.features.refactor.syntax.source import Splice, apply_splices, read_source
from kith.features.refactor.syntax.statements import drop_items


def star_importers(code: Codebase, path: str) -> set[str]:
    """The files that import everything from a module."""
    return {
        other
        for other, content in code.files.items()
        if b"import *" in content and path in _starred(code, other)
    }


def _starred(code: Codebase, path: str) -> Iterator[str]:
    for statement, _ in code.imports(path):
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            file = code.modules.file(code.modules.imported(path, statement) or "?")
            if same_module(code.modules, code.modules.imported(path, statement), file):
                yield file


def unlist(names: Names, gone: Collection[str]) -> Iterator[Splice]:
    """Take names out of a module's `__all__`, whatever stands in it beside them."""
    elements = exported(names)
    dead = [each for each in elements if each.value in gone]
    if not dead:
        return
    source = names.source
    if len(dead) == len(elements):
        yield Splice(source.span(elements[0])[0], source.span(elements[-1])[1], "")
        return
    yield from drop_items(source, elements, dead)
    kept = [each for each in elements if each not in dead]
    end = source.span(elements[-1])[1]
    if len(kept) == 1 and source.text[end:].lstrip().startswith(")"):
        yield Splice(end, end, ",")  # or a tuple of one name would become that name


def enlist(path: str, content: bytes, new: Sequence[str]) -> bytes:
    """Put names into the `__all__` of a module that has one, in the layout of its last element."""
    names = bind_names(read_source(path, content))
    elements = exported(names)
    if not elements or not new:
        return content
    source = names.source
    start, end = source.span(elements[-1])
    quote, line = source.text[start], source.line_start(source.line_of(start))
    alone = not source.text[line:start].strip()
    between = f",{source.newline}{source.text[line:start]}" if alone else ", "
    return apply_splices(
        source, [Splice(end, end, "".join(f"{between}{quote}{name}{quote}" for name in new))]
    )
