"""All that a scan keeps of one file, found in one look at its content and written down as text."""

import ast
import json
import re
from posixpath import splitext
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import astuple

from kith.context.imports import find_imports, imports_of_module
from kith.context.outline import is_readable
from kith.context.source import language_of
from kith.context.symbols import PYTHON_ENDINGS, parse_python
from kith.features.scan.complexity import FunctionMeasures, functions, measure_module
from kith.features.scan.duplicates import Prints, choose_prints
from kith.features.scan.entries import MANIFESTS, EntryPoint, find_entries, is_main_module
from kith.features.scan.source_text import count_lines, text_of, tokenise

LARGEST_READ: Final = 5_000_000  # bytes; of larger files the name and the size are all that is known
SHARED_TOKENS: Final = 100  # tokens that two places share for certain to be found; half of it may be
LIMIT: Final = 10  # the cyclomatic complexity that McCabe advised not to exceed
_KEPT: Final = 5  # functions of one file
_WORTH_KEEPING: Final = 6  # their cyclomatic complexity
_TYPE: Final = re.compile(
    r"^[ \t]*+(?:(?:export|default|declare|pub(?:\([^)\n]*\))?|public|private|protected|internal|static|final"
    r"|abstract|sealed|data|open|typedef|unsafe)[ \t]++)*+"
    r"(?:class|struct|union|enum|interface|trait|record|object|type)[ \t]++[A-Za-z_]\w*+[^;\n]*+$",
    re.M,
)


class FileFacts(Struct, frozen=True):
    """The facts of one file.

    `complexity` is the sum over its functions; `above` LIMIT are so many; `worst` are the most complex few.

    `binary` files and those over LARGEST_READ have no lines. Of data, minified and generated files only the
    lines are counted.
    """

    language: str
    lines: int = 0
    blank: int = 0
    comment: int = 0
    binary: bool = False
    functions: int = 0
    types: int = 0
    complexity: int = 0
    above: int = 0
    worst: tuple[FunctionMeasures, ...] = ()
    imports: tuple[str, ...] = ()
    entries: tuple[EntryPoint, ...] = ()


def unread_facts(path: str) -> FileFacts:
    """The facts of a file that is too large to be read."""
    return FileFacts(language_of(path))


def find_facts(path: str, data: bytes) -> tuple[FileFacts, Prints]:
    """Look at one file. Linear in its size; nothing that it holds makes this raise."""
    if b"\0" in data:
        return FileFacts("", binary=True), Prints()
    text = text_of(data)
    language = language_of(path, text[: text.find("\n") + 1])
    count = count_lines(language, text)
    lines = (language, count.lines, count.blank, count.comment)
    if not is_readable(path, data):
        known = path.rpartition("/")[2] in MANIFESTS and len(data) < 500_000
        names = find_imports(path, text) if path.endswith("go.mod") else ()
        return FileFacts(*lines, imports=names, entries=find_entries(path, text) if known else ()), Prints()
    prints = choose_prints(tokenise(path, text), SHARED_TOKENS)
    python = splitext(path)[1].lower() in PYTHON_ENDINGS
    tree = parse_python(text) if python else None
    if tree is not None:
        return _python_facts(path, text, lines, tree), prints
    measured, types = functions(path, text), 0 if python else len(_TYPE.findall(text))
    imports, entries = find_imports(path, text), find_entries(path, text)
    return _facts(lines, measured, types, imports, entries), prints


def _python_facts(path: str, text: str, lines: tuple[str, int, int, int], tree: ast.Module) -> FileFacts:
    types = sum(isinstance(node, ast.ClassDef) for node in tree.body)
    entries = (EntryPoint("main", "__main__", path),) if is_main_module(path, tree) else ()
    return _facts(lines, measure_module(tree), types, imports_of_module(tree, text), entries)


def _facts(
    lines: tuple[str, int, int, int],
    measured: tuple[FunctionMeasures, ...],
    types: int,
    imports: tuple[str, ...],
    entries: tuple[EntryPoint, ...],
) -> FileFacts:
    worst = sorted(measured, key=lambda each: (-each.cyclomatic, each.first))[:_KEPT]
    return FileFacts(
        *lines,
        functions=len(measured),
        types=types,
        complexity=sum(each.cyclomatic for each in measured),
        above=sum(each.cyclomatic > LIMIT for each in measured),
        worst=tuple(each for each in worst if each.cyclomatic >= _WORTH_KEEPING),
        imports=imports,
        entries=entries,
    )


# --- written down ------------------------------------------------------------------------------


def write_facts(facts: FileFacts) -> str:
    """Facts as one line of JSON: a list in the order of the fields."""
    *plain, worst, imports, entries = astuple(facts)
    told = [*plain, [*map(astuple, worst)], imports, [*map(astuple, entries)]]
    return json.dumps(told, separators=(",", ":"))


def read_facts(text: str) -> FileFacts:
    """The facts that `write_facts` wrote. Raises ValueError, TypeError for anything else."""
    *plain, worst, imports, entries = json.loads(text)
    functions, ways_in = [FunctionMeasures(*each) for each in worst], [EntryPoint(*each) for each in entries]
    return FileFacts(*plain, tuple(functions), tuple(imports), tuple(ways_in))  # type: ignore[call-arg]


def write_prints(prints: Prints) -> bytes:
    """Prints as the bytes of their arrays, one after the other; read on the same machine only."""
    return b"".join(each.tobytes() for each in (prints.hashes, prints.at, prints.first, prints.last))


def read_prints(data: bytes) -> Prints:
    """The prints that `write_prints` wrote. Raises ValueError for anything else."""
    prints = Prints()
    number = len(data) // (prints.hashes.itemsize + 3 * prints.at.itemsize)
    begin = 0
    for part in (prints.hashes, prints.at, prints.first, prints.last):
        size = number * part.itemsize
        part.frombytes(data[begin : begin + size])
        begin += size
    return prints


# Keep what a scan found out, under a name, until what it rests on changes.


class ScanCache(Protocol):
    """A store of texts from one scan to the next."""

    def note(self, name: str) -> str: ...

    def write_note(self, name: str, text: str) -> None: ...


def recall(notes: ScanCache, name: str, rests_on: str) -> Any:
    """Read what was kept under a name, as JSON data; None if it rests on something else or is unreadable."""
    try:
        kept = json.loads(notes.note(name) or "null")
    except ValueError:
        return None
    return kept.get("told") if isinstance(kept, dict) and kept.get("rests_on") == rests_on else None


def keep(notes: ScanCache, name: str, rests_on: str, told: Any) -> None:
    """Keep JSON data under a name, and what it rests on."""
    notes.write_note(name, json.dumps({"rests_on": rests_on, "told": told}))
