"""Tasks: what a model may write, what a person may edit, and the order they are done in."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.values import BuildTask
from kith.features.build.tasks import dependents, find_fault, in_order, parse_tasks, read_tasks, render_tasks

ONE = {"id": "1", "title": "Add", "criteria": ["add(1, 2) == 3"]}
TEXT = st.text(max_size=60)


def given_tasks(*tasks: Any) -> str:
    return json.dumps({"tasks": list(tasks)})


@st.composite
def task_lists(draw: st.DrawFn) -> tuple[BuildTask, ...]:
    """Tasks as a model may have written them, with text of all kinds."""
    ids = draw(
        st.lists(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,8}", fullmatch=True), max_size=6, unique=True)
    )
    items = []
    for number, id in enumerate(ids):
        items.append(
            {
                "id": id,
                "title": draw(TEXT),
                "text": draw(st.text(alphabet="#-\\ \n\tab:>AfterFilesDone when", max_size=80) | TEXT),
                "criteria": draw(st.lists(TEXT, min_size=1, max_size=3)),
                "after": draw(st.lists(st.sampled_from(ids[:number]), unique=True)) if number else [],
                "files": draw(st.lists(st.text(min_size=1, max_size=20), max_size=3)),
            }
        )
    tasks, _ = parse_tasks(given_tasks(*items))
    return tasks


@pytest.mark.slow
@given(task_lists())
def test_what_a_person_does_not_edit_stays_as_it_was(tasks: tuple[BuildTask, ...]) -> None:
    if tasks:
        assert read_tasks(render_tasks(tasks)) == (tasks, "")


@pytest.mark.slow
@given(task_lists())
def test_the_order_is_one_in_which_tasks_can_be_done(tasks: tuple[BuildTask, ...]) -> None:
    done = set[str]()
    for task in in_order(tasks):
        assert done.issuperset(task.after)
        done.add(task.id)
    assert done == {task.id for task in tasks}
    assert all(task.id in dependents(tasks, id) for task in tasks for id in task.after)


def test_tasks_that_need_nothing_keep_their_place() -> None:
    tasks = [BuildTask(id, id, ("x",), after=after) for id, after in [("c", ("b",)), ("a", ()), ("b", ())]]
    assert [task.id for task in in_order(tasks)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("I would rather not.", "no JSON object"),
        ('{"tasks": "all"}', "no JSON object"),
        (given_tasks(), "There are no tasks"),
        (given_tasks("add"), "Task 1: it must be an object"),
        (given_tasks({**ONE, "name": "x"}), "Task 1: unknown key 'name'; there are: id, title"),
        (given_tasks({**ONE, "criteria": []}), "Task 1 has no criteria"),
        (given_tasks({**ONE, "criteria": [{}]}), '"criteria" must be a list of texts'),
        (given_tasks({**ONE, "title": " "}), "Task 1 has no title"),
        (given_tasks({**ONE, "title": 3}), '"title" must be a text'),
        (given_tasks({**ONE, "id": "a b"}), "'a b' cannot be an id"),
        (given_tasks(ONE, ONE), "Two tasks have the id '1'"),
        (
            given_tasks({**ONE, "after": ["2"]}),
            "Task 1 comes after '2', but there is no such task",
        ),
        (given_tasks({**ONE, "after": ["1"]}), "wait for each other: 1 -> 1"),
        (given_tasks(*({**ONE, "id": n} for n in range(1, 5))), "There are 4 tasks; 3 are allowed"),
    ],
)
def test_a_fault_is_named_exactly(words: str, fault: str) -> None:
    tasks, said = parse_tasks(words, most=3)
    assert tasks == () and fault in said


def test_small_slips_are_forgiven() -> None:
    words = "Here:\n```json\n{tasks: [{id: 1, title: 'Add', criteria: 'add(1, 2) == 3', after: null,}]}\n```"
    tasks, fault = parse_tasks(words)
    assert fault == "" and tasks == (BuildTask("1", "Add", ("add(1, 2) == 3",)),)


def test_a_person_writes_as_they_like() -> None:
    text = """
Some words before.

## 1: Add numbers
files: src/a.py, src/b.py

Plainly.

done when:
* add(1, 2) == 3,
  and so on
- add() == 0

## 2. Twice
After: 1
Done when:
- twice
"""
    tasks, fault = read_tasks(text)
    assert fault == ""
    assert tasks[0].files == ("src/a.py", "src/b.py") and tasks[0].text == "Plainly."
    assert tasks[0].criteria == ("add(1, 2) == 3, and so on", "add() == 0")
    assert tasks[1].after == ("1",)
    assert "no heading of a task" in read_tasks("## Something")[1]
    assert find_fault(()) and read_tasks("")[1]
