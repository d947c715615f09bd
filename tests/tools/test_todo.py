"""The model's list, which the log can restore, and the end of a task, which is only words."""

from typing import Any

import pytest

from kith.core.events import TodoSet
from kith.core.values import TodoItem
from kith.tools.todo import DONE, make_todo
from tools_bench import Bench


def test_a_list_is_set_changed_and_read(bench: Bench) -> None:
    todo = make_todo()
    assert "empty" in bench.use(todo).text
    assert bench.use(todo, items=["read  the\ncode", {"text": "fix", "state": "active"}]).text == (
        "1. [ ] read the code\n2. [>] fix"
    )
    result = bench.use(todo, index="1", state="done")
    assert result.text == "1. [x] read the code\n2. [>] fix"
    assert result.detail["line"] == "1 of 2 steps done"
    assert bench.use(todo).text == result.text
    assert "empty" in bench.use(todo, items=[]).text


def test_every_change_and_nothing_else_is_in_the_log(bench: Bench) -> None:
    todo = make_todo()
    bench.use(todo, items="one")
    bench.use(todo)
    bench.use(todo, index=1, state="pending")
    bench.use(todo, index=1, state="active")
    assert bench.events == [TodoSet((TodoItem("one"),)), TodoSet((TodoItem("one", "active"),))]


def test_the_last_event_of_the_log_restores_the_list(bench: Bench) -> None:
    bench.use(make_todo(), items=["one", "two"])
    last = bench.events[-1]
    assert isinstance(last, TodoSet)
    assert bench.use(make_todo(last.items), index=2, state="done").text == "1. [ ] one\n2. [x] two"


def test_two_threads_have_two_lists(bench: Bench) -> None:
    first, second = make_todo(), make_todo()
    bench.use(first, items=["one"])
    assert "empty" in bench.use(second).text


def test_words_of_other_lists_are_understood(bench: Bench) -> None:
    todo = make_todo((TodoItem("one"),))
    assert bench.use(todo, index=1, state="in_progress").text == "1. [>] one"
    assert bench.use(todo, index=1, state="completed").text == "1. [x] one"


@pytest.mark.parametrize(
    ("args", "answer"),
    [
        ({"index": 1, "state": "maybe"}, "A state is one of: pending, active, done."),
        ({"index": 3, "state": "done"}, "There is no step 3: the list has steps 1 to 2."),
        ({"index": 0, "state": "done"}, "There is no step 0: the list has steps 1 to 2."),
        (
            {"index": 1},
            "To change one step send both its index and its new state; to set the whole list send items.",
        ),
        (
            {"state": "done"},
            "To change one step send both its index and its new state; to set the whole list send items.",
        ),
        ({"items": [3]}, "Each of the items is a short text, or an object with text and state."),
        ({"items": [{"step": "x"}]}, "Each of the items is a short text, or an object with text and state."),
        ({"items": ["a", " "]}, "Each of the items is a short text, or an object with text and state."),
        ({"items": [{"text": "x", "state": ["done"]}]}, "A state is one of: pending, active, done."),
    ],
)
def test_slips_change_nothing_and_are_explained(bench: Bench, args: dict[str, Any], answer: str) -> None:
    todo = make_todo((TodoItem("one"), TodoItem("two")))
    result = bench.use(todo, **args)
    assert (result.ok, result.text) == (False, answer)
    assert bench.events == [] and bench.use(todo).text == "1. [ ] one\n2. [ ] two"


def test_an_empty_list_has_no_step_to_change(bench: Bench) -> None:
    result = bench.use(make_todo(), index=1, state="done")
    assert not result.ok and "empty" in result.text


def test_done_keeps_its_summary_for_people(bench: Bench) -> None:
    result = bench.use(DONE, summary="  Fixed mean.\nNot checked: speed.\n")
    assert result.text == "Ended."
    summary = "Fixed mean.\nNot checked: speed."
    assert result.detail == {"line": "Fixed mean.", "final": True, "summary": summary}
    assert bench.use(DONE, summary=" ").detail["summary"] == "Done."


def test_done_names_tests_that_had_to_change(bench: Bench) -> None:
    claim = "tests/test_a.py::test_old: it expected the old rounding"
    result = bench.use(DONE, summary="Done.", changed_tests=[claim, " "])
    assert result.detail["tests"] == [claim]
    assert result.detail["summary"] == f"Done.\n\nChanged tests:\n- {claim}"
    assert DONE.schema["properties"]["changed_tests"]["description"]
