"""What models write is read as Markdown, and can do nothing but be read."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.features.web.html.markdown import MOST, render_markdown
from kith.view.markup import Html, element, text
from kith.view.printing import printable
from paper import read_page

ALLOWED = {
    *(
        "a",
        "blockquote",
        "br",
        "code",
        "div",
        "em",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "li",
        "ol",
        "p",
        "page",
        "pre",
    ),
    *("s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
PIECES = st.sampled_from(
    (
        *("[a](", "![", "](", ")", "<", ">", "&#x202e;", "&lt;", "javascript:", "http://x.y/", "mailto:a@b"),
        *(
            "`",
            "```",
            "\n",
            "\n\n",
            "# ",
            "- ",
            "1. ",
            "|",
            "|-|",
            "**",
            "_",
            "~~",
            "\\",
            "\u202e",
            "\x00",
            "é",
        ),
        *(
            "<img src=x>",
            "<http://x.y>",
            "[b]: http://x.y 'on'\n",
            "[b]",
            "://",
            "//x.y",
            " onload=x ",
            "data:",
        ),
    )
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200))
def test_nothing_but_plain_elements_comes_out(words: str) -> None:
    for node in read_page(render_markdown(words)):
        assert node.tag in ALLOWED
        assert set(node.attributes) <= {"href", "rel", "class", "start"}
        if node.tag == "a":
            assert re.match("(https?://|mailto:)", node.attributes["href"] or "")
            assert node.attributes["rel"] == "noreferrer noopener"
        assert all(printable(child) == child for child in node.children if isinstance(child, str))


def test_a_link_shows_where_it_leads() -> None:
    page = read_page(render_markdown("[bank](http://аpple.example/) and <https://x.example/y>"))
    assert page.text.strip() == "bank <http://xn--pple-43d.example/> and https://x.example/y"


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "docs/x.md", "//x.y"]
)
def test_a_link_elsewhere_is_words_and_an_address(address: str) -> None:
    page = read_page(render_markdown(f"[click]({address})"))
    assert not [node for node in page if node.tag == "a"] and address in page.text and "click" in page.text


def test_an_image_is_never_loaded() -> None:
    page = read_page(render_markdown("![a cat](http://x.example/cat.png)"))
    assert not [node for node in page if node.tag == "img"]
    assert page.text.strip() == "[image: a cat] <http://x.example/cat.png>"


def test_code_keeps_its_language_and_its_signs() -> None:
    page = read_page(render_markdown('```py onload="x"\nif a < b: print("</code>")\n```'))
    code = next(node for node in page if node.tag == "code")
    assert code.attributes == {"class": "language-py"} and code.text == 'if a < b: print("</code>")\n'
    assert "class" not in render_markdown('```"><b>\nx\n```').partition("pre")[2].partition("x")[0]


def test_headings_stand_below_those_of_the_page() -> None:
    tags = [node.tag for node in read_page(render_markdown("# a\n\n### b\n\n###### c"))]
    assert [tag for tag in tags if tag.startswith("h")] == ["h3", "h5", "h6"]


def test_an_entity_hides_nothing_either() -> None:
    assert "\\u202e" in render_markdown("a &#x202e; b") and "\u202e" not in render_markdown("a &#x202e; b")


def test_what_is_too_long_is_shown_as_it_was_written() -> None:
    words = "*" * (MOST + 1)
    assert read_page(render_markdown(words)).text == words


@given(st.text(max_size=80), st.text(max_size=80))
def test_an_element_holds_foreign_text_as_text(inside: str, value: str) -> None:
    page = read_page(element("p", inside, Html("<b>ours</b>"), title=value))
    (node,) = page.children
    assert not isinstance(node, str)
    assert node.attributes == {"title": printable(value)} and node.text == f"{printable(inside)}ours"
    assert read_page(text(inside)).text == printable(inside)


def test_markup_that_is_joined_by_hand_is_foreign_again() -> None:
    ours = element("b", "x")
    assert (
        element("p", f"{ours}") == "<p>&lt;b&gt;x&lt;/b&gt;</p>" and element("p", ours) == "<p><b>x</b></p>"
    )


def test_the_page_reads_as_the_terminal_does() -> None:
    page = str(render_markdown("See __init__.py and vector<std::string>.\n\n| a |\n|---|\n| x<br>y |\nafter"))
    assert "__init__.py" in page and "vector&lt;std::string&gt;" in page
    assert "x<br>\ny" in page and "<p>after</p>" in page


@pytest.mark.parametrize("mark", ["> ", "- ", "1. "])
def test_no_nesting_hides_words(mark: str) -> None:
    assert "words" in render_markdown(f"{mark * 40}words")
