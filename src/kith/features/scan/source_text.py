"""Source text counted: its lines of code, comment and blank, and its tokens."""

import re
import zlib
from collections.abc import Callable
from posixpath import splitext
from typing import Final

from msgspec import Struct

from kith.context.source import (
    CPP_ENDINGS,
    DASHED,
    HASHED,
    MARKED_UP,
)
from kith.context.symbols import PYTHON_ENDINGS
from kith.core.patterns import lazy_pattern


def text_of(content: bytes) -> str:
    """A file's text, with each line ended by a newline alone."""
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")


class LineCount(Struct, frozen=True):
    """The lines of a text; what is neither blank nor comment is code, text in a docstring too."""

    lines: int = 0
    blank: int = 0
    comment: int = 0


_PLAIN: Final = frozenset({"JSON", "Jupyter", "Text", "reStructuredText"})
_BLANK: Final = lazy_pattern(r"^[ \t\r\f\v]*+$", re.M)
_LINE: Final = r"^[ \t]*+{}[^\n]*+"
_COMMENTS: Final = {
    **dict.fromkeys(HASHED.split(), lazy_pattern(_LINE.format(r"\#"), re.M)),
    **dict.fromkeys(DASHED, lazy_pattern(_LINE.format("--"), re.M)),
    **dict.fromkeys(MARKED_UP, lazy_pattern(r"^[ \t]*+<!--.*?(?:-->|\Z)", re.M | re.S)),
    **dict.fromkeys(("Clojure", "Lisp"), lazy_pattern(_LINE.format(";"), re.M)),
    **dict.fromkeys(("Erlang", "LaTeX"), lazy_pattern(_LINE.format("%"), re.M)),
    "Fortran": lazy_pattern(_LINE.format("!"), re.M),
    "OCaml": lazy_pattern(r"^[ \t]*+\(\*.*?(?:\*\)|\Z)", re.M | re.S),
    "Visual Basic": lazy_pattern(_LINE.format("'"), re.M),
}
_SLASHED: Final = lazy_pattern(r"^[ \t]*+(?://[^\n]*+|/\*.*?(?:\*/|\Z))", re.M | re.S)


def count_lines(language: str, text: str) -> LineCount:
    """Count the lines of a text by sort.

    Patterns decide: a line in a long string that looks like a comment counts as one.
    """
    if not text:
        return LineCount()
    whole = text.count("\n") + (not text.endswith("\n"))
    blank = sum(1 for _ in _BLANK.finditer(text)) - text.endswith("\n")
    if not language or language in _PLAIN:
        return LineCount(whole, blank, 0)
    found = _COMMENTS.get(language, _SLASHED).findall(text)
    comment = sum(1 + each.strip().count("\n") for each in found)
    inside = sum(len(_BLANK.findall(each)) for each in found if "\n" in each)
    return LineCount(whole, blank, min(comment - inside, whole - blank))


# Source text as tokens, without comments and white space: one scan, linear however the text is made.

# Possessive throughout, and what is not closed runs to the end of the text or line: nothing is read twice.
_TRIPLE: Final = r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"""|\Z)|' r"'''(?:[^'\\]++|\\.|'(?!''))*+(?:'''|\Z)"
_DOUBLE: Final = r'"(?:[^"\\\n]++|\\.)*+"?'
_SINGLE: Final = r"'(?:[^'\\\n]++|\\.)*+'?"
_LETTER: Final = r"'(?:[^'\\\n]|\\[^\n']++)'"  # in Rust a quote without an end is a lifetime
_BACK: Final = r"`(?:[^`\\]++|\\.)*+(?:`|\Z)"
_BLOCK: Final = r"/\*.*?(?:\*/|\Z)"
_PREFIXED: Final = rf"\w{{0,2}}(?:{_TRIPLE}|{_DOUBLE}|{_SINGLE})"
# Imports are alike everywhere, and copied by nobody: they count as comments do.
_IMPORT: Final = r"\n(?:from[ ]++[\w.]++[ ]++)?import\b[^\n(]*+(?:\([^)]*+\)?)?"
_INCLUDE: Final = r"\n[ \t]*+(?:\#[ \t]*+include|import|using|use|package)\b[^\n;{(]*+"


class Scanner(Struct, frozen=True):
    """The patterns of a family of languages: all tokens, what of them is skipped, and what is no code."""

    token: re.Pattern[str]
    skipped: re.Pattern[str]
    quiet: re.Pattern[str]


def _scanner(imports: str, comments: str, strings: str) -> Scanner:
    """The likeliest come first: half of all tokens are words, and most others a sign or a line break."""
    flags = re.M | re.S
    signs = r"[()\[\]{},.;@]|[-+*%&|^=<>!:]++"
    token = rf"[^\W\d]\w*+(?!['\"])|{imports}|\n|{comments}|{signs}|{strings}|\w++|[^\w\s]"
    skipped = f"{imports}|{comments}"
    return Scanner(*(re.compile(pattern, flags) for pattern in (token, skipped, f"{skipped}|{strings}")))


_C_COMMENT: Final = rf"//[^\n]*+|{_BLOCK}"
_PYTHON: Final = _scanner(_IMPORT, r"\#[^\n]*+", _PREFIXED)
_HASH: Final = _scanner(r"\n(?:require|source|use)\b[^\n]*+", r"\#[^\n]*+", f"{_DOUBLE}|{_SINGLE}")
_SLASH: Final = _scanner(_INCLUDE, _C_COMMENT, f"{_DOUBLE}|{_SINGLE}|{_BACK}")
_RUST: Final = _scanner(_INCLUDE, _C_COMMENT, f"{_DOUBLE}|{_LETTER}")

_BRACED = """
    .cjs .cs .cts .dart .go .groovy .java .js .jsx .kt .kts .m .mjs .mm .mts .php .rs .scala .svelte .swift
    .ts .tsx .vala .vue
"""


BRACED_ENDINGS: Final = frozenset(_BRACED.split()) | CPP_ENDINGS
_SCANNERS: Final = {
    **dict.fromkeys(BRACED_ENDINGS, _SLASH),
    **dict.fromkeys(PYTHON_ENDINGS, _PYTHON),
    **dict.fromkeys((".bash", ".jl", ".pl", ".pm", ".r", ".rb", ".sh", ".zsh"), _HASH),
    ".rs": _RUST,
}


class Tokens(Struct, frozen=True):
    """The tokens of a text as numbers, the same for the same word in every text, and the line of each."""

    ids: list[int]
    lines: list[int]


def tokenise(path: str, text: str) -> Tokens:
    """The tokens of a text; none for a language that is not known. About 1 ms for 10 kB."""
    scanner = _SCANNERS.get(splitext(path)[1].lower())
    ids: list[int] = []
    lines: list[int] = []
    if scanner is None:
        return Tokens(ids, lines)
    numbers, line = _Numbers(scanner.skipped.fullmatch), 0
    for token in scanner.token.findall(f"\n{text}"):  # an import is told by the line break before it
        number = numbers[token]
        if number > 1:
            ids.append(number)
            lines.append(line)
        if number & 1:
            line += token.count("\n")
    return Tokens(ids, lines)


class _Numbers(dict[str, int]):
    """The number of each token: odd where it holds a line break, at most 1 where it is skipped.

    All numerals are one: tables of numbers are no code that somebody copied.
    """

    def __init__(self, is_skipped: Callable[[str], object]) -> None:
        self._is_skipped = is_skipped

    def __missing__(self, token: str) -> int:
        number = int("\n" in token)
        if token[0].isdecimal():
            number += 2
        elif token[0].isalpha() or (token != "\n" and not self._is_skipped(token)):
            number += 2 * (2 + zlib.crc32(token.encode("utf-8", "surrogatepass")))
        self[token] = number
        return number


def blank_out(path: str, text: str) -> str:
    """A text without its strings, comments and imports; its line breaks stay."""
    scanner = _SCANNERS.get(splitext(path)[1].lower(), _SLASH)
    return scanner.quiet.sub(lambda match: "\n" * match[0].count("\n") + " ", f"\n{text}")[1:]
