"""HTML from values: whatever is not markup of ours is escaped, and made visible first."""

import re
from collections.abc import Iterable
from html import escape
from typing import Final

from kith.view.printing import printable

_ODD: Final = re.compile(r"[^\n\t\x20-\x7e]+")
_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta"})
Attribute = str | int | float | bool | None


class Html(str):
    """Markup of ours. Joined or formatted with anything else it is a plain `str` again, hence foreign."""

    __slots__ = ()


def text(foreign: str) -> Html:
    """Foreign text as a text node: nothing in it acts, moves or hides."""
    return Html(escape(visible(foreign)))


def visible(foreign: str) -> str:
    """What `printable` gives, quickly: most text is plain."""
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


NOTHING: Final = Html("")
