"""Markdown that arrives in pieces is drawn as if it came whole, and what was drawn stays."""

import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from drawings import check_picture, drawn, with_roles
from kith.terminal.rendering.glyphs import ASCII, UNICODE
from kith.terminal.rendering.markdown import MarkdownStream, render_markdown
from kith.terminal.rendering.spans import Line, columns_of, plain
from kith.view.printing import printable

REPLY = (Path(__file__).parent / "reply.md").read_text(encoding="utf-8")
PARTS = (
    *("word", "words of a sentence that is long enough to be broken", " ", "  ", "\n", "\n\n", "\n", "    "),
    *(
        "**",
        "*",
        "_",
        "__",
        "~~",
        "`",
        "``",
        "```",
        "```py\n",
        "~~~\n",
        "# ",
        "## ",
        "- ",
        "* ",
        "1. ",
        "12) ",
    ),
    *(
        "> ",
        ">",
        "- [ ] ",
        "- [x] ",
        "| a | b |\n|---|:-:|\n",
        "| 1 | 2 |\n",
        "|",
        "---",
        "===",
        "***",
        "\n---\n",
    ),
    *("[", "](", ")", "]", "[docs](https://example.org/a_b)", "https://example.org/x", "<https://a.b>", "!["),
    *("&amp;", "&#8238;", "<br>", "\\", "\\*", "__init__.py", "snake_case", "日本語の文", "é", "🎉", "⚠️"),
    *(
        "```- - ](u) ",
        "- ```\n",
        "`b ",
        "[a ",
        "](u",
        "日本語" * 20,
        "x" * 70,
        ">\n",
        "a | b\n",
        "    code\n",
        "+ ",
    ),
    *(
        "&#27;",
        "&#x85;",
        "&#10;",
        "&#32;",
        "\x1b[2J",
        "\u202e",
        "\r\n",
        "\t",
        "def f():\n    return 'x'\n",
        "/* a",
        "*/",
        '"""',
        "2 * 3",
    ),
)
TEXTS = st.lists(st.sampled_from(PARTS), max_size=24).map("".join)


def streamed(text: str, cuts: list[int], width: int) -> list[Line]:
    """The lines of a text in pieces of so many characters, again and again; its tail is drawn in between."""
    stream, lines, at = MarkdownStream(width, tail=5), [], 0
    for number in range(len(text) + 1):
        size = cuts[number % len(cuts)]
        lines += stream.take(text[at : at + size])
        assert len(stream.tail) <= 5
        at += size
        if at >= len(text):
            break
    return lines + stream.end()


CUTS = st.lists(st.integers(1, 12), min_size=1, max_size=5)
WIDTHS = st.sampled_from([24, 60, 100])


@settings(deadline=None, max_examples=40)
@given(TEXTS, CUTS, WIDTHS)
def test_pieces_do_not_matter(text: str, cuts: list[int], width: int) -> None:
    assert streamed(text, cuts, width) == render_markdown(text, width)


@pytest.mark.slow
@settings(deadline=None, max_examples=1_000)
@given(TEXTS, CUTS, WIDTHS)
def test_pieces_do_not_matter_to_many_texts(text: str, cuts: list[int], width: int) -> None:
    assert streamed(text, cuts, width) == render_markdown(text, width)


@settings(deadline=None, max_examples=40)
@given(TEXTS, st.sampled_from([24, 60, 100]))
def test_nothing_foreign_moves_the_cursor(text: str, width: int) -> None:
    for line in render_markdown(text, width):
        assert printable(plain(line)) == plain(line) and "\n" not in plain(line)


def test_a_reply_in_single_characters() -> None:
    assert streamed(REPLY, [1], 80) == render_markdown(REPLY, 80)


@settings(deadline=None)
@given(st.lists(st.text(alphabet="abcäé字.,;()/", min_size=1, max_size=30), max_size=40), st.integers(20, 90))
def test_plain_words_are_all_there_and_fit(words: list[str], width: int) -> None:
    lines = [plain(line) for line in render_markdown(" ".join(words), width)]
    assert "".join("".join(lines).split()) == "".join(words)
    assert all(cell_len(line) <= width for line in lines)


def test_pictures_of_a_reply() -> None:
    check_picture("reply-80.txt", drawn(render_markdown(REPLY, 80)))
    check_picture("reply-46-ascii.txt", drawn(render_markdown(REPLY, 46, ASCII)))
    check_picture("reply-roles.txt", with_roles(render_markdown(REPLY, 80)))
    check_picture("reply-marks.txt", drawn(render_markdown(REPLY, 80, ASCII, marks=True)))


def test_ascii_is_ascii() -> None:
    text = drawn(render_markdown(REPLY, 60, ASCII))
    assert text.isascii()


def test_what_is_certain_does_not_wait() -> None:
    stream = MarkdownStream(20)
    assert stream.take("one two three fo") == []
    assert [plain(line) for line in stream.tail] == ["one two three fo"]
    assert [plain(line) for line in stream.take("ur five ")] == ["one two three four"]
    assert stream.take("**six seven") == []
    assert [plain(line) for line in stream.tail] == ["five six seven"]
    assert [plain(line) for line in stream.take("\n\n")] == ["five **six seven"]


def test_what_is_open_is_shown_as_if_it_closed() -> None:
    stream = MarkdownStream(80)
    stream.take("This is **bold and `code")
    assert with_roles(stream.tail) == "This is {strong:bold and }{code strong:code}\n"
    stream.take("` here** now")
    assert with_roles(stream.tail) == "This is {strong:bold and }{code strong:code}{strong: here} now\n"


def test_a_fence_is_not_shown_before_it_is_one() -> None:
    stream = MarkdownStream(80)
    for piece in ("`", "`", "`", "py"):
        assert stream.take(piece) == [] and stream.tail == []
    assert stream.take("\nx = 1\n") == render_markdown("```py\nx = 1\n", 80)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("__init__.py and snake_case_name", "__init__.py and snake_case_name"),
        ("2 * 3 * 4 and a*b", "2 * 3 * 4 and a*b"),
        ("a lone ` tick and ** stars", "a lone ` tick and ** stars"),
        ("[docs](https://e.org/a_(b))", "docs (https://e.org/a_(b))"),
        ("[https://e.org](https://e.org)", "https://e.org"),
        ("see https://e.org/a_b_c.", "see https://e.org/a_b_c."),
        ("&lt;b&gt; &amp; &#8238;", "<b> & \\u202e"),
        ("\\*not emphasis\\*", "*not emphasis*"),
        ("``a ` b``", "a ` b"),
        ("⚠️ careful 👩‍💻", "⚠ careful 👩💻"),
        ("a vector<std::string>", "a vector<std::string>"),
        ("&copy; `&copy;` &#27;[2J", "© &copy; �[2J"),
        ("[a](https://e.org/&#8238;%20日 'title')", "a (https://e.org/\\u202e%20日)"),
        ("![a `b`](https://e.org/x.png)", "a `b` (https://e.org/x.png)"),
        ("[run](javascript:alert(1))", "[run](javascript:alert(1))"),
        ("one<br>two<br />three", "one\ntwo\nthree"),
    ],
)
def test_words_in_a_line(source: str, shown: str) -> None:
    assert drawn(render_markdown(source, 80)) == f"{shown}\n"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("Title\n=====\ntext", "Title\n\ntext\n"),
        ("text\n---\nmore", "text\n\nmore\n"),
        ("- a\n- b\n\n- c", "• a\n• b\n\n• c\n"),
        ("- a\n    - b\n    - c\n- d", "• a\n  • b\n  • c\n• d\n"),
        ("1. a\n  - b\n2. c", "1. a\n   • b\n2. c\n"),
        ("  - a\n  - b", "• a\n• b\n"),
        ("- a\n  ```\n  x\n  ```\n- b", "• a\n\n    x\n\n• b\n"),
        ("> a\nb\n\nc", "│ a\n│ b\n\nc\n"),
        ("> - a\n> - b", "│ • a\n│ • b\n"),
        ("text:\n| a | b |\n|---|---|\n| 1 | 2 |\nafter", "text:\n\na │ b\n──┼──\n1 │ 2\n\nafter\n"),
        ("a | b\n--|--\n1 | 2", "a │ b\n──┼──\n1 │ 2\n"),
        ("first\nsecond", "first\nsecond\n"),
        ("see [the\ndocs](https://e.org)", "see the\ndocs (https://e.org)\n"),
        ("1. a\n2. b\n\n   more\n\n7. c", "1. a\n2. b\n\n   more\n\n7. c\n"),
        ("- a\n\n      code\n\n  b\n", "• a\n\n    code\n\n  b\n"),
        ("> ```\n> x\nout", "│   x\n\nout\n"),
        ("one\ntwo\n---\nthree", "one\ntwo\n────────────────────────────────────────\n\nthree\n"),
        ("``` \nno end", "  no end\n"),
        ("```\n\n\nx\n```", "\n\n  x\n"),
    ],
)
def test_blocks(source: str, shown: str) -> None:
    assert drawn(render_markdown(source, 80, UNICODE)) == shown


def test_lines_of_code_keep_their_length() -> None:
    (line,) = render_markdown(f"```py\n{'x' * 200}\n```", 80)
    assert columns_of(line) == 202


def test_a_table_too_wide_is_a_list() -> None:
    source = "| name | what |\n|---|---|\n" + "".join(f"| {'n' * 30} | {'w' * 30} |\n" for _ in range(2))
    wide = "| " + " | ".join("abcdefgh" for _ in range(9)) + " |\n" + "|---" * 9 + "|\n" + "| x " * 9 + "|\n"
    assert max(map(columns_of, render_markdown(source, 40))) <= 40
    assert drawn(render_markdown(wide, 40)).startswith("abcdefgh: x\nabcdefgh: x\n")


def test_a_long_table_does_not_wait_for_its_end() -> None:
    stream = MarkdownStream(80)
    lines = stream.take("| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 150)
    assert len(lines) == 152
    assert lines + stream.end() == render_markdown("| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 150, 80)


def test_the_work_for_a_piece_does_not_grow() -> None:
    """What is kept back stays small, however long the reply; the time of it is measured by a benchmark."""
    stream, kept = MarkdownStream(80), []
    for _ in range(100):
        for line in ("Some **words** and `code`.\n", "\n", "```py\n", "x = 1\n", "```\n", "- item\n"):
            stream.take(line)
        kept.append(sum(map(columns_of, stream.tail)))
    assert max(kept) < 200
    stream.take("\n\n")
    for _ in range(300):
        stream.take("a paragraph without any end ")
        assert len(stream.tail) <= 2


def counted(text: str) -> int:
    """The calls that a text in pieces takes, its tail drawn now and then."""
    calls, stream = 0, MarkdownStream(80)

    def count(_frame: object, _event: str, _what: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        for at in range(0, len(text), 40):
            stream.take(text[at : at + 40])
            if at % 400 == 0:
                assert stream.tail is not None
        stream.end()
    finally:
        sys.setprofile(None)
    return calls


HOSTILE = (
    "[a ",
    "[a](b",
    "![a](",
    "*a *b _c ",
    "**a* ",
    "`a ``b ",
    "- a\n",
    "> a\n",
    "  - b\n",
    ">\n",
    "[\n",
)


@pytest.mark.parametrize(
    "piece", [*HOSTILE, "| a | b |\n", "| a | b |\n|---|---|\n", "```\n", "a\n", "&amp;"]
)
def test_the_work_for_a_hostile_text_grows_with_its_length(piece: str) -> None:
    small, large = ((piece * size)[:size] for size in (1_500, 6_000))
    assert counted(large) < 5 * counted(small)


@pytest.mark.parametrize(
    "mark", ["> ", ">", "- ", "1. ", "- > ", "[", "![", "*", "**a _b ", "a~~", "a`", "(", "|"]
)
def test_no_nesting_hides_words(mark: str) -> None:
    text = f"{mark * 300}word"
    lines = render_markdown(text, 80)
    assert "word" in "".join("".join(plain(line) for line in lines).split()).replace("│", "")
    assert streamed(text, [7], 80) == lines


LONG = (
    "# ",
    "| a ",
    "-",
    "- ",
    "> ",
    " ",
    "*",
    "a\u0301\u0302",
    "```",
    "=",
    "| a | b |\n|---|---|\n",
    "\n",
    "word ",
)


@settings(max_examples=12)
@example([("| a | b |\n|---|---|\n", 1), ("word ", 2_500), ("| a ", 1)], 150)
@given(
    st.lists(st.tuples(st.sampled_from(LONG), st.sampled_from((1, 2, 2_500))), max_size=4),
    st.integers(150, 5_000),
)
def test_no_line_waits_for_its_end_for_ever(parts: list[tuple[str, int]], size: int) -> None:
    text = "".join(part * times for part, times in parts)
    stream = MarkdownStream(60)
    lines = [line for at in range(0, len(text), size) for line in stream.take(text[at : at + size])]
    assert [*lines, *stream.end()] == render_markdown(text, 60)


@pytest.mark.parametrize("piece", ["# a ", "| a ", "x", "* a", "\u0301", "**a ", "漢"])
def test_of_an_endless_line_only_its_end_is_kept_back(piece: str) -> None:
    stream = MarkdownStream(60)
    lines = [line for _ in range(50) for line in stream.take(piece * 400)]
    assert sum(len(plain(line)) for line in lines) > 70 * len(piece) * 50
    assert all(columns_of(line) <= 60 for line in lines)
