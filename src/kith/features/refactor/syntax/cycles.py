"""Which modules import which when they are loaded, and whether an import leads back to where it stands."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from kith.core.errors import UsageError
from kith.features.refactor.syntax.codebase import Codebase
from kith.features.refactor.syntax.source import read_source


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
