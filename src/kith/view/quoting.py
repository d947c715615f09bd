"""What others wrote, inside Markdown of kith's own: nothing in it ends the place where it stands."""

import re
from typing import Final

_MARKS: Final = re.compile("`+")
# A block of code that stands in no list, what stands between two marks, and what begins a tag or a picture.
_BLOCK: Final = r"^(?P<fence>`{3,}+|~{3,}+)[^\n`]*+\n(?s:.*?)(?:^[ ]{0,3}(?P=fence)|\Z)"
_LIVE: Final = r"<(?=[a-zA-Z/!?])|!(?=\[)"
_BLOCKS: Final = re.compile(_BLOCK, re.MULTILINE)
_BESIDE_BLOCKS: Final = re.compile(f"(?P<code>{_BLOCK})|{_LIVE}", re.MULTILINE)
_BESIDE_CODE: Final = re.compile(f"(?P<code>{_BLOCK}|`[^`\\n]*`)|{_LIVE}", re.MULTILINE)


def quoted(words: str) -> str:
    """As a quotation: headings and rules in it stay inside, tags and pictures are only read."""
    return "\n".join(f"> {line}".rstrip() for line in _inert(words).splitlines())


def _inert(words: str) -> str:
    """Markdown that loads nothing and runs nothing, wherever it is shown; its code stays as it is.

    Which marks belong together differs from reader to reader, unless each line has pairs of them.
    """
    lines = _BLOCKS.sub("", words).replace("\\`", "``").split("\n")
    paired = all(line.count("`") % 2 == 0 and "``" not in line for line in lines)
    live = _BESIDE_CODE if paired else _BESIDE_BLOCKS
    return live.sub(lambda found: found["code"] or f"\\{found[0]}", words)


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
