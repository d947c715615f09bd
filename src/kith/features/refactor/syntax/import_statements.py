"""Import statements as text: dropping names from them, adding names to them, and where a new one belongs."""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from kith.context.python_modules import Modules
from kith.core.errors import UsageError
from kith.features.refactor.syntax.source import PythonSource, Splice

Import = ast.Import | ast.ImportFrom
WIDTH: Final = 88  # columns that an import may grow to on one line
FUTURE, STANDARD, OTHERS, OWN, RELATIVE = range(5)
_BLANK: Final = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|\Z)")


def section_of(modules: Modules, path: str, statement: Import) -> int:
    """The group of imports that a statement belongs to."""
    if isinstance(statement, ast.ImportFrom) and statement.level:
        return RELATIVE
    name = (statement.module or "") if isinstance(statement, ast.ImportFrom) else statement.names[0].name
    top = name.partition(".")[0]
    if top == "__future__":
        return FUTURE
    if modules.find(path, top):
        return OWN
    return STANDARD if top in sys.stdlib_module_names else OTHERS


def sort_key(modules: Modules, path: str, statement: Import) -> tuple[int, bool, int, str, str]:
    """The order of imports: by group, `import x` before `from x`, the farthest relative first, by name."""
    section = section_of(modules, path, statement)
    if isinstance(statement, ast.ImportFrom):
        name = statement.module or ""
        return section, True, -statement.level, name.lower(), name
    return section, False, 0, statement.names[0].name.lower(), statement.names[0].name


def name_key(name: str) -> tuple[int, str, str]:
    """The order of names in one import: CONSTANTS, Classes, the rest."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name.lower(), name


def is_alone(source: PythonSource, statement: ast.stmt) -> bool:
    """Tell whether a statement has its lines for itself, but for a comment behind it."""
    start, end = source.span(statement)
    before = source.text[source.line_start(statement.lineno) : start]
    return not before.strip() and _BLANK.match(source.text, end) is not None


def lines_of(source: PythonSource, statement: ast.stmt) -> tuple[int, int]:
    """The offsets of a statement's whole lines. Raises UsageError when it shares them."""
    if not is_alone(source, statement):
        raise UsageError(f"{source.path}:{statement.lineno}: several statements are on one line.")
    assert statement.end_lineno
    return source.line_start(statement.lineno), source.line_start(statement.end_lineno + 1)


def drop_names(
    source: PythonSource, statement: Import, dead: Sequence[ast.alias], only: bool
) -> list[Splice]:
    """Take names out of an import; with the last one it goes, and `pass` remains where it was the `only` one.

    Raises UsageError when there are comments between the names inside the statement.
    """
    if len(dead) == len(statement.names):
        if only:
            return [Splice(*source.span(statement), "pass")]
        start, end = lines_of(source, statement)
        return [Splice(start, _over_gap(source, start, end), "")]
    if "#" in source.cut(statement):
        raise UsageError(f"{source.path}:{statement.lineno}: there are comments between the imported names.")
    return list(drop_items(source, statement.names, dead))


def _over_gap(source: PythonSource, start: int, end: int) -> int:
    """The end of a cut: of the blank lines around it, one gap remains."""
    if not source.text[:start].strip():
        blank = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*").match(source.text, end)
        return blank.end() if blank else end
    line = source.line_of(start)
    above = source.text[source.line_start(line - 1) : start] if line > 1 else "\n"
    below = re.compile(r"[ \t]*(?:\r\n|\r|\n)").match(source.text, end)
    return below.end() if below and not above.strip() else end


def drop_items(source: PythonSource, items: Sequence[ast.AST], dead: Sequence[ast.AST]) -> Iterator[Splice]:
    """Take some, not all, of the items of a comma separated row out of it."""
    kept = False
    for number, item in enumerate(items):
        if item not in dead:
            kept = True
        elif kept:
            yield Splice(source.span(items[number - 1])[1], source.span(item)[1], "")
        else:
            yield Splice(source.span(item)[0], source.span(items[number + 1])[0], "")


def add_import(source: PythonSource, modules: Modules, line: str) -> Splice:
    """Join `from x import y` or `import x` to a file's imports; `line` holds one name."""
    new = ast.parse(line).body[0]
    assert isinstance(new, ast.Import | ast.ImportFrom)
    header = list(header_imports(source))
    if isinstance(new, ast.ImportFrom):
        for statement in header:
            if isinstance(statement, ast.ImportFrom) and _same(statement, new):
                joined = _join(source, statement, line.rpartition(" import ")[2])
                if joined:
                    return joined
    return _own_line(source, modules, header, new, line)


def _own_line(
    source: PythonSource, modules: Modules, header: Sequence[Import], new: Import, line: str
) -> Splice:
    """A line of its own, in its group, or as a new group between the others."""
    end = source.newline
    if not header:
        at = after_docstring(source)
        above = end if at and not source.text[:at].endswith(("\n\n", "\r\n\r\n")) else ""
        rest = source.text[at:]
        long = re.match(r"(?:@|class\b|def\b|async\b)", rest)
        return Splice(at, at, above + line + end + (end * (2 if long else 1) if rest.strip() else ""))
    key = sort_key(modules, source.path, new)
    alike = [each for each in header if section_of(modules, source.path, each) == key[0]]
    earlier = [each for each in alike or header if sort_key(modules, source.path, each) <= key]
    gap = "" if alike else end
    if not earlier:
        at = lines_of(source, (alike or header)[0])[0]
        return Splice(at, at, line + end + gap)
    at = lines_of(source, earlier[-1])[1]
    ended = "" if source.text[:at].endswith(("\n", "\r")) else end
    return Splice(at, at, ended + gap + line + end + (gap if _line_at(source, at).strip() else ""))


def _line_at(source: PythonSource, offset: int) -> str:
    return source.text[offset : source.line_start(source.line_of(offset) + 1)]


def _same(one: ast.ImportFrom, other: ast.ImportFrom) -> bool:
    return (one.module, one.level) == (other.module, other.level) and one.names[0].name != "*"


def _join(source: PythonSource, statement: ast.ImportFrom, name: str) -> Splice | None:
    """The name, put into an import that is there; None where it has no room or holds comments."""
    text, names = source.cut(statement), statement.names
    if "#" in text or not is_alone(source, statement):
        return None
    plain = name.partition(" ")[0]
    later = next((each for each in names if name_key(each.name) > name_key(plain)), None)
    if statement.lineno == statement.end_lineno:
        row = _line_at(source, source.span(statement)[0]).rstrip()
        if len(row) + len(name) + 2 > WIDTH:
            return None
        at = source.span(later)[0] if later else source.span(names[-1])[1]
        return Splice(at, at, f"{name}, " if later else f", {name}")
    first = source.span(names[0])[0]
    indent = source.text[source.line_start(names[0].lineno) : first]
    between = source.newline + indent if not indent.strip() else " "
    at = source.span(later)[0] if later else source.span(names[-1])[1]
    return Splice(at, at, f"{name},{between}" if later else f",{between}{name}")


def header_imports(source: PythonSource) -> Iterator[Import]:
    """The imports at the top of a module, up to the first other statement."""
    for number, statement in enumerate(source.tree.body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif number or not is_docstring(statement):
            return


def is_docstring(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def after_docstring(source: PythonSource) -> int:
    """The offset of the line after the docstring, or after the comments that a file begins with."""
    body = source.tree.body
    if body and is_docstring(body[0]):
        return lines_of(source, body[0])[1]
    at = 0
    while (found := _BLANK.match(source.text, at)) and found.end() > at and found[0].lstrip().startswith("#"):
        at = found.end()
    return at
