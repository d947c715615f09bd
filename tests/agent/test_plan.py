"""Plans: what a reply holds, which of its files exist, and which changed files it covers."""

import json

import pytest

from kith.agent.plan import REQUEST, mark_absent, read_plan
from kith.core.values import Plan


def test_questions_and_confidence_are_read() -> None:
    plan, _ = read_plan(
        json.dumps({"steps": ["x"], "modify": ["./a.py"], "questions": ["Why?"], "confidence": "Low"})
    )
    assert plan == Plan(("x",), modify=("a.py",), questions=("Why?",), confidence="low")


def test_a_confidence_of_no_known_grade_is_none() -> None:
    plan, _ = read_plan(json.dumps({"steps": ["x"], "confidence": 0.9}))
    assert plan and plan.confidence == ""


def test_files_that_do_not_exist_are_marked() -> None:
    plan = mark_absent(Plan(("x",), read=("src", "b.py"), modify=("src/a.py", "new.py")), ["src/a.py"])
    assert plan.absent == ("b.py", "new.py")


@pytest.mark.parametrize(("path", "covered"), [("a.py", True), ("src/b.py", True), ("src2/b.py", False)])
def test_files_and_folders_of_a_plan_cover_changes(path: str, covered: bool) -> None:
    assert Plan(("x",), modify=("a.py", "src")).covers(path) is covered


def test_a_plan_without_files_covers_nothing_and_refuses_nothing() -> None:
    assert Plan(("x",)).covers("a.py") is None


def test_the_request_stays_short() -> None:
    assert len(REQUEST) < 480
