"""Lines that no test runs go back to the spec author, whose tests must notice planted faults."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from building import DONE, PLAIN, Stage, commit_all, tasks, write
from kith.core.events import Advanced
from kith.core.values import BuildTask
from kith.features.build.state import Build, BuildStep, TaskProgress

TASK = {"id": "1", "title": "Double", "criteria": ["double(2) == 4"], "files": ["twice.py"]}
TESTS = """\
import unittest

from twice import double


class TestDouble(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(2), 4)
"""
CODE = """\
def double(number):
    return number * 2


def half(number):
    if number > 1:
        return number / 2
    return 0
"""
REAL = (
    TESTS.replace("double(2), 4", "[half(4), half(1)], [2, 0]")
    .replace("ouble", "alf")
    .replace("dalf", "half")
)
VACUOUS = REAL.replace("self.assertEqual([half(4), half(1)], [2, 0])", "half(4), half(1)")
EXTRA = "test_half.py"


@pytest.fixture
def project(tmp_path: Path, sandbox: None) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "test_old.py").write_text(
        "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self): ...\n"
    )
    return commit_all(folder)


def build(project: Path, cover: Sequence[Any]) -> Stage:
    """A build of which the tests run half of the code, and what the spec author then does."""
    script = {
        "plan": [tasks(TASK)],
        "1/specify": [write("test_twice.py", TESTS), DONE],
        "1/implement": [write("twice.py", CODE), DONE],
        "cover": cover,
    }
    return Stage(project, script, replace(PLAIN, coverage=90.0))


@pytest.mark.slow
def test_uncovered_lines_get_tests_that_notice_faults(project: Path) -> None:
    stage = build(project, [write(EXTRA, VACUOUS), DONE, write(EXTRA, REAL), DONE])
    assert stage.play().status == "done"
    ended = [step for step in stage.steps if step.startswith(("finish", "cover", "prove"))]
    assert ended == [
        *("finish uncovered", "cover written", "prove wrong"),
        *("cover written", "prove locked", "finish yes"),
    ]
    asked, corrected = stage.said_to("cover")
    assert "twice.py: 6-8" in asked
    assert "twice.py:" in corrected and "- " in corrected and "+ " in corrected, "a planted fault is shown"
    assert set(stage.state.locked_files) == {"test_twice.py", EXTRA}
    assert (project / EXTRA).read_text() == REAL


def test_added_tests_that_fail_too_often_are_taken_out() -> None:
    state = Build(pieces={"1": TaskProgress(BuildTask("1", "Double", ("x",)), "done")}, step=BuildStep.FINISH)
    state.checkpoint = "before"
    for step, outcome in [("finish", "uncovered"), ("cover", "written")]:
        state.take(Advanced(step, outcome))
    assert state.checkpoint != state.uncovered == "before" and state.attempt == 1
    state.take(Advanced("prove", "limit"))
    assert (state.step, state.checkpoint, state.covers) == (BuildStep.FINISH, "before", 1)
