"""A task as it is told: where paragraphs end, the last lines of a command, and what Ctrl-O keeps."""

from typing import Any

from kith.core.events import Delta, RunEnded, Said, ToolBegan, ToolEnded
from kith.core.values import Message, Ran, Text, ToolCall, ToolResult
from kith.terminal.conversation.item_view import Details, Voice
from kith.terminal.rendering.spans import columns_of, plain
from kith.view.items import ToolUse
from played_screen import PlayedScreen

BASH = ToolBegan("c1", "bash", "exec", "make test")


def told(*events: Any) -> tuple[PlayedScreen, Voice]:
    screen = PlayedScreen()
    voice = Voice(screen)
    for event in events:
        if isinstance(event, bytes):
            voice.hear_output(event)
        else:
            voice.hear(event, ())
    return screen, voice


def said(text: str) -> list[Any]:
    return [*map(Delta, text), Said("task", Message("assistant", (Text(text),)))]


def test_a_paragraph_ends_with_its_message() -> None:
    screen, _ = told(*said("one"), *said("two"), RunEnded("done", "two"))
    assert screen.text.split() == ["one", "two"]


def test_a_running_command_shows_its_last_lines() -> None:
    screen, _ = told(BASH, b"".join(b"line %d\n" % number for number in range(9)), b"the la")
    assert screen.live_text("activity").splitlines()[1:] == [
        *(f"    line {number}" for number in range(6, 9)),
        "    the la",
    ]


def test_a_stopped_command_keeps_its_last_lines() -> None:
    screen, voice = told(BASH, b"5 passed\r6 passed\n", RunEnded("interrupted", "Stopped."))
    first, *rest = screen.text.splitlines()
    assert "make test" in first and "stopped" in first and rest == ["    6 passed"]
    assert voice.details.kept[-1][1] == "6 passed"


def test_programs_of_kith_itself_show_nothing() -> None:
    screen, _ = told(b"a.py\0", ToolBegan("c1", "search", "read", "."), b"a.py\x001:x\n")
    assert len(screen.live_text("activity").splitlines()) == 1


def test_the_next_command_begins_with_no_lines() -> None:
    ended = ToolEnded("c1", "bash", True, 0.1, "exit code 0", Ran("make test", 0, "old", 0.1))
    screen, _ = told(BASH, b"old\n", ended, ToolBegan("c2", "bash", "exec", "make"))
    assert "old" not in screen.live_text("activity")


def use(args: dict[str, Any], result: str) -> ToolUse:
    return ToolUse("1", (), 0.0, "c1", ToolCall("c1", "edit", args), result=ToolResult("c1", result))


def lines_of(details: Details, width: int = 80) -> list[str]:
    lines = details.lines(width)
    assert all(columns_of(line) <= width for line in lines)
    return [plain(line) for line in lines]


def test_details_keep_line_breaks_and_blanks() -> None:
    details = Details()
    details.keep_use(
        use({"path": "a.py", "old": "if x:\n    a  = 1\n", "new": "b"}, "def f():\n    return  1")
    )
    assert lines_of(details) == [
        "edit",
        *("  path: a.py", "  old:", "      if x:", "          a  = 1", "  new: b", ""),
        *("  def f():", "      return  1"),
    ]


def test_details_break_long_lines_at_their_indentation() -> None:
    details = Details()
    details.keep_use(use({}, "    word " + "another " * 9 + "x" * 30))
    _, first, *rest = lines_of(details, 40)
    assert first.startswith("      word another") and all(line.startswith("      ") for line in rest)
    assert "".join([first[6:], *(line[6:] for line in rest)]) == "word " + "another " * 9 + "x" * 30
