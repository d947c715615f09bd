"""Make the parser of Markdown that the terminal and the page share: CommonMark with tables and strikethrough.

The text comes from a model, so HTML stays text, and what is nested too deeply stays words: markdown-it itself
would leave it out. Names such as `__init__` keep their underscores, `<br>` ends a line, and a line without
`|` ends a table.
"""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

DEEPEST: Final = 16  # levels of quotes and lists; an item is two of them, and markdown-it's own limit is 20
_NAME: Final = re.compile(r"__\w{1,60}?__(?!\w)")
_SCHEMES: Final = ("<http://", "<https://", "<mailto:")  # but not those of `vector<std::string>`
_BREAKS: Final = ("<br>", "<br/>", "<br />")


def make_parser() -> "MarkdownIt":
    """A parser of its own, so that rules can be added to it."""
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import blockquote, list_block
    from markdown_it.rules_inline import autolink

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])

    def limited_quote(state: "StateBlock", line: int, end: int, silent: bool) -> bool:
        return state.level < DEEPEST and blockquote(state, line, end, silent)

    def limited_list(state: "StateBlock", line: int, end: int, silent: bool) -> bool:
        return state.level < DEEPEST and list_block(state, line, end, silent)

    def known_autolink(state: "StateInline", silent: bool) -> bool:
        return state.src.startswith(_SCHEMES, state.pos) and autolink(state, silent)

    parser.block.ruler.at("blockquote", limited_quote, {"alt": ["paragraph", "blockquote", "list"]})
    parser.block.ruler.at("list", limited_list, {"alt": ["paragraph", "blockquote"]})
    parser.block.ruler.before("table", "table_end", _ends_table, {"alt": ["blockquote"]})
    parser.inline.ruler.before("emphasis", "name", _take_name)
    parser.inline.ruler.at("autolink", known_autolink)
    parser.inline.ruler.before("autolink", "break", _take_break)
    return parser


def _ends_table(state: "StateBlock", line: int, end: int, silent: bool) -> bool:
    """Stop a table at a line of words; every table asks the rules that end a quote."""
    if not silent or state.parentType != "table":
        return False
    return "|" not in state.src[state.bMarks[line] : state.eMarks[line]]


def _take_name(state: "StateInline", silent: bool) -> bool:
    at = state.pos
    if state.src[at] != "_" or (at and (state.src[at - 1].isalnum() or state.src[at - 1] == "_")):
        return False
    name = _NAME.match(state.src, at, state.posMax)
    if name is None:
        return False
    if not silent:
        state.pending += name[0]
    state.pos = name.end()
    return True


def _take_break(state: "StateInline", silent: bool) -> bool:
    found = next((tag for tag in _BREAKS if state.src.startswith(tag, state.pos)), None)
    if found is None:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos += len(found)
    return True
