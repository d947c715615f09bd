"""Items in words: every surface has these from one place."""

import pytest

from kith.core.decisions import Routed
from kith.core.events import Applied, Event, Judged, Locked, Notice, RunEnded, ToolBegan, ToolEnded
from kith.core.values import FileChange, Ran
from kith.view.items import AppliedChange, RunResult, ToolUse
from kith.view.wording import fact_line, line_of, note_line, word_size, word_verdict

WHERE = ("1", (), 0.0)
ENDED = ToolEnded("c", "read", True, 0.02, "a.py, 40 lines")
BEGAN = ToolBegan("c", "read", "read", "a.py")


def test_a_tool_use_has_its_line_once() -> None:
    use = ToolUse(*WHERE, "c", began=BEGAN)
    assert line_of(use) == ("", "")
    assert line_of(use.completed(ENDED)) == ("tool", "  · read   a.py, 40 lines")
    told = ToolUse(*WHERE, "c", ended=ToolEnded("c", "done", True, 0.0, "All done."))
    assert line_of(told) == ("", ""), "its words are said anyway"


def test_an_applied_change_says_how_to_take_it_back() -> None:
    change = AppliedChange(*WHERE, Applied("20260101-abc123", (FileChange("a.py", 1, 0, ""),)))
    assert line_of(change, undo="/undo")[1] == "Applied 1 file.  Undo: /undo abc123"


def test_only_an_interruption_is_a_line_of_its_own() -> None:
    assert line_of(RunResult(*WHERE, RunEnded("interrupted", "Stopped."))) == ("bad", "Stopped.")
    assert line_of(RunResult(*WHERE, RunEnded("done", "Done."))) == ("", "")


@pytest.mark.parametrize(
    ("event", "fact", "line"),
    [
        (Notice("Look", "warning"), "", "  ! Look"),
        (Locked("T1", tests=("a", "b")), "Locked: 2 tests of task T1", ""),
        (Routed("fix", ("m",), "named", "person"), "", ""),
        (Routed("fix", ("a", "b"), "best", "person"), "asked: a, then b (best)", ""),
        (Routed("fix", ("b",), "no luck", after="a"), "", "  → b takes over from a: no luck"),
    ],
)
def test_a_note_is_a_line_or_only_a_fact(event: Event, fact: str, line: str) -> None:
    assert fact_line(event) == fact and note_line(event)[1] == line


def test_sizes_and_verdicts() -> None:
    assert word_size((FileChange("a", 3, 1, ""), FileChange("b", 1, 0, ""))) == "2 files, +4 -1"
    late = Ran("pytest", 1, "", 9.0, timed_out=True)
    for judged, words in (
        (Judged("tests", True, 1), "passed"),
        (Judged("tests", False, 1, ran=(late,)), "timed out"),
        (Judged("tests", False, 1), "failed"),
        (Judged("tests", False, 0, skipped=True), "not checked"),
    ):
        assert word_verdict(judged) == words
