"""Tests whose results cannot be had: they are judged as a command is, by how it ends and what it prints."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gating import LIMITS, judge, make_repository
from kith.core.run import Gate, Run
from kith.core.values import Verdict
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


LESS = TESTS[: TESTS.index("    def test_two")] + "    def test_nothing(self):\n        pass\n"
SKIPPED = TESTS.replace("    def test_two", "    @unittest.skip('x')\n    def test_two")
LEAVES = "\nimport os\nos._exit(0)\n"


def judge_unreported(root: Path, before: str, files: Mapping[str, str | None], claims: Claims) -> Verdict:
    own = {"doubling.py": before, "test_doubling.py": TESTS, BUILD_FOLDER: "a file of the project's own\n"}
    made = Toolchain("x", "", "", "python3 -m unittest", RUNNERS["unittest"])

    def gate(run: Run) -> Gate:
        return evidence_gate(Bench(run.workspace, LIMITS), Check((made,), found=True), claims)

    return judge(make_repository(root, own), files, gate)


@pytest.mark.parametrize(
    ("before", "after", "ok", "grade"),
    [(WRONG, RIGHT, True, "proven"), (RIGHT, WRONG, False, "unproven"), (RIGHT, RIGHT + "\n", True, "held")],
)
def test_a_project_that_keeps_kiths_folder_for_itself(
    tmp_path: Path, before: str, after: str, ok: bool, grade: str
) -> None:
    verdict = judge_unreported(tmp_path / "project", before, {"doubling.py": after}, Claims())
    assert verdict.evidence is not None
    assert (verdict.ok, verdict.evidence.grade) == (ok, grade)


@pytest.mark.parametrize(
    ("before", "files"),
    [
        (WRONG, {"test_doubling.py": LESS}),
        (WRONG, {"test_doubling.py": SKIPPED}),
        (RIGHT, {"test_doubling.py": LESS, "doubling.py": WRONG}),
        (WRONG, {"test_doubling.py": TESTS + LEAVES}),
        (WRONG, {"doubling.py": WRONG + LEAVES}),
        (RIGHT, {"doubling.py": WRONG + LEAVES}),
    ],
)
def test_a_failing_test_may_not_be_silenced(tmp_path: Path, before: str, files: dict[str, str]) -> None:
    verdict = judge_unreported(tmp_path / "project", before, files, Claims())
    assert verdict.evidence is not None
    assert (verdict.ok, verdict.evidence.reason) == (False, "broken")


def test_a_new_behaviour_may_come_with_its_tests(tmp_path: Path) -> None:
    files = {"doubling.py": WRONG, "test_doubling.py": TESTS.replace("4)", "2)")}
    verdict = judge_unreported(tmp_path / "project", RIGHT, files, Claims("Let `double` return what it got."))
    assert verdict.evidence is not None
    assert (verdict.ok, verdict.evidence.grade) == (True, "held")
