"""Render a model's Markdown as HTML without scripts, styles or forms."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from kith.terminal.rendering.parser import make_parser
from kith.view.markup import Html, element, visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

MOST: Final = 60_000  # characters: more than that is shown as it was written
_SCHEMES: Final = ("http", "https", "mailto")
_LINK: Final = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"language-[A-Za-z0-9_+#-]{1,24}")
_TAGS: Final = (
    *("a", "blockquote", "br", "code", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s"),
    *("span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
)
_ATTRIBUTES: Final = {"a": {"href"}, "code": {"class"}, "ol": {"start"}, "span": {"class"}}


@lru_cache(maxsize=1_024)
def render_markdown(words: str) -> Html:
    """Markdown as paragraphs, lists, tables, code and links.

    No HTML in it counts, no image is loaded, and each link shows where it leads. Long texts are not read as
    Markdown. Needs the extra `web`.
    """
    if len(words) > MOST:
        return element("div", words, class_="plain")
    return _clean(_parser().render(visible(words)))


@cache
def _parser() -> "MarkdownIt":
    parser = make_parser()
    parser.core.ruler.push("kith", _tame)
    return parser


def _clean(html: str) -> Html:
    """The second door: only these elements and attributes are left, whatever the first one let through."""
    import nh3

    cleaned = nh3.clean(
        html,
        tags=set(_TAGS),
        attributes={name: set(allowed) for name, allowed in _ATTRIBUTES.items()},
        attribute_filter=_filter,
        url_schemes=set(_SCHEMES),
        link_rel="noreferrer noopener",
    )
    return Html(visible(cleaned))  # once more: an entity such as &#x202e; has become its character by now


def _filter(tag: str, name: str, value: str) -> str | None:
    """Attributes that stay: a code's language, an address's class, links that leave, a list's start."""
    if name == "class":
        return value if _LANGUAGE.fullmatch(value) or (tag, value) == ("span", "address") else None
    if name == "href":
        return value if _LINK.match(value) else None
    if name == "rel":  # set by nh3 itself
        return value
    return value if value.isascii() and value.isdecimal() else None


def _tame(state: "StateCore") -> None:
    """Headings below those of the page, images as links, and the address behind every link."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
        if token.children:
            token.children = list(_tamed(token.children))


def _tamed(tokens: Sequence["Token"]) -> "list[Token]":
    found: list[Token] = []
    opened: list[tuple[int, str]] = []  # where each open link stands in `found`, and its address
    for token in tokens:
        if token.type == "image":
            found += _image(token)
        elif token.type == "link_open":
            opened.append((len(found), str(token.attrGet("href") or "")))
            found.append(token)
        elif token.type == "link_close" and opened:
            found = _closed(found, token, *opened.pop())
        else:
            found.append(token)
    return found


def _closed(found: "list[Token]", close: "Token", begin: int, address: str) -> "list[Token]":
    """A link that is whole: one that leads nowhere we allow becomes its words and its address."""
    words = "".join(token.content for token in found[begin + 1 :])
    shown = [] if words.strip() == address else _address(address)
    if _LINK.match(address):
        return [*found, close, *shown]
    return [*found[:begin], *found[begin + 1 :], *shown]


def _image(token: "Token") -> "list[Token]":
    """An image as the words that stand for it, and its address: nothing is loaded."""
    from markdown_it.token import Token

    address = str(token.attrGet("src") or "")
    words = Token("text", "", 0, content=f"[image: {token.content}]")
    if not _LINK.match(address):
        return [words, *_address(address)]
    open, close = Token("link_open", "a", 1, attrs={"href": address}), Token("link_close", "a", -1)
    return [open, words, close, *_address(address)]


def _address(address: str) -> "list[Token]":
    from markdown_it.token import Token

    attrs: dict[str, Any] = {"class": "address"}
    words = Token("text", "", 0, content=f" <{address}>")
    return [Token("span_open", "span", 1, attrs=attrs), words, Token("span_close", "span", -1)]
