"""One file as the index of a project knows it: what it defines and which names it uses."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from posixpath import splitext
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.context.rank_files import kind_of
from kith.context.symbols import Sort, Symbol, find_symbols
from kith.context.task_words import stems_of
from kith.core.patterns import lazy_pattern

# What a source text defines, each with the line that declares it, as an index keeps it.

_LONGEST: Final = 160  # characters of a signature
_HEAD_LINES: Final = 8  # that one may take
_ABOVE: Final = lazy_pattern(
    r"\s*(?:@|#\[|#\s|//|/\*|\*)"
)  # what may stand there first: decorators, comments
_PARTS: Final = lazy_pattern(r"::|\.")


class Definition(Struct, frozen=True):
    """The definition of a name: `Cache.get` in a file, its lines (from 1, inclusive), its head."""

    path: str
    name: str
    sort: Sort
    first: int
    last: int
    signature: str


class SymbolReferences(Struct, frozen=True):
    """The places of a name: its definitions (else similar names), and the files that use it.

    `users` are paths with the number of times, the most first.
    """

    definitions: tuple[Definition, ...] = ()
    near: tuple[str, ...] = ()
    users: tuple[tuple[str, int], ...] = ()


def find_definitions(path: str, text: str) -> tuple[Definition, ...]:
    """The definitions in a text, in order of their first line. Lines end with a line feed only."""
    lines = text.split("\n")
    return tuple(
        Definition(path, each.name, each.sort, each.first, each.last, _signature(lines, each))
        for each in find_symbols(path, text)
    )


def last_part(name: str) -> str:
    """The name itself, without what encloses it: `Cache.get`, `ns::Cache::get` -> `get`."""
    return _PARTS.split(name)[-1]


def choose_named(definitions: Sequence[Definition], name: str) -> tuple[Definition, ...]:
    """The definitions of a name: spelled so, else in other letter case; `Cache.get` by the end of theirs.

    The part in front may be more than a definition's name (a module): then the last part decides.
    """
    for wanted in (name, last_part(name)):
        for fold in (str, str.lower):
            fitting = tuple(each for each in definitions if _ends_with(fold(each.name), fold(wanted)))
            if fitting:
                return fitting
    return ()


def _ends_with(name: str, asked: str) -> bool:
    """True if `asked` is the end of a name, part by part; `::` and `.` are the same."""
    parts, wanted = _PARTS.split(name), _PARTS.split(asked)
    return parts[-len(wanted) :] == wanted


def _signature(lines: Sequence[str], symbol: Symbol) -> str:
    """The head of a definition on one line: from the line that names it to where its body begins."""
    name, span = last_part(symbol.name), lines[symbol.first - 1 : symbol.last]
    begin = next((at for at, line in enumerate(span) if name in line and not _ABOVE.match(line)), 0)
    head = list[str]()
    for line in span[begin : begin + _HEAD_LINES]:
        head.append(line.strip()[:_LONGEST])
        if line.rstrip().endswith((":", "{", ";", "}")) or _closed("".join(head)):
            break
    text = " ".join(head).replace("( ", "(").replace(", )", ")")
    if symbol.sort != "constant":
        text = text.rstrip(" {:")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _closed(text: str) -> bool:
    """True if no bracket in the text is still open."""
    return all(text.count(left) <= text.count(right) for left, right in ("()", "[]", "{}"))


# Which names a source text uses: its identifiers, those in comments and plain strings left out.

_NAME = r"([^\W\d]\w++)(?![\"'])"  # a name of one letter tells nothing; a quote makes it a prefix
# A string may lack its end: then it ends with its line, and a long one with the text.
_DOUBLE = r'"(?:\\.|[^"\\\n])*"?'
_SINGLE = r"'(?:\\.|[^'\\\n])*'?"
_LONG_DOUBLE = r'"{3}(?:[^"\\]|\\.|"(?!""))*(?:"{3})?'
_LONG_SINGLE = r"'{3}(?:[^'\\]|\\.|'(?!''))*(?:'{3})?"
_CHARACTER = r"'(?:\\[^'\n]{1,10}|[^'\\\n])'"  # only one: a lifetime or a group of digits opens no string
_FORMATTED = rf"\b[rR]?[fFtT][rR]?({_LONG_DOUBLE}|{_LONG_SINGLE}|{_DOUBLE}|{_SINGLE})"
_BLOCK_COMMENT, _LINE_COMMENT, _HASH = r"/\*(?:[^*]|\*(?!/))*(?:\*/)?", r"//[^\n]*", r"#[^\n]*"


def _pattern(*left_out: str) -> re.Pattern[str]:
    """Build a pattern that matches skipped text, or else a name; it skips everything between.

    It matches everywhere, if only one character or the end: a long gap is then passed once.
    """
    return re.compile(rf"(?>[^\w\"'#/]*)(?:{_NAME}|{'|'.join(left_out)}|.|\Z)", re.DOTALL)


_PYTHON: Final = _pattern(_HASH, _FORMATTED, _LONG_DOUBLE, _LONG_SINGLE, _DOUBLE, _SINGLE)
_HASHED: Final = _pattern(_HASH, _DOUBLE, _SINGLE)
_SCRIPT: Final = _pattern(_LINE_COMMENT, _BLOCK_COMMENT, _DOUBLE, _SINGLE)
_CURLY: Final = _pattern(_LINE_COMMENT, _BLOCK_COMMENT, _DOUBLE, _CHARACTER)
_FAMILIES: Final = {
    **dict.fromkeys((".py", ".pyi", ".pyw", ".pyx"), _PYTHON),
    **dict.fromkeys((".bash", ".cmake", ".jl", ".pl", ".pm", ".r", ".rb", ".sh", ".zsh"), _HASHED),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".php", ".vue", ".svelte"), _SCRIPT),
}
_INSERTED: Final = lazy_pattern(r"\{([^{}]+)")  # what a formatted string holds of code


def find_references(path: str, text: str) -> Counter[str]:
    """Count how often a text uses each name, its own definitions included.

    One pass of a regular expression, about 20 MB/s. The file's ending decides the syntax of strings and
    comments. In languages with a subtler syntax, a few names are wrong.
    """
    pattern = _FAMILIES.get(splitext(path)[1].lower(), _CURLY)
    if pattern is not _PYTHON:
        return Counter(filter(None, pattern.findall(text)))
    names = list[str]()
    for name, formatted in pattern.findall(text):
        if name:
            names.append(name)
        elif formatted:
            for code in _INSERTED.findall(formatted):
                names += filter(None, _CURLY.findall(code))
    return Counter(names)


_HASH_SAID: Final = lazy_pattern(rf"{_HASH}|{_LONG_DOUBLE}|{_LONG_SINGLE}|{_DOUBLE}|{_SINGLE}", re.DOTALL)
_SCRIPT_SAID: Final = lazy_pattern(rf"{_LINE_COMMENT}|{_BLOCK_COMMENT}|{_DOUBLE}|{_SINGLE}", re.DOTALL)
_CURLY_SAID: Final = lazy_pattern(rf"{_LINE_COMMENT}|{_BLOCK_COMMENT}|{_DOUBLE}|{_CHARACTER}", re.DOTALL)
_SAID: Final = {_PYTHON: _HASH_SAID, _HASHED: _HASH_SAID, _SCRIPT: _SCRIPT_SAID, _CURLY: _CURLY_SAID}
_WORD: Final = lazy_pattern(r"[^\W\d]\w+")


def find_said(path: str, text: str) -> Counter[str]:
    """Count each word in a text's comments and strings."""
    family = _FAMILIES.get(splitext(path)[1].lower(), _CURLY)
    return Counter(word for each in _SAID[family].findall(text) for word in _WORD.findall(each))


LARGEST: Final = 500_000  # bytes of a file that is looked into
_WIDEST: Final = 300  # bytes of an average line; beyond it nobody wrote the file by hand
_MADE_NAME: Final = lazy_pattern(r"[.-]min\.(?:js|mjs|css)$|_pb2(?:_grpc)?\.pyi?$|\.pb\.(?:cc|h|go)$", re.I)
_MADE: Final = lazy_pattern(rb"@generated\b|\bDO NOT EDIT\b|\bautomatically generated\b", re.I)
_HEAD: Final = 600  # bytes in which a file says that a program wrote it


class Outline(Struct, frozen=True):
    """The outline of a file: digest, number of lines, definitions and references.

    `words` are the stems of the names it uses, in the spelling of a task's, each 1 + log2(times) times, and
    `said` those of its comments and strings: what a search by words looks through.
    """

    path: str
    digest: bytes
    lines: int
    definitions: tuple[Definition, ...] = ()
    references: Mapping[str, int] = field(default_factory=dict)
    words: str = ""
    said: str = ""


def outline(path: str, data: bytes) -> Outline:
    """Look at one file. Pure; a secret, or what no person wrote as code, is counted and not looked into."""
    if not is_readable(path, data):
        return count_only(path, data)
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    counted, references = count_only(path, data), find_references(path, text)
    return replace(
        counted,
        definitions=find_definitions(path, text),
        references=references,
        words=" ".join(_stems(references)),
        said=" ".join(_stems(find_said(path, text))),
    )


def _stems(names: Mapping[str, int]) -> Iterator[str]:
    counts = Counter[str]()
    for name, count in names.items():
        for stem in stems_of(name):
            counts[stem] += count
    for stem, count in sorted(counts.items()):
        yield from repeat(stem, count.bit_length())


def outline_all(files: Iterable[tuple[str, bytes]]) -> list[Outline]:
    """Look at several files."""
    return [outline(path, data) for path, data in files]


def count_only(path: str, data: bytes) -> Outline:
    """The digest and the lines of a file; what is not text has none."""
    lines = 0 if b"\0" in data else data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
    return Outline(path, digest_of(data), lines)


def unread(path: str) -> Outline:
    """Return the outline of a file that is too large to open."""
    return Outline(path, b"", 0)


def is_readable(path: str, data: bytes) -> bool:
    """True if a file is source code that a person wrote: not secret, data, binary, minified or generated."""
    if kind_of(path) not in ("source", "test") or len(data) > LARGEST or b"\0" in data:
        return False
    minified = len(data) > _WIDEST * (data.count(b"\n") + 1)
    return not (minified or _MADE_NAME.search(path) or _MADE.search(data[:_HEAD]))


def digest_of(data: bytes) -> bytes:
    """Return the digest of a content: half of its SHA-256."""
    return hashlib.sha256(data).digest()[:16]
