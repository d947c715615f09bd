"""What somebody decides about is seen: nothing hides, moves the cursor, or is pushed off the screen."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from kith.core.values import FileChange
from kith.terminal.console_screen import ConsoleScreen
from kith.terminal.show_change import show_file
from kith.view.printing import folded, on_one_line, printable, whole

PAYLOAD = "rm -rf ~"


@pytest.mark.parametrize(
    "padding",
    [" " * 3_000, "\n" * 400, "\r\n" * 400, " \n\t" * 300, "\u3000" * 900, "\t" * 500, "x" * 200_000],
)
def test_no_padding_pushes_a_command_out_of_sight(padding: str) -> None:
    shown = whole(f"Allow bash: ls{padding}{PAYLOAD}")
    assert shown.endswith(PAYLOAD) and len(shown) < 2_200 and shown.count("\n") < 60
    assert any(word in shown for word in ("blanks]", "empty lines]", "characters are not shown]", "\\x0d"))


@settings(deadline=None)
@given(st.text(max_size=200))
def test_nothing_raw_is_shown_and_ordinary_text_as_it_is(text: str) -> None:
    shown = whole(text)
    assert not any((ord(char) < 0x20 and char not in "\n\t") or 0x7F <= ord(char) < 0xA0 for char in shown)
    assert not any(0x202A <= ord(char) <= 0x202E or 0xE0000 <= ord(char) <= 0xE0FFF for char in shown)
    assert printable(shown) == shown


def test_ordinary_lines_are_not_touched() -> None:
    for line in ("    return x  # twelve blanks before", "a" * 2_000, "\tif (a)\t\t{", "naïve – 日本語 ✓"):
        assert folded(line) == line == whole(line)


def test_a_diff_cannot_look_like_another_files(capsys: pytest.CaptureFixture[str]) -> None:
    told = io.StringIO()
    diff = (
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1,3 @@\n-x\n++++ b/other\n+@@ -1 +1 @@\n+"
        + f"y\u202e\x1b[8m{' ' * 400}{PAYLOAD}\n"
    )
    show_file(ConsoleScreen(Console(file=told, width=80)), FileChange("a", 2, 1, diff))
    shown = told.getvalue()
    assert "++++ b/other" in shown and "\\u202e\\x1b[8m [400 blanks] rm -rf ~" in shown.replace("\n", "")


def test_a_name_of_two_lines_stands_on_one() -> None:
    name = "a\nApplied 9 files\x1b[31m\t.py"
    assert on_one_line(name) == "a\\nApplied 9 files\\x1b[31m\\t.py"
