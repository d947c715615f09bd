"""Panels and lines of what goes on: pictures of them, and that they fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawings import check_picture, drawn
from kith.core.events import Progress, ToolBegan, ToolEnded
from kith.core.values import Ran, TodoItem
from kith.terminal.rendering.activity import ThinkingBlock, progress_line, running_line, tool_line
from kith.terminal.rendering.glyphs import ASCII, UNICODE, Glyphs, choose_glyphs
from kith.terminal.rendering.look import Palette, Theme, choose_palette
from kith.terminal.rendering.panels import context_lines, pairs_lines, receipt_panel, todo_lines
from kith.terminal.rendering.spans import Line, Span, columns_of, plain
from kith.view.items import ToolUse

TODO = tuple(
    TodoItem(f"step {number}", "done" if number < 4 else "active" if number == 4 else "pending")
    for number in range(1, 13)
)
PARTS = (("system prompt", 1024), ("tools", 3210), ("your words", 40), ("tool results", 9000), ("layout", 12))
RAN = Ran("pytest -q tests/test_stats.py --a-very-long-option=with-a-value --and-more", 1, "", 12.3)


def panel(width: int, glyphs: Glyphs) -> list[Line]:
    read = ToolEnded("1", "read", True, 0.02, "src/stats.py, 40 lines")
    edit = ToolEnded(
        "2", "edit", False, 0.2, "nothing in stats.py matches the text to be replaced, which is this"
    )
    ran = ToolEnded("3", "bash", True, 12.3, "", RAN)
    return [
        *todo_lines(TODO[:5], width, glyphs),
        *todo_lines(TODO, width, glyphs),
        (),
        *(tool_line(ToolUse("1", (), 0.0, "1", ended=each), width, glyphs) for each in (read, edit, ran)),
        running_line(ToolBegan("3", "bash", "exec", "pytest -q"), 4.2, width, glyphs),
        progress_line(Progress("reading, about 12 s left", 4096, 9000), 3.0, width, glyphs),
        progress_line(Progress("reading", 0, 9000), 3.0, width, glyphs),
        progress_line(Progress("loading the model", 30, 100), 3.0, width, glyphs),
        progress_line(Progress("asked", 0), 3.0, width, glyphs),
        (),
        *context_lines(PARTS, 32_768, width, glyphs, "qwen3:8b"),
        (),
        *receipt_panel(
            ("2 files changed, +3 -1", "tests: passed (before: failed)", "lint: failed"), width, glyphs
        ),
        *receipt_panel(("not checked: no tests were found",), width, glyphs)[1:],
        (),
        *pairs_lines((("/help", "what there is to be said"), ("/quit", "leave " * 20)), width),
    ]


def test_pictures_of_panels() -> None:
    check_picture("panels-80.txt", drawn(panel(80, UNICODE)))
    check_picture("panels-50-ascii.txt", drawn(panel(50, ASCII)))


@given(st.integers(30, 120))
def test_panels_fit(width: int) -> None:
    assert all(columns_of(line) <= width for line in panel(width, UNICODE))


def test_thoughts_are_folded() -> None:
    thinking = ThinkingBlock()
    for word in ["I", "look", "at", "the", "file.", "\nIt", "div"]:
        thinking.take(f"{word} ")
    thinking.take("ides by zero.")
    assert [plain(line) for line in thinking.tail(80)] == ["  I look at the file.", "  It div ides by zero."]
    assert plain(thinking.summary(12.4)) == "· thought for 12 s, 10 words  (Ctrl-O)"
    for number in range(50):
        thinking.take(f"\nline {number}")
    assert [plain(line) for line in thinking.tail(80)] == ["  line 47", "  line 48", "  line 49"]


@given(st.lists(st.text(alphabet="ab \n", max_size=6), max_size=20))
def test_words_of_thoughts_are_counted(pieces: list[str]) -> None:
    thinking = ThinkingBlock()
    for piece in pieces:
        thinking.take(piece)
    count = len("".join(pieces).split())
    assert f", {count} word{'' if count == 1 else 's'}" in plain(thinking.summary(0))


# --- signs and colours -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sign", [name for name in ASCII.__slots__ if name not in ("spinner", "shades", "todo", "active", "done")]
)
def test_signs_take_one_column(sign: str) -> None:
    assert columns_of((Span(getattr(UNICODE, sign)),)) == columns_of((Span(getattr(ASCII, sign)),)) == 1
    assert getattr(ASCII, sign).isascii()


@pytest.mark.parametrize(
    ("term", "encoding", "signs"),
    [
        ("xterm", "utf-8", UNICODE),
        ("linux", "utf-8", ASCII),
        ("dumb", "utf-8", ASCII),
        ("xterm", "latin-1", ASCII),
    ],
)
def test_signs_are_those_of_the_terminal(term: str, encoding: str, signs: Glyphs) -> None:
    class Stream:
        pass

    stream = Stream()
    stream.encoding = encoding  # type: ignore[attr-defined]
    assert choose_glyphs(stream, {"TERM": term}) == signs  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("theme", "env", "painted"),
    [
        ("auto", {"TERM": "xterm"}, "\x1b[32m+x\x1b[0m"),
        ("dark", {"TERM": "xterm-256color"}, "\x1b[48;5;22m+x\x1b[0m"),
        ("auto", {"TERM": "xterm-256color"}, "\x1b[48;5;22m+x\x1b[0m"),
        ("auto", {"TERM": "xterm-256color", "COLORFGBG": "0;15"}, "\x1b[48;5;194m+x\x1b[0m"),
        ("light", {"TERM": "xterm", "COLORTERM": "truecolor"}, "\x1b[48;2;230;255;236m+x\x1b[0m"),
        ("dark", {"TERM": "xterm", "NO_COLOR": "1"}, "+x"),
        ("none", {"TERM": "xterm-256color"}, "+x"),
        ("dark", {"TERM": "dumb"}, "+x"),
    ],
)
def test_colours_are_those_of_the_terminal(theme: Theme, env: dict[str, str], painted: str) -> None:
    palette = choose_palette(theme, True, env)
    assert palette.ansi((Span("+x", "diff.added"), Span("  "))) == painted


def test_without_colours_bold_stays_and_without_a_terminal_nothing() -> None:
    line = (Span("a", "strong"), Span("b", "code"))
    assert choose_palette("auto", True, {"TERM": "xterm", "NO_COLOR": "1"}).ansi(line) == "\x1b[1ma\x1b[0mb"
    assert choose_palette("auto", False, {"TERM": "xterm"}).ansi(line) == "ab"


def test_rich_gets_the_same_roles() -> None:
    palette, line = Palette("dark", 24), (Span("a", "strong code"), Span("b", "diff.added"), Span(" "))
    text = palette.text(line)
    assert text.plain == "ab" and [str(span.style) for span in text.spans] == ["bold color(6)", "on #12261e"]


def test_signs_of_events_are_spelled_where_there_is_no_unicode() -> None:
    assert ASCII.spelled("✓ tests pass → ü") == "+ tests pass > ü"
    assert UNICODE.spelled("✓ tests pass") == "✓ tests pass"
