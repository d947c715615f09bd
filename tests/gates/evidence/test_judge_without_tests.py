"""A command that ends well without a test: no check that passes, yet it may not fail with the change."""

from pathlib import Path

import pytest

from gating import LIMITS, judge, make_repository
from kith.core.run import Gate, Run
from kith.gates.evidence.changed_tests import Claims
from kith.gates.evidence.check_runs import Bench
from kith.gates.evidence.judge import evidence_gate
from kith.gates.evidence.judged_change import Check
from kith.gates.toolchain import Toolchain
from runners import RUNNERS

pytestmark = pytest.mark.usefixtures("sandbox")


@pytest.mark.parametrize(
    ("runner", "said"),
    [
        ("go", "?  \texample.org/a\t[no test files]"),
        ("junit", "No tests defined."),
        ("cargo", "running 0 tests"),
    ],
)
@pytest.mark.parametrize(("text", "ok"), [("true\n", True), ("echo broken; exit 2\n", False)])
def test_a_build_without_tests_may_not_break(
    tmp_path: Path, runner: str, said: str, text: str, ok: bool
) -> None:
    root = make_repository(tmp_path / "project", {"build": ":\n"})
    made = Toolchain("x", "", "", f"sh build && echo '{said}'", RUNNERS[runner])

    def gate(run: Run) -> Gate:
        return evidence_gate(Bench(run.workspace, LIMITS), Check((made,), found=True), Claims())

    verdict = judge(root, {"build": text}, gate)
    assert verdict.evidence is not None
    found = (verdict.ok, verdict.evidence.grade, verdict.evidence.checks[0].reason)
    assert found == (ok, "unproven", "blocked" if ok else "broken")
