"""How much evidence a script asks for, from outside: exit codes, the report's fields, the receipt's words."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kith.core.events import Judged
from kith.core.evidence import CheckEvidence, Names, Standing, combine
from kith.core.values import Ran
from kith.view.evidence import word_evidence
from kith.view.items import GateVerdict
from kith.view.wording import line_of
from mending import DONE, NEW, OLD, edit
from outside import Kith, Serve

pytestmark = pytest.mark.usefixtures("sandbox")

CLAMP = ("    return max(low, min(number, high))\n", "    return min(high, max(number, low))\n")


def commit(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).write_text(text)
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-qm", "More"], cwd=folder, check=True)


def run(kith: Kith, serve: Serve, change: Mapping[str, Any], *words: str, code: int = 0) -> dict[str, Any]:
    serve([change, DONE])
    return kith.run("--yes", *words, "improve it", code=code)


def test_a_fix_is_proven_by_its_test(kith: Kith, serve: Serve) -> None:
    report = run(kith, serve, edit())
    assert (report["status"], report["evidence"]) == ("done", "proven")
    (check,) = report["receipt"]["evidence"]["checks"]
    assert check["fixed"]["first"] == ["tests.test_utils.TestUtils.test_mean"]
    assert (check["before"]["failed"], check["after"]["failed"]) == (1, 0)


def test_the_receipt_says_how_sure_it_is(kith: Kith, serve: Serve) -> None:
    serve([edit(), DONE])
    told = kith("run", "--yes", "fix mean")
    words = " ".join(f"{told.stdout} {told.stderr}".split())
    assert "Proven: a test that failed before passes now (tests.test_utils.TestUtils.test_mean)" in words


def test_an_old_failure_is_no_reason_against_a_change(kith: Kith, serve: Serve) -> None:
    report = run(kith, serve, edit(*CLAMP))
    assert (report["status"], report["evidence"]) == ("done", "held")
    (check,) = report["receipt"]["evidence"]["checks"]
    assert check["failing"]["first"] == ["tests.test_utils.TestUtils.test_mean"]
    assert CLAMP[1] in (kith.folder / "utils.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("change", "code"), [((OLD, NEW), 0), (CLAMP, 6)])
def test_more_may_be_required(kith: Kith, serve: Serve, change: tuple[str, str], code: int) -> None:
    report = run(kith, serve, edit(*change), "--require", "proven", code=code)
    assert (report["status"], bool(report["applied"])) == (("done", True) if code == 0 else ("held", False))


def test_what_a_red_command_cannot_tell_is_held_back(kith: Kith, serve: Serve) -> None:
    commit(kith.folder, {"check.sh": "echo 'error: no colours'\nexit 1\n"})
    before = (kith.folder / "utils.py").read_bytes()
    words = ("--check", "sh check.sh", "--tries", "1")
    report = run(kith, serve, edit(), *words, code=6)
    assert (report["status"], report["evidence"], report["applied"]) == ("held", "unproven", None)
    assert report["receipt"]["evidence"]["reason"] == "same_failure"
    assert (kith.folder / "utils.py").read_bytes() == before
    applied = run(kith, serve, edit(), *words, "--unproven")
    assert applied["status"] == "done" and applied["applied"]
    assert NEW in (kith.folder / "utils.py").read_text()


@pytest.mark.slow
def test_what_was_held_back_can_still_be_applied(kith: Kith, serve: Serve) -> None:
    report = run(kith, serve, edit(*CLAMP), "--require", "proven", code=6)
    assert "max(number, low)" in kith("diff", report["session"]).stdout
    kith("apply", "--yes", report["session"])
    assert CLAMP[1] in (kith.folder / "utils.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ("--require", "proven"),
            "Held back: held, not proven (tests that use the changed code pass, none was lost); "
            "--require held applies it.",
        ),
        (
            ("--check", "sh check.sh"),
            "Held back: the check fails exactly as before the change; --unproven applies it.",
        ),
        (
            ("--check", "sh check.sh", "--require", "held"),
            "Held back: unproven, not held (the check fails exactly as before the change); "
            "--require unproven --unproven applies it.",
        ),
    ],
)
def test_a_held_back_change_says_why_and_how_to_apply_it(
    kith: Kith, serve: Serve, words: tuple[str, ...], why: str
) -> None:
    commit(kith.folder, {"check.sh": "echo 'error: no colours'\nexit 1\n"})
    assert run(kith, serve, edit(*CLAMP), *words, "--tries", "1", code=6)["text"] == why
    if "--unproven" in why:
        flags = why.partition(";")[2].removesuffix(" applies it.").split()
        assert run(kith, serve, edit(*CLAMP), *words[:2], "--tries", "1", *flags)["applied"]


def test_two_fixed_tests_are_told_in_the_plural() -> None:
    check = CheckEvidence("pytest", "proven", "fixed", fixed=Names.of(["test_a", "test_b"]))
    told = word_evidence(combine([check]))
    assert told == "Proven: tests that failed before pass now (test_a, test_b)."


def test_what_fails_without_a_test_is_not_called_one() -> None:
    lint = CheckEvidence("npm test", "unproven", "broken")
    assert word_evidence(combine([lint])) == "Unproven: what succeeded before fails with the change."
    check = CheckEvidence("pytest", "unproven", "broken", broken=Names.of(["test_a"]))
    assert word_evidence(combine([check])) == "Unproven: the change breaks, weakens or removes a test."


def test_a_refusal_for_an_undefined_name_says_which(kith: Kith, serve: Serve) -> None:
    serve([edit(OLD, OLD.replace("sum(", "fsum(")), DONE, DONE, DONE])
    told = kith("run", "--yes", "--tries", "2", "--check", "none", "fix mean", code=1)
    fault = "soundness: The change cannot work as it is: utils.py:6: `fsum` is not defined"
    assert told.stderr.count(f"✗ {fault}\n") == 2
    assert f"kith: Nothing was applied: after 2 tries, {fault}." in told.stderr


@pytest.mark.slow
def test_the_reason_of_a_regression_is_told_once(
    kith: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_EDIT_CHECK_SECONDS", "0")
    serve([edit(CLAMP[0], "    return max(low, number)\n"), DONE])
    told = kith("run", "--yes", "--tries", "1", "improve it", code=1)
    assert told.stderr.count("AssertionError: ") == 1
    assert "ends with exit code 1." in told.stderr


def test_a_regression_is_refused_and_told_alone(
    kith: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_EDIT_CHECK_SECONDS", "0")  # else it may be told before the judge
    wrong = ("    return max(low, min(number, high))\n", "    return max(low, number)\n")
    server = serve([edit(*wrong), DONE, edit(wrong[1], wrong[0]), edit(), DONE])
    report = kith.run("--yes", "clamp faster")
    assert (report["status"], report["evidence"]) == ("done", "proven")
    letter = server.requests[2]["messages"][-1]["content"]
    assert "test_clamp" in letter and "1 test failed before your change too" in letter
    assert "0 != 3" not in letter and "test_mean" not in letter


@pytest.mark.slow
def test_a_plan_to_alter_a_test_is_asked_about(kith: Kith, serve: Serve) -> None:
    path = "tests/test_utils.py"
    weaken = {"path": path, "old": "clamp(11, 0, 10), 10", "new": "clamp(11, 0, 10), 11"}
    breaks = {"path": "utils.py", "old": CLAMP[0], "new": "    return number\n"}
    calls = [{"name": "edit", "args": each} for each in (weaken, breaks)]
    claim = "tests.test_utils.TestUtils.test_clamp: the task asks to keep large numbers"
    named = {"summary": "clamp() keeps numbers.", "changed_tests": [claim]}
    serve([{"calls": calls}, {"calls": [{"name": "done", "args": named}]}])
    report = kith.run("--yes", "keep large numbers", code=6)
    assert report["receipt"]["evidence"]["reason"] == "disputed"
    (check,) = report["receipt"]["evidence"]["checks"]
    assert check["broken"]["first"] == [claim.partition(":")[0]] and check["claimed"] == [claim]


def test_a_test_broken_on_purpose_is_no_green_tick() -> None:
    names, after = Names.of(["test_clamp"]), Standing(1, 2, 1, seconds=8.24, counted=True)
    check = CheckEvidence("pytest", "unproven", "disputed", after=after, broken=names)
    ran = (Ran("pytest", 1, "", 8.24),)
    style, line = line_of(GateVerdict("1", (), 0.0, Judged("pytest", True, 1, ran=ran, evidence=check)))
    assert style == "note"
    assert line == "  ! pytest: 1 broken, which the model insists on (test_clamp)  8.2 s"


# The check is quick before the change, and does not end where `utils.py` has the word in it.
LATE = "grep -q {word} utils.py && sleep 60\ngrep -q zero utils.py || exit 3\n"
SLOW = ("    return min(high, max(number, low))  # slow, zero\n", "    return max(low, number)  # zero\n")


def late(kith: Kith, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (kith.folder / "utils.py").read_text().replace(CLAMP[0], CLAMP[0].rstrip() + "  # zero\n")
    commit(kith.folder, {"check.sh": LATE.format(word="slow"), "utils.py": text})
    monkeypatch.setenv("KITH_CHECK", "sh check.sh")
    monkeypatch.setenv("KITH_CHECK_TIMEOUT", "1")


@pytest.mark.slow
def test_a_late_check_is_told_once_and_waits(
    kith: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    late(kith, monkeypatch)
    server = serve([edit(CLAMP[0].rstrip() + "  # zero\n", SLOW[0]), DONE, DONE])
    report = kith.run("--yes", "improve it", code=6)
    assert (report["status"], report["receipt"]["evidence"]["reason"]) == ("held", "out_of_time")
    assert "check_timeout" in report["text"] and "--unproven" in report["text"]
    assert len(server.requests) == 3
    assert "So nothing is known about your change" in server.requests[2]["messages"][-1]["content"]
    assert "slow" in kith("diff", report["session"]).stdout


@pytest.mark.slow
def test_a_late_check_costs_no_try(kith: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    late(kith, monkeypatch)
    old = CLAMP[0].rstrip() + "  # zero\n"
    wrong, right = "    return max(low, number)\n", "    return max(low, min(high, number))  # zero\n"
    steps = [(old, SLOW[0]), (SLOW[0], wrong), (wrong, right)]
    serve([reply for step in steps for reply in (edit(*step), DONE)])
    report = kith.run("--yes", "--tries", "2", "improve it")
    assert report["status"] == "done" and right in (kith.folder / "utils.py").read_text()


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("ok", [False, True])
def test_a_late_check_is_no_green_tick(counted: bool, ok: bool) -> None:
    before = Standing(0, 9, seconds=4.0, counted=counted)
    after = Standing(124, 2, seconds=68.0, counted=counted, timed_out=True)
    check = CheckEvidence("pytest", "unproven", "out_of_time", before, after)
    ran = (Ran("pytest", 124, "", 68.0, timed_out=True),)
    style, line = line_of(GateVerdict("1", (), 0.0, Judged("pytest", ok, 1, ran=ran, evidence=check)))
    assert style != "good" and "timed out" in line and "as before" not in line
    assert word_evidence(combine([check])).endswith("timed out after 68 s; set check_timeout higher.")
