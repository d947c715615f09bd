"""What others wrote, inside Markdown of kith's own: nothing in it ends the place where it stands."""

import re
from typing import Final

_MARKS: Final = re.compile("`+")


def quoted(words: str) -> str:
    """As a quotation: headings and rules in it stay inside."""
    return "\n".join(f"> {line}".rstrip() for line in words.splitlines())


def fenced(words: str, language: str = "") -> str:
    """In a fence that is longer than any within the words."""
    marks = "`" * max(3, _longest(words) + 1)
    return f"{marks}{language}\n{words.rstrip()}\n{marks}"


def coded(words: str) -> str:
    """As code within a line."""
    marks = "`" * (_longest(words) + 1)
    return f"{marks} {' '.join(words.split())} {marks}"


def _longest(words: str) -> int:
    return max(map(len, _MARKS.findall(words)), default=0)
