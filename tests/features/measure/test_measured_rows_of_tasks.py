"""What tasks earn, measured on logs that kith itself has written: played models, real checks, real undos."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kith.features.measure.measured_rows import Measured, read_measured
from kith.memory.log import Log
from mending import CHECK, DONE, NEW, OLD, edit
from outside import Kith

WRONG = OLD.replace("+ 1", "+ 2")
MISSING = {"calls": [{"name": "edit", "args": {"path": "utils.py", "old": "nothing of this", "new": "x"}}]}
BROKEN = {"calls": [{"name": "edit", "args": {"path": "utils.py"}}]}
ELSEWHERE = {"calls": [{"name": "edit", "args": {"path": "util.py", "old": "a", "new": "b"}}]}
Play = Callable[..., list[str]]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """The arguments for a model that says these replies, one after the other."""

    def write(*replies: Any) -> list[str]:
        path = tmp_path / "script.json"
        path.write_text(json.dumps(replies))
        return ["-m", f"replay/{path}"]

    return write


def measured(root: Path | None = None) -> Measured:
    state, cache = Path(os.environ["XDG_STATE_HOME"]) / "kith", Path(os.environ["XDG_CACHE_HOME"]) / "kith"
    log = Log(state / "log.sqlite3")
    kept, fresh = read_measured(log, root, cache=cache), read_measured(log, root)
    assert (kept.calls, kept.legs, kept.verdicts) == (fresh.calls, fresh.legs, fresh.verdicts)
    return kept


def test_a_mended_test_is_worth_a_whole_solution(kith: Kith, play: Play) -> None:
    kith.run(*play(edit(), DONE), "--yes", "--check", CHECK, "fix the failing test in utils.py")
    found = measured(kith.folder)
    (leg,) = found.legs
    assert (leg.reward, leg.weight, leg.reason) == (1.0, 1.0, "tests")
    assert (leg.parsed, leg.applied, leg.passed, leg.adopted, leg.undone) == (True, True, True, True, False)
    assert (leg.steps, leg.attempts, leg.part, leg.after, leg.failures) == (2, 1, "", "", {})
    assert leg.check == (CHECK,) and leg.words == "fix the failing test in utils.py"
    assert leg.seconds > 0 and leg.usage.output > 0 and leg.kind == "fix-failing-test"
    assert [call.purpose for call in found.calls] == ["edit", "edit"]
    assert found.calls[0].step == "attempt 1" and found.calls[0].root == str(kith.folder)
    assert sum(call.usage.output for call in found.calls) == leg.usage.output
    assert [(each.gate, each.ok, each.call) for each in found.verdicts] == [
        ("limits", True, 2),
        ("soundness", True, 2),
        (CHECK, True, 2),
    ]
    assert measured(kith.folder.parent).legs == ()


@pytest.mark.slow
def test_a_suite_that_passed_before_is_worth_half(kith: Kith, play: Play) -> None:
    kith.run(*play(edit(), DONE), "--yes", "--check", "true", "fix mean")
    (leg,) = measured().legs
    assert (leg.reward, leg.weight, leg.reason) == (1.0, 0.5, "suite")


@pytest.mark.slow
def test_without_a_check_nothing_is_known(kith: Kith, play: Play) -> None:
    kith.run(*play(edit(), DONE), "--yes", "--check", "none", "fix mean")
    (leg,) = measured().legs
    assert (leg.reward, leg.passed, leg.applied, leg.adopted, leg.reason) == (None, None, True, True, "")


@pytest.mark.slow
def test_after_a_refused_attempt_the_last_one_counts(kith: Kith, play: Play) -> None:
    script = play(edit(OLD, WRONG), DONE, edit(WRONG, NEW), DONE)
    kith.run(*script, "--yes", "--check", CHECK, "fix mean")
    found = measured()
    (leg,) = found.legs
    assert (leg.reward, leg.reason, leg.attempts, leg.steps) == (1.0, "tests", 2, 4)
    assert leg.failures == {"test_fail": 1}
    said = [(each.attempt, each.ok, each.call) for each in found.verdicts if each.gate == CHECK]
    assert said == [(1, False, 2), (2, True, 4)]


@pytest.mark.slow
def test_tests_that_fail_to_the_end_are_worth_nothing(kith: Kith, play: Play) -> None:
    script = play(edit(OLD, WRONG), DONE, DONE)
    kith.run(*script, "--yes", "--check", CHECK, "--tries", "2", "fix mean", code=6)
    (leg,) = measured().legs
    assert (leg.reward, leg.weight, leg.reason) == (0.0, 1.0, "tests")
    assert (leg.passed, leg.adopted, leg.applied) == (False, None, True)


def test_edits_that_never_fit_are_counted_by_sort(kith: Kith, play: Play) -> None:
    kith.run(*play(MISSING, BROKEN, ELSEWHERE, "I cannot do it."), "--yes", "--check", "none", "fix mean")
    (leg,) = measured().legs
    assert leg.failures == {"malformed_edit": 1, "malformed_call": 1, "wrong_file": 1}
    assert (leg.parsed, leg.applied, leg.reward, leg.reason) == (False, False, 0.0, "malformed")


@pytest.mark.slow
def test_a_limit_counts_against_the_model_until_the_task_is_gone_on_with(kith: Kith, play: Play) -> None:
    run = ("--yes", "--check", CHECK, "--max-steps", "1")
    report = kith.run(*play(edit()), *run, "fix mean", code=4)
    (leg,) = measured().legs
    assert (leg.reward, leg.reason, leg.failures) == (0.0, "limit", {"limit": 1})
    kith.run(*play(DONE), "--resume", report["session"], "--yes")
    (leg,) = measured().legs
    assert (leg.task, leg.reward, leg.reason) == (1, 1.0, "tests")


def test_a_server_that_never_answered_says_nothing_of_its_model(kith: Kith, play: Play) -> None:
    down = {"error": {"text": "the server is down", "retryable": False}}
    kith.run(*play(down), "--yes", "fix mean", code=None)
    found = measured()
    (leg,) = found.legs
    assert leg.reward is None and "down" in found.calls[0].error


@pytest.mark.slow
def test_undone_in_a_later_session_and_brought_back(kith: Kith, play: Play) -> None:
    kith.run(*play(edit(), DONE), "--yes", "--check", CHECK, "fix mean")
    assert measured().legs[0].reward == 1.0
    kith("undo")
    (leg,) = measured().legs
    assert (leg.reward, leg.weight, leg.reason, leg.undone) == (0.0, 1.0, "undone", True)
    assert (leg.adopted, leg.passed) == (True, True)
    undo = Log(Path(os.environ["XDG_STATE_HOME"]) / "kith" / "log.sqlite3").applied(str(kith.folder))[-1]
    kith("undo", undo[0])
    (leg,) = measured().legs
    assert (leg.reward, leg.reason, leg.undone) == (1.0, "tests", False)


@pytest.mark.slow
def test_a_task_that_was_handed_on_is_a_leg_for_each_model(
    kith: Kith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for role, replies in (("local", [edit(OLD, WRONG), DONE]), ("frontier", [edit(), DONE])):
        (tmp_path / f"{role}.json").write_text(json.dumps(replies))
        monkeypatch.setenv(f"KITH_ROUTE_{role.upper()}", f"replay/{tmp_path}/{role}.json")
    kith.run("--yes", "-m", "route", "--check", CHECK, "--tries", "1", "fix the failing test")
    local, frontier = measured().legs
    assert (local.model, local.reward, local.reason, local.after) == ("replay/local", 0.0, "tests", "")
    assert (frontier.model, frontier.reward, frontier.reason, frontier.adopted) == (
        "replay/frontier",
        1.0,
        "tests",
        True,
    )
    assert len(local.plan) == 2 and local.plan[1:] == frontier.plan and frontier.after
    assert local.kind == frontier.kind == "fix-failing-test"


def test_nobody_there_to_say_yes_is_no_verdict_on_the_model(kith: Kith, play: Play) -> None:
    kith.run(*play(edit(), DONE), "--check", CHECK, "fix mean", code=3)
    (leg,) = measured().legs
    assert (leg.reward, leg.reason, leg.adopted) == (1.0, "tests", False)


def test_a_question_that_was_answered_has_no_evidence(kith: Kith, play: Play) -> None:
    kith.run(*play("It is the mean."), "--read-only", "what does mean do?")
    (leg,) = measured().legs
    assert (leg.reward, leg.applied, leg.parsed, leg.kind) == (None, None, None, "explain")


def test_tasks_that_need_no_model_are_no_legs(kith: Kith) -> None:
    kith.run("--yes", "--check", "none", "rename mean to average")
    found = measured()
    assert not found.legs and not found.calls
