"""What the pieces of a build earn: each by its own tests, whatever becomes of the others."""

from pathlib import Path
from typing import Any

import pytest

from building import DONE, Stage, edit, tasks, write
from kith.core.events import Applied, Options, RunEnded, RunStarted
from kith.features.measure.measured_rows import Measured, read_measured
from kith.memory.session import Session


def task(name: str, after: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"id": name, "title": f"Add {name}", "criteria": [f"{name}(1) == 2"], "after": list(after)}


def specify(name: str) -> list[dict[str, Any]]:
    test = (
        f"import unittest\n\nfrom {name} import {name}\n\n\nclass Test(unittest.TestCase):\n"
        f"    def test_it(self):\n        self.assertEqual({name}(1), 2)\n"
    )
    return [write(f"tests/test_{name}.py", test), DONE]


def code(name: str, result: str) -> str:
    return f'"""One function."""\n\n\ndef {name}(number):\n    """A number."""\n    return {result}\n'


@pytest.fixture
def mended(repository: Path, sandbox: None) -> Path:
    """The small project with nothing wrong in it."""
    utils = repository / "utils.py"
    utils.write_text(utils.read_text().replace("(len(numbers) + 1)", "max(len(numbers), 1)"))
    return repository


def play(stage: Stage, status: str) -> Measured:
    with Session(stage.log, stage.id) as session:
        session.emit(RunStarted("Add both.", str(stage.root), "", "0", Options("build")))
    ended = stage.play()
    assert ended.status == status, ended.text
    with Session(stage.log, stage.id) as session:
        session.emit(RunEnded(ended.status, ended.text))
    return read_measured(stage.log, stage.root)


@pytest.mark.slow
def test_each_task_of_a_build_is_a_leg_of_its_implementer(mended: Path) -> None:
    stage = Stage(
        mended,
        {
            "plan": [tasks(task("twice"), task("next_one", ("twice",)))],
            "twice/specify": specify("twice"),
            "twice/implement": [
                write("twice.py", code("twice", "number")),
                DONE,
                edit("twice.py", "    return number", "    return 2 * number"),
                DONE,
            ],
            "twice/review/1": ["Multiply it."],
            "next_one/specify": specify("next_one"),
            "next_one/implement": [write("next_one.py", code("next_one", "number + 1")), DONE],
        },
    )
    found = play(stage, "done")
    twice, after = found.legs
    assert (twice.part, twice.attempts, twice.steps, twice.failures) == ("twice", 2, 4, {"test_fail": 1})
    assert (twice.reward, twice.weight, twice.reason, twice.adopted) == (1.0, 1.0, "tests", True)
    assert twice.words == "Add twice" and twice.check and twice.model == "actor"
    assert (after.part, after.attempts, after.steps, after.failures) == ("next_one", 1, 2, {})
    assert (after.reward, after.passed, after.applied, after.adopted) == (1.0, True, True, True)
    assert {"plan", "spec", "implement", "review"} <= {call.purpose for call in found.calls}
    said = [(each.part, each.ok) for each in found.verdicts if each.gate == "tests"]
    assert said == [("twice", False), ("twice", True), ("next_one", True)]

    change = next(event for event in stage.events if isinstance(event, Applied))
    with Session(stage.log, "undo") as session:
        session.emit(RunStarted("undo", str(mended), "", "0"))
        session.emit(Applied("u1", (), undoes=change.change_id))
    undone = read_measured(stage.log, mended).legs
    assert [(leg.part, leg.reward, leg.reason) for leg in undone] == [
        ("twice", 0.0, "undone"),
        ("next_one", 0.0, "undone"),
    ]


@pytest.mark.slow
def test_a_task_that_was_rolled_back_is_not_solved_and_the_other_is(mended: Path) -> None:
    stage = Stage(
        mended,
        {
            "plan": [tasks(task("twice"), task("next_one"))],
            "twice/specify": specify("twice"),
            "twice/implement": [write("twice.py", code("twice", "number")), DONE],
            "next_one/specify": specify("next_one"),
            "next_one/implement": [write("next_one.py", code("next_one", "number + 1")), DONE],
        },
    )
    stage.options = type(stage.options)(refine=False, coverage=0, suite=stage.options.suite, max_retries=0)
    twice, after = play(stage, "done").legs
    assert (twice.part, twice.reward, twice.reason, twice.adopted) == ("twice", 0.0, "tests", None)
    assert (after.part, after.reward, after.reason, after.adopted) == ("next_one", 1.0, "tests", True)
