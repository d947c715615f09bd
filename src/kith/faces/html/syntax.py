"""The colours of code: where in a text which kind of word stands, if pygments is there to tell."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Any, Final

Token = tuple[int, int, str]  # from, to (characters), and a class of review.css

# Only well-known languages: asking pygments for any file name at all loads much and takes long.
_LANGUAGES: Final = {
    "py": "python",
    "pyi": "python",
    "c": "c",
    "h": "cpp",
    **dict.fromkeys(("cc", "cpp", "cxx", "hh", "hpp", "hxx"), "cpp"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript"),
    **dict.fromkeys(("ts", "tsx"), "typescript"),
    **dict.fromkeys(("sh", "bash", "zsh"), "bash"),
    **dict.fromkeys(("yml", "yaml"), "yaml"),
    **dict.fromkeys(("htm", "html"), "html"),
    **{name: name for name in ("java", "json", "toml", "css", "sql", "go", "lua", "swift", "scala", "ini")},
    "rs": "rust",
    "rb": "ruby",
    "kt": "kotlin",
    "cs": "csharp",
    "cmake": "cmake",
}
_CLASSES: Final = (("Comment", "t-c"), ("Keyword", "t-k"), ("String", "t-s"), ("Number", "t-n"))
_DEFINES: Final = ("Name.Function", "Name.Class", "Name.Tag", "Name.Decorator")
_DOCSTRING: Final = '"""'
_LONGEST: Final = 1_000  # characters of a line; beyond it a text was written by no person
_MOST: Final = 20_000  # characters of a text
_LONG: Final = re.compile(rf"[^\n]{{{_LONGEST}}}")


def colour_lines(lines: Sequence[str], path: str) -> list[list[Token]]:
    """The coloured words of each line, in order; none in a language that is not known, or too long a text."""
    found: list[list[Token]] = [[] for _ in lines]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    number = 0
    for begin, end, name in _tokens("\n".join(lines), path):
        while starts[number + 1] <= begin:
            number += 1
        for at in range(number, len(lines)):  # a comment may go over several lines
            if starts[at] >= end:
                break
            left, right = max(begin - starts[at], 0), min(end - starts[at], len(lines[at]))
            if left < right:
                found[at].append((left, right, name))
    return found


def _tokens(text: str, path: str) -> list[Token]:
    language = _LANGUAGES.get(PurePosixPath(path).suffix[1:].lower(), "")
    lexer = _lexer(language) if language and len(text) <= _MOST and not _LONG.search(text) else None
    if lexer is None:
        return []
    found = list(_read(lexer, text))
    if language == "python" and text.count(_DOCSTRING) % 2:
        # A part of a file may begin inside a docstring: right is the reading that finds more code.
        found = max(found, list(_read(lexer, _DOCSTRING + text, len(_DOCSTRING))), key=_count_code)
    return found


def _read(lexer: Any, text: str, before: int = 0) -> Iterator[Token]:
    """The tokens of a text; its first characters (`before`) are not counted."""
    for at, kind, word in lexer.get_tokens_unprocessed(text):
        name = _class_of(kind)
        if name and word.strip():
            yield max(at - before, 0), at - before + len(word), name


def _count_code(tokens: Sequence[Token]) -> int:
    return sum(name in ("t-k", "t-f") for _, _, name in tokens)


@cache
def _lexer(language: str) -> Any:
    try:
        lexers = import_module("pygments.lexers")
    except ModuleNotFoundError:
        return None
    return lexers.get_lexer_by_name(language)


@cache
def _class_of(kind: Any) -> str:
    """The class for pygments' kind of token, which is called `Token.Name.Function`."""
    name = str(kind).removeprefix("Token.")
    if name.startswith(_DEFINES):
        return "t-f"
    parts = name.split(".")
    return next((name for word, name in _CLASSES if word in parts), "")
