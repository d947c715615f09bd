"""What does not pass is not kept: tasks that fail, refiners that break, implementers that cheat."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from building import DONE, PLAIN, Stage, bash, commit_all, edit, snapshot, tasks, write
from kith.core.events import Judged
from kith.core.values import Answer
from plays import (
    INVERT,
    INVERT_CODE,
    INVERT_TESTS,
    NOD,
    NOD_CODE,
    NOD_TESTS,
    SHOUT,
    SHOUT_CODE,
    TALLY,
    TALLY_CODE,
    TALLY_TEST_FILE,
    TALLY_TESTS,
    WRONG_TALLY,
    one_task,
    script,
)

RIGHT = "len(Checker(ast.parse(source)).messages)"


@pytest.mark.slow
def test_a_task_that_fails_too_often_leaves_nothing_behind(pyflakes: Path) -> None:
    """It is rolled back to the last byte, what needs it is left out, and the others are done."""
    before = snapshot(pyflakes)
    stage = Stage(
        pyflakes,
        script(
            plan=[tasks(NOD, TALLY, SHOUT)],
            nod__specify=[write("pyflakes/test/test_nod.py", NOD_TESTS), DONE],
            nod__implement=[write("pyflakes/nod.py", NOD_CODE), DONE],
            tally__implement=[
                write("pyflakes/tally.py", WRONG_TALLY.replace("return 0", "return None")),
                edit("pyflakes/nod.py", '"yes"', '"Yes"'),
                bash("rm pyflakes/reporter.py && chmod +x pyflakes/api.py"),
                DONE,
                "I do not know better.",
            ],
            tally__review__1=["Count the messages."],
        ),
        replace(PLAIN, max_retries=1),
    )
    outcome = stage.play()
    assert outcome.status == "done"
    assert outcome.text.startswith(
        "1 of 3 tasks are done and applied: Nod. Not applied: Count what pyflakes finds: rolled back"
    )
    assert "Say a tally aloud: skipped, it depends on task tally" in outcome.text
    made = {"pyflakes/nod.py", "pyflakes/test/test_nod.py"}
    applied = stage.state.applied
    assert applied and {file.path for file in applied.files} == made
    after = snapshot(pyflakes)
    assert after == before | {path: after[path] for path in made}
    assert after["pyflakes/nod.py"].decode() == NOD_CODE
    assert "Task tally (Count what pyflakes finds) is rolled back: " in stage.notices
    assert "Without it these cannot be done: shout." in stage.notices
    assert [step for step in stage.steps if step.startswith("check")] == [
        "check yes",
        "check no",
        "check limit",
    ]


@pytest.mark.slow
def test_when_no_task_can_be_done_the_tree_is_as_it_was(pyflakes: Path) -> None:
    before = snapshot(pyflakes)
    stage = Stage(
        pyflakes,
        script(tally__implement=[write("pyflakes/api.py", "nothing"), DONE]),
        replace(PLAIN, max_retries=0),
    )
    outcome = stage.play()
    assert outcome.status == "failed"
    said = "Nothing was applied: none of the tasks could be done. Count what pyflakes finds: rolled back, "
    assert outcome.text.startswith(said)
    assert snapshot(pyflakes) == before
    assert stage.changes() == (), "the trial is kept, and holds nothing of the task"
    assert stage.state.pieces["tally"].locked is None


@pytest.mark.slow
def test_a_refiner_that_breaks_a_test_is_thrown_away(pyflakes: Path) -> None:
    stage = Stage(
        pyflakes,
        script(tally__refine=[edit("pyflakes/tally.py", RIGHT, "0"), DONE]),
        replace(PLAIN, refine=True),
    )
    assert stage.play().status == "done"
    assert "weigh discarded" in stage.steps
    assert "The simpler version of task tally was discarded: tests says no." in stage.notices
    assert (pyflakes / "pyflakes" / "tally.py").read_text() == TALLY_CODE
    assert stage.state.played["refiner"].bad == 1


@pytest.mark.slow
def test_an_implementer_that_edits_a_locked_test_is_caught(pyflakes: Path) -> None:
    """The tool refuses it; what a command did to the tests is put back, and told."""
    weaker = TALLY_TESTS.replace('tally("import os"), 1', 'tally("import os"), 0')
    stage = Stage(
        pyflakes,
        script(
            tally__implement=[
                write("pyflakes/tally.py", WRONG_TALLY),
                write(TALLY_TEST_FILE, weaker),
                bash(f"sed -i 's/, 1)/, 0)/' {TALLY_TEST_FILE}"),
                DONE,
                write("pyflakes/tally.py", TALLY_CODE),
                DONE,
            ],
            tally__review__1=["Leave the tests alone and count the messages."],
        ),
    )
    assert stage.play().status == "done"
    assert (pyflakes / TALLY_TEST_FILE).read_text() == TALLY_TESTS
    said = stage.said_to("tally/implement")[-1]
    assert f"You changed {TALLY_TEST_FILE}:" in said and "which was put back as it was." in said
    refused = [event for event in stage.events if isinstance(event, Judged) and event.gate == "untouched"]
    assert [event.ok for event in refused] == [False, True, True]


@pytest.mark.slow
def test_too_little_coverage_applies_nothing_until_less_is_wanted(pyflakes: Path) -> None:
    before = snapshot(pyflakes)
    unused = TALLY_CODE + "\n\ndef unused(number):\n    if number:\n        return 1\n    return 2\n"
    stage = Stage(
        pyflakes,
        script(tally__implement=[write("pyflakes/tally.py", unused), DONE]),
        replace(PLAIN, coverage=90.0, max_retries=0),
    )
    outcome = stage.play()
    assert outcome.status == "failed"
    assert re.search(r"coverage: Coverage is too low: the tests run [\d.]+ % of the lines", outcome.text)
    assert snapshot(pyflakes) == before
    asked = len(stage.asked)
    stage.options = replace(PLAIN, coverage=0)
    assert stage.play().status == "done"
    assert len(stage.asked) == asked, "nobody had to say anything twice"
    assert (pyflakes / "pyflakes" / "tally.py").read_text() == unused


@pytest.mark.slow
def test_tests_that_pass_already_are_sent_back_and_code_of_their_author_is_put_back(pyflakes: Path) -> None:
    vacuous = TALLY_TESTS.replace("from pyflakes.tally import tally", "tally = len").replace(
        'self.assertEqual(tally("import os"), 1)', "self.assertTrue(True)"
    )
    stage = Stage(
        pyflakes,
        script(
            tally__specify=[
                write(TALLY_TEST_FILE, vacuous.replace('"x = 1"', '""')),
                bash("echo broken > pyflakes/api.py"),
                DONE,
                write(TALLY_TEST_FILE, TALLY_TESTS),
                DONE,
            ]
        ),
    )
    assert stage.play().status == "done"
    assert stage.steps.count("lock wrong") == 1
    assert "Put back, since only new tests may be written now: pyflakes/api.py." in stage.notices
    assert "pass" in stage.said_to("tally/specify")[-1]


@pytest.mark.slow
def test_a_secret_in_a_test_is_not_locked(pyflakes: Path) -> None:
    key = "AKIA" + "Z7QX4M2PLW5RT6KB"
    stage = Stage(
        pyflakes,
        script(
            tally__specify=[
                write(TALLY_TEST_FILE, f'{TALLY_TESTS}\n\nKEY = "{key}"\n'),
                DONE,
                write(TALLY_TEST_FILE, TALLY_TESTS),
                DONE,
            ]
        ),
    )
    assert stage.play().status == "done"
    assert TALLY_TEST_FILE in stage.said_to("tally/specify")[-1]
    assert key not in (pyflakes / TALLY_TEST_FILE).read_text()


@pytest.mark.slow
def test_a_later_task_may_add_to_locked_tests_but_not_change_them(pyflakes: Path) -> None:
    more = "\n    def test_it_is_loud(self):\n        from pyflakes.loud import shout\n\n"
    more += '        self.assertEqual(shout("import os"), "1!")\n'
    stage = Stage(
        pyflakes,
        script(
            plan=[tasks(TALLY, SHOUT)],
            shout__specify=[
                edit(TALLY_TEST_FILE, '("x = 1"), 0)', '("x = 1"), 1)'),
                DONE,
                write(TALLY_TEST_FILE, more, append=True),
                DONE,
            ],
            shout__implement=[write("pyflakes/loud.py", SHOUT_CODE), DONE],
        ),
    )
    assert stage.play().status == "done"
    assert f"They were put back: {TALLY_TEST_FILE}." in stage.said_to("shout/specify")[-1]
    assert (pyflakes / TALLY_TEST_FILE).read_text() == TALLY_TESTS + more
    assert len(stage.state.locks[1].tests) == 1


@pytest.mark.slow
def test_no_tests_at_all_end_the_task(pyflakes: Path) -> None:
    stage = Stage(pyflakes, script(tally__specify=["Done.", "Really."]), replace(PLAIN, max_retries=1))
    assert stage.play().status == "failed"
    assert "You wrote no test file." in stage.said_to("tally/specify")[-1]
    assert stage.steps[-2:] == ["roll_back rolled back", "next nothing"]


@pytest.mark.slow
def test_a_step_that_takes_too_long_is_judged_by_what_it_left(pyflakes: Path) -> None:
    slow = {"text": "Wait", "delay": 30}
    stage = Stage(
        pyflakes,
        script(tally__implement=[write("pyflakes/tally.py", TALLY_CODE), slow]),
        replace(PLAIN, step_seconds=6.0),
    )
    assert stage.play().status == "done"
    assert "The implementer stopped after 6 s, the time of a step" in stage.notices


@pytest.mark.slow
def test_tasks_without_sense_are_sent_back_with_the_exact_fault(pyflakes: Path) -> None:
    circle = tasks({**TALLY, "after": ["shout"]}, SHOUT)
    stage = Stage(pyflakes, script(plan=["I shall do it.", circle, one_task()["plan"][0]]))
    assert stage.play().status == "done"
    assert 'no JSON object with a list of "tasks"' in stage.said_to("plan")[1]
    assert "wait for each other: tally -> shout -> tally" in stage.said_to("plan")[2]
    hopeless = Stage(pyflakes, {"plan": ["No."] * 3}, id="hopeless")
    outcome = hopeless.play()
    assert outcome.status == "failed" and "The architect wrote no usable tasks" in outcome.text


@pytest.mark.slow
def test_the_project_s_own_gates_and_named_checks_have_a_say(pyflakes: Path) -> None:
    gate = 'grep -q "the number of messages" pyflakes/tally.py'
    better = edit("pyflakes/tally.py", "The number of messages", "It is the number of messages")
    stage = Stage(
        pyflakes,
        script(tally__implement=[*one_task()["tally/implement"], better, DONE], tally__review__1=["Reword."]),
        replace(PLAIN, commands={"words": gate}),
        checks=("test -f pyflakes/tally.py",),
    )
    assert stage.play().status == "done"
    judged = [(event.gate, event.ok) for event in stage.events if isinstance(event, Judged)]
    assert ("words", False) in judged and ("test -f pyflakes/tally.py", True) in judged


@pytest.mark.slow
def test_a_project_that_cannot_be_tested_is_told_so(pyflakes: Path) -> None:
    for file in (pyflakes / "pyflakes" / "test").iterdir():
        file.unlink()
    stage = Stage(
        pyflakes,
        script(tally__specify=[write("tests/tally.txt", "assert tally() == 1"), DONE]),
    )
    outcome = stage.play()
    assert outcome.status == "failed" and "kith found no way to run this project's tests" in outcome.text


def test_a_person_may_refuse_the_tasks(pyflakes: Path) -> None:
    before = snapshot(pyflakes)
    stage = Stage(pyflakes, one_task(), answers={"plan": [Answer("no", "not now")]})
    outcome = stage.play()
    assert (outcome.status, outcome.text) == ("rejected", "The tasks were not carried out: not now.")
    assert snapshot(pyflakes) == before


# Beside other tests it fails once there is an invert(), and alone it never does: as a race would.
RACE = """\
import sys
from pathlib import Path


def test_race():
    alone = "toolz.tests.test_dicttoolz" not in sys.modules
    assert alone or "def invert" not in Path("toolz/dicttoolz.py").read_text()
"""


def test_a_flaky_test_speaks_against_nothing(toolz: Path) -> None:
    (toolz / "toolz" / "tests" / "test_race.py").write_text(RACE)
    commit_all(toolz)
    played = {
        "plan": [tasks(INVERT)],
        "1/specify": [write("toolz/tests/test_invert.py", INVERT_TESTS), DONE],
        "1/implement": [write("toolz/dicttoolz.py", INVERT_CODE, append=True), DONE],
    }
    stage = Stage(toolz, played)
    assert stage.play().status == "done"
    last = [each for each in stage.events if isinstance(each, Judged) and each.gate == "tests"][-1]
    assert last.evidence and last.evidence.flaky.first == ("toolz/tests/test_race.py::test_race",)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [{"max_files": 1}, {"max_lines": 3}])
def test_a_task_that_changes_more_than_allowed_is_not_kept(pyflakes: Path, limit: dict[str, int]) -> None:
    before = snapshot(pyflakes)
    big = [
        write("pyflakes/nod.py", NOD_CODE),
        write("pyflakes/other.py", "a = 1\nb = 2\nc = 3\nd = 4\n"),
        DONE,
    ]
    stage = Stage(
        pyflakes,
        script(
            plan=[tasks(NOD)],
            nod__specify=[write("pyflakes/test/test_nod.py", NOD_TESTS), DONE],
            nod__implement=[*big, "I do not know better."],
        ),
        replace(PLAIN, max_retries=0, **limit),
    )
    assert stage.play().status == "failed"
    assert snapshot(pyflakes) == before
