"""HTML and Markdown around foreign text, which is escaped or quoted, so that nothing in it acts."""

import re
from collections.abc import Iterable
from html import escape
from typing import Final

from kith.view.printing import printable

_ODD: Final = re.compile(r"[^\n\t\x20-\x7e]+")
_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta"})
# A block of code that stands in no list, what stands between two marks, and what begins a tag or a picture.
_MARKS: Final = re.compile("`+")
_BLOCK: Final = r"^(?P<fence>`{3,}+|~{3,}+)[^\n`]*+\n(?s:.*?)(?:^[ ]{0,3}(?P=fence)|\Z)"
_LIVE: Final = r"<(?=[a-zA-Z/!?])|!(?=\[)"
_BLOCKS: Final = re.compile(_BLOCK, re.MULTILINE)
_BESIDE_BLOCKS: Final = re.compile(f"(?P<code>{_BLOCK})|{_LIVE}", re.MULTILINE)
_BESIDE_CODE: Final = re.compile(f"(?P<code>{_BLOCK}|`[^`\\n]*`)|{_LIVE}", re.MULTILINE)
Attribute = str | int | float | bool | None


class Html(str):
    """Markup of ours. Joined or formatted with anything else it is a plain `str` again, hence foreign."""

    __slots__ = ()


NOTHING: Final = Html("")


def text(foreign: str) -> Html:
    """Foreign text as a text node: nothing in it acts, moves or hides."""
    return Html(escape(visible(foreign)))


def visible(foreign: str) -> str:
    """Do what `printable` does, quickly: most text is plain."""
    return _ODD.sub(lambda odd: printable(odd[0]), foreign)


def element(name: str, /, *children: str, **attributes: Attribute) -> Html:
    """`<name attributes>children</name>`; a child that is no Html is foreign text.

    `class_` is written class, `data_post` data-post. True stands for an attribute without a value; None and
    False leave it out.
    """
    told = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{told}>")
    return Html(f"<{name}{told}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Html:
    """Several pieces as one; those that are no Html are foreign text."""
    return Html("".join(child if isinstance(child, Html) else text(child) for child in children))


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'


# --- Markdown --------------------------------------------------------------------------------


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
