"""Tests whose results cannot be had: they are judged as a command is, by how it ends and what it prints."""

from pathlib import Path

import pytest

from gating import LIMITS, judge, make_repository
from kith.core.run import Gate, Run
from kith.gates.evidence.changed_tests import Claims
from kith.gates.evidence.check_runs import Bench
from kith.gates.evidence.judge import evidence_gate
from kith.gates.evidence.judged_change import Check
from kith.gates.toolchain import BUILD_FOLDER, Toolchain
from runners import RUNNERS

pytestmark = pytest.mark.usefixtures("sandbox")

WRONG, RIGHT = "def double(n):\n    return n\n", "def double(n):\n    return 2 * n\n"
TESTS = """\
import unittest
from doubling import double

class TestDouble(unittest.TestCase):
    def test_two(self):
        self.assertEqual(double(2), 4)
"""


@pytest.mark.parametrize(
    ("before", "after", "ok", "grade"),
    [(WRONG, RIGHT, True, "proven"), (RIGHT, WRONG, False, "unproven"), (RIGHT, RIGHT + "\n", True, "held")],
)
def test_a_project_that_keeps_kiths_folder_for_itself(
    tmp_path: Path, before: str, after: str, ok: bool, grade: str
) -> None:
    files = {"doubling.py": before, "test_doubling.py": TESTS, BUILD_FOLDER: "a file of the project's own\n"}
    root = make_repository(tmp_path / "project", files)
    made = Toolchain("x", "", "", "python3 -m unittest", RUNNERS["unittest"])

    def gate(run: Run) -> Gate:
        return evidence_gate(Bench(run.workspace, LIMITS), Check((made,), found=True), Claims())

    verdict = judge(root, {"doubling.py": after}, gate)
    assert verdict.evidence is not None
    assert (verdict.ok, verdict.evidence.grade) == (ok, grade)
