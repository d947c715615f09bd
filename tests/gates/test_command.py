"""Commands that a person names: how they are read, and what may not run."""

from pathlib import Path

import pytest

from gating import judge, make_repository
from kith.gates.command import (
    name_command,
    not_allowed,
)
from kith.gates.toolchain import PYTHON, Toolchain
from runners import RUNNERS

pytestmark = pytest.mark.usefixtures("sandbox")

TESTS = (
    "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, {})\n"
)
UNITTEST = Toolchain("unittest", "Python", "", f"{PYTHON} -m unittest discover", RUNNERS["unittest"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project", {"test_a.py": TESTS.format(2)})


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        (f"{PYTHON} -m unittest -q", "unittest"),
        ("python -m unittest discover -s tests", "unittest"),
        (f"{PYTHON} -m unittest | tee log", "command"),
        ("cd a && python3 -m unittest", "command"),
        ("pytest -q", "command"),
    ],
)
def test_only_a_plain_call_of_unittest_is_read_as_such(command: str, runner: str) -> None:
    assert name_command(command).runner.name == runner


def test_what_was_not_allowed_is_said(project: Path) -> None:
    verdict = judge(project, {}, lambda run: not_allowed(UNITTEST))
    assert verdict.ok and UNITTEST.test in verdict.feedback and not verdict.ran
    assert verdict.evidence and (verdict.evidence.grade, verdict.evidence.reason) == (
        "unproven",
        "not_allowed",
    )
