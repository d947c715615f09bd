"""The whole way from a request to a commit, and from a failure over a reviewer to success."""

import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from building import DONE, PLAIN, Stage, edit, snapshot, tasks, write
from kith.core.events import Tasked
from plays import INVERT, INVERT_CODE, INVERT_TESTS, WRONG_INVERT, two_tasks

RIGHT, WRONG = (code.strip().split("\n")[-1].strip() for code in (INVERT_CODE, WRONG_INVERT))


@pytest.mark.slow
def test_a_request_becomes_a_tested_change_with_pytest(toolz: Path) -> None:
    before = snapshot(toolz)
    stage = Stage(
        toolz,
        {
            "plan": [tasks(INVERT)],
            "1/specify": [write("toolz/tests/test_invert.py", INVERT_TESTS), DONE],
            "1/implement": [
                write("toolz/dicttoolz.py", WRONG_INVERT, append=True),
                DONE,
                edit("toolz/dicttoolz.py", WRONG, RIGHT),
                DONE,
            ],
            "1/review/1": ["invert() copies d: swap key and value. " + "Do it now. " * 100],
        },
    )
    outcome = stage.play()
    assert (outcome.status, outcome.text) == ("done", "The task is done.")
    after = snapshot(toolz)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert changed == {"toolz/dicttoolz.py", "toolz/tests/test_invert.py"}
    assert stage.steps == [
        "plan tasks",
        "agree yes",
        "measure measured",
        "next task",
        "specify written",
        "lock locked",
        "implement written",
        "check no",
        "review advised",
        "implement written",
        "check yes",
        "refine skipped",
        "next finished",
        "finish yes",
        "approve yes",
        "apply applied",
        "commit skipped",
    ]
    failure = stage.said_to("1/implement")[-1]
    assert "test_invert_swaps_keys_and_values" in failure and "test_invert_of_nothing" not in failure
    assert "invert() copies d" in failure and failure.count("Do it now.") < 40


def test_a_build_comes_out_the_same_when_nobody_hears_it(toolz: Path) -> None:
    script = {
        "plan": [tasks(INVERT)],
        "1/specify": [write("toolz/tests/test_invert.py", INVERT_TESTS), DONE],
        "1/implement": [
            write("toolz/dicttoolz.py", WRONG_INVERT, append=True),
            DONE,
            edit("toolz/dicttoolz.py", WRONG, RIGHT),
            DONE,
        ],
        "1/review/1": ["Swap key and value."],
    }
    stage = Stage(toolz, script, tells=False)
    assert stage.play().status == "done"
    assert stage.events == [] and RIGHT in (toolz / "toolz/dicttoolz.py").read_text()


@pytest.mark.slow
def test_tasks_are_done_in_the_order_of_their_dependencies_and_committed(pyflakes: Path) -> None:
    stage = Stage(pyflakes, two_tasks(), replace(PLAIN, refine=True, commit=True))
    assert stage.play().status == "done"
    log = subprocess.run(["git", "log", "-1", "--format=%B"], cwd=pyflakes, capture_output=True, text=True)
    assert log.stdout.strip() == "Count what pyflakes finds; Say a tally aloud"
    status = subprocess.run(["git", "status", "--porcelain"], cwd=pyflakes, capture_output=True, text=True)
    assert status.stdout == ""
    tasked = [event for event in stage.events if isinstance(event, Tasked)]
    assert [task.id for task in tasked[-1].tasks] == ["tally", "shout"]
    state = stage.state
    assert [piece.state for piece in state.pieces.values()] == ["done", "done"]
    assert [step for step in stage.steps if step.startswith("weigh")] == ["weigh unchanged", "weigh kept"]
    assert "and a sign" in (pyflakes / "pyflakes" / "loud.py").read_text()
