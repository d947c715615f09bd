"""Foreign words on a forge draw nothing, whatever they are."""

import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kith.features.forges.texts import block, code, plain

PIECES = st.sampled_from(
    ["<b>", "](x)", "[a", "![", "`", "``", "*", "_a_", "@ada", "#1", "https://e.x", "\\", "&lt;", "\n", " "]
)
WORDS = st.lists(PIECES | st.text(max_size=3)).map("".join)
PLAIN = {"text", "text_special", "softbreak", "strong_open", "strong_close"}


@given(WORDS)
def test_plain_words_are_only_text(words: str) -> None:
    (_, inline, *_) = MarkdownIt().parse(f"**error**: {plain(words)}")
    assert {each.type for each in inline.children or ()} <= PLAIN
    shown = "".join(each.content for each in inline.children or ())
    assert not re.search(r"[@#]\w|://", shown)


@given(WORDS)
def test_code_in_a_line_is_one_span(words: str) -> None:
    inline = next(each for each in MarkdownIt().parse(f"In {code(f'x{words}')}: text") if each.children)
    assert [each.type for each in inline.children or ()] == ["text", "code_inline", "text"]


@given(WORDS)
def test_nothing_ends_a_block_early(words: str) -> None:
    parsed = MarkdownIt().parse(f"{block('text', words)}\n\nafter")
    assert [each.type for each in parsed] == ["fence", "paragraph_open", "inline", "paragraph_close"]
