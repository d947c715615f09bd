"""The colours of code on a page: where in a text which kind of word stands, if pygments is there to tell."""

from collections.abc import Iterator, Sequence
from typing import Final

from kith.terminal.rendering import code
from kith.terminal.rendering.spans import Line

Token = tuple[int, int, str]  # from, to (characters), and a class of review.css

_CLASSES: Final = {
    "code.comment": "t-c",
    "code.keyword": "t-k",
    "code.string": "t-s",
    "code.number": "t-n",
    "code.name": "t-f",
}
_LONGEST: Final = 1_000  # characters of a line; beyond it a text was written by no person
_MOST: Final = 20_000  # characters of a text


def colour_lines(lines: Sequence[str], path: str) -> list[list[Token]]:
    """The coloured words of each line, in order; none in a language that is not known, or too long a text."""
    language = code.language_of(path)
    sizes = [len(line) for line in lines]
    if not language or sum(sizes) > _MOST or max(sizes, default=0) > _LONGEST:
        return [[] for _ in lines]
    return [list(_tokens(line)) for line in code.colour_lines(lines, language)]


def _tokens(line: Line) -> Iterator[Token]:
    at = 0
    for text, role in line:
        end = at + len(text)
        if role in _CLASSES and text.strip():
            yield at, end, _CLASSES[role]
        at = end
