"""`kith run` from outside: a task goes in, a tested diff comes out, somebody says yes."""

import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from mending import CHECK, DONE, NEW, OLD, blocks, edit
from outside import Kith, Serve
from sparing import first
from waiting import running, until


def diff(old: str, new: str) -> str:
    return f"```diff\n--- a/utils.py\n+++ b/utils.py\n@@ ... @@\n-{old}+{new}```\n"


def whole(repository: Path) -> str:
    return f"utils.py\n```python\n{(repository / 'utils.py').read_text().replace(OLD, NEW)}```\n"


@pytest.mark.parametrize("dialect", first(["ollama", "llama-server"]))
@pytest.mark.parametrize("form", ["calls", "blocks", "diff", "whole"])
def test_every_edit_form_becomes_one_tested_change(kith: Kith, serve: Serve, form: str, dialect: str) -> None:
    texts = {"blocks": blocks(OLD, NEW), "diff": diff(OLD, NEW), "whole": whole(kith.folder)}
    serve([edit(), DONE] if form == "calls" else [texts[form]], dialect)
    report = kith.run("--yes", "--check", CHECK, "fix the failing test")
    assert report["status"] == "done"
    assert NEW in (kith.folder / "utils.py").read_text()
    (change,) = report["changes"]
    assert (change["path"], change["added"], change["removed"]) == ("utils.py", 1, 1)
    checks = report["receipt"]["checks"]
    assert [each["ok"] for each in checks["before"]] == [False]
    assert [each["ok"] for each in checks["after"]] == [True]
    assert report["usage"]["calls"] == (2 if form == "calls" else 1)
    assert report["usage"]["input"] > 0 and report["usage"]["output"] > 0


def test_a_failing_check_is_the_next_message(kith: Kith, serve: Serve) -> None:
    wrong = OLD.replace("+ 1", "+ 2")
    server = serve([edit(OLD, wrong), DONE, edit(wrong, NEW), DONE])
    report = kith.run("--yes", "--check", CHECK, "fix mean")
    assert report["status"] == "done"
    assert [each["ok"] for each in report["receipt"]["checks"]["after"]] == [False, True]
    feedback = server.requests[2]["messages"][-1]
    assert feedback["role"] == "user" and "test_mean" in feedback["content"] and CHECK in feedback["content"]


@pytest.mark.slow
def test_after_the_last_try_nothing_is_applied_and_the_reason_is_said(kith: Kith, serve: Serve) -> None:
    before = (kith.folder / "utils.py").read_bytes()
    serve([edit(OLD, OLD.replace("+ 1", "+ 2")), DONE, DONE])
    report = kith.run("--yes", "--check", CHECK, "--tries", "2", "fix mean", code=6)
    assert (report["status"], report["receipt"]["evidence"]["reason"]) == ("held", "unmet")
    assert report["applied"] is None
    assert (kith.folder / "utils.py").read_bytes() == before


@pytest.mark.slow
def test_a_person_sees_which_test_fails_and_why(kith: Kith, serve: Serve) -> None:
    serve([edit(OLD, OLD.replace("+ 1", "+ 2")), DONE])
    check = ("--check", "python3 -m unittest discover")
    told = kith("run", "--yes", *check, "--tries", "1", "fix mean", code=6)
    line = "1 of 3 tests fail: tests.test_utils.TestUtils.test_mean: AssertionError: 1.5 != 3"
    assert line in told.stderr and "Unproven: the check that must pass still fails." in told.stderr


def test_a_claim_is_not_a_check(kith: Kith, serve: Serve) -> None:
    lie = {"calls": [{"name": "done", "args": {"summary": "All tests pass."}}]}
    serve([lie, lie, lie])
    report = kith.run("--yes", "--check", CHECK, "fix mean", code=1)
    assert report["status"] == "failed"


@pytest.mark.usefixtures("sandbox")
def test_what_git_ignores_lets_no_check_pass(kith: Kith, serve: Serve) -> None:
    forged = {"command": "mkdir -p __pycache__ && echo fine > __pycache__/verdict && echo x >> README.md"}
    serve([{"calls": [{"name": "bash", "args": forged}]}, *[DONE] * 3])
    report = kith.run("--yes", "--check", "grep -q fine __pycache__/verdict", "fix mean", code=6)
    assert report["status"] == "held" and report["receipt"]["evidence"]["reason"] == "same_failure"


@pytest.mark.usefixtures("sandbox")
def test_the_projects_own_check_is_found(kith: Kith, serve: Serve) -> None:
    serve([edit(), DONE])
    report = kith.run("--yes", "fix mean")
    (after,) = report["receipt"]["checks"]["after"]
    assert after["ok"] and "unittest" in after["commands"][0]["command"]


@pytest.mark.slow
def test_without_a_check_it_says_so(kith: Kith, serve: Serve) -> None:
    serve([edit(), DONE])
    report = kith.run("--yes", "--check", "none", "fix mean")
    assert report["receipt"]["not_checked"] == ["No check command was run on the change."]


def test_nobody_to_ask_means_no_and_the_diff_is_printed(kith: Kith, serve: Serve) -> None:
    serve([edit(), DONE])
    done = kith("run", "fix mean", code=3)
    assert f"-{OLD}" in done.stdout and f"+{NEW}" in done.stdout
    assert OLD in (kith.folder / "utils.py").read_text()
    assert (
        subprocess.run(["git", "apply", "--check"], cwd=kith.folder, input=done.stdout, text=True).returncode
        == 0
    )


def test_a_question_is_answered_without_a_diff(kith: Kith, serve: Serve) -> None:
    serve([{"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}]}, "It computes a mean."])
    done = kith("-p", "what does mean do?")
    assert done.stdout.strip() == "It computes a mean."


def test_read_only_changes_nothing_even_when_the_model_tries(kith: Kith, serve: Serve) -> None:
    server = serve(
        [edit(), {"calls": [{"name": "bash", "args": {"command": "rm utils.py"}}]}, blocks(OLD, NEW)]
    )
    report = kith.run("--read-only", "--yes", "fix mean")
    assert report["changes"] == [] and OLD in (kith.folder / "utils.py").read_text()
    refusals = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    assert len(refusals) == 2 and all("read-only" in words for words in refusals)


@pytest.mark.slow
def test_the_plan_comes_first_and_reads_only(kith: Kith, serve: Serve) -> None:
    plan = json.dumps({"steps": ["Divide by the count"], "read": ["utils.py"], "modify": ["utils.py"]})
    server = serve([edit(), plan, edit(), DONE])
    done = kith("run", "--show-plan", "--yes", "--check", CHECK, "fix mean")
    assert "1. Divide by the count" in done.stderr
    assert NEW in (kith.folder / "utils.py").read_text()
    assert "not allowed in read-only mode" in server.requests[1]["messages"][-1]["content"]


def test_the_report_tells_what_left_the_plan(kith: Kith, serve: Serve) -> None:
    plan = {"steps": ["Divide"], "modify": ["other.py"], "questions": ["Round?"], "confidence": "medium"}
    serve([json.dumps(plan), edit(), DONE])
    report = kith.run("--plan", "--yes", "--check", CHECK, "fix mean")
    assert report["plan"]["confidence"] == "medium" and report["plan"]["questions"] == ["Round?"]
    assert report["plan"]["absent"] == ["other.py"]
    assert [change["planned"] for change in report["changes"]] == [False]


@pytest.mark.slow
def test_a_plan_nobody_agrees_to_ends_it(kith: Kith, serve: Serve) -> None:
    serve([json.dumps({"steps": ["x"]})])
    report = kith.run("--show-plan", "fix mean", code=3)
    assert report["status"] == "rejected"


@pytest.mark.slow
def test_stream_json_prints_every_event(kith: Kith, serve: Serve) -> None:
    serve([edit(), DONE])
    lines = kith(
        "run", "--yes", "--output-format", "stream-json", "--check", CHECK, "fix mean"
    ).stdout.splitlines()
    names = [json.loads(line)["event"] for line in lines]
    assert names[0] == "RunStarted" and names[-1] == "RunEnded"
    assert {
        "Said",
        "Called",
        "ToolBegan",
        "ToolEnded",
        "Judged",
        "Proposed",
        "Asked",
        "Answered",
        "Applied",
    } <= set(names)


def test_each_request_begins_with_the_one_before_byte_for_byte(kith: Kith, serve: Serve) -> None:
    looks = [{"calls": [{"name": "search", "args": {"pattern": f"word{n}"}}]} for n in range(18)]
    server = serve([*looks, edit(), DONE], "llama-server", "--window", "100000")
    kith.run("--yes", "--check", CHECK, "fix mean")
    requests = server.requests
    assert len(requests) == 20
    for one, two in pairwise(requests):
        before, after = json.dumps(one["messages"]), json.dumps(two["messages"])
        assert after.startswith(before[:-1])
        assert one["tools"] == two["tools"]


@pytest.mark.slow
def test_text_piped_in_is_added_to_the_task(kith: Kith, serve: Serve) -> None:
    server = serve(["ok"])
    kith("run", "explain this", input="Traceback: boom")
    opening = server.requests[0]["messages"][1]["content"]
    assert opening.endswith("# Task\nexplain this\n\nTraceback: boom")


def test_undo_takes_it_back_and_undo_of_undo_brings_it_again(kith: Kith, serve: Serve) -> None:
    before = (kith.folder / "utils.py").read_bytes()
    serve([edit(), DONE])
    kith.run("--yes", "--check", CHECK, "fix mean")
    after = (kith.folder / "utils.py").read_bytes()
    said = kith("undo").stdout
    assert (kith.folder / "utils.py").read_bytes() == before
    again = said.strip().split("kith undo ")[1]
    kith("undo", again)
    assert (kith.folder / "utils.py").read_bytes() == after
    assert "No change 'nosuchid'" in kith("undo", "nosuchid", code=2).stderr


@pytest.mark.slow
def test_undo_of_an_earlier_task_keeps_later_edits(kith: Kith, serve: Serve) -> None:
    serve([edit(), DONE])
    report = kith.run("--yes", "--check", "none", "fix mean")
    utils = kith.folder / "utils.py"
    utils.write_text(utils.read_text() + "\n\ndef later():\n    return 1\n")
    kith("undo", report["session"])
    assert OLD in utils.read_text() and "def later" in utils.read_text()


def test_undo_passes_over_a_change_that_was_dropped(kith: Kith, serve: Serve) -> None:
    utils = kith.folder / "utils.py"
    committed = utils.read_text()
    serve([edit(), DONE, edit(NEW, OLD.replace("+ 1", "+ 2")), DONE])
    kith.run("--yes", "--check", "none", "fix mean")
    first = utils.read_text()
    id = kith.run("--yes", "--check", "none", "again")["applied"][-6:]
    utils.write_text(first)
    words = f"kith: Change {id} is no longer in your files. The next undo reverts the one before it.\n"
    assert kith("undo", code=1).stderr == words
    kith("undo")
    assert utils.read_text() == committed


def test_undo_says_a_conflict_and_changes_nothing(kith: Kith, serve: Serve) -> None:
    serve([edit(), DONE])
    kith.run("--yes", "--check", "none", "fix mean")
    utils = kith.folder / "utils.py"
    utils.write_text(utils.read_text().replace("max(len(numbers), 1)", "len(numbers)"))
    mine = utils.read_bytes()
    done = kith("undo", code=1)
    assert "utils.py" in done.stderr and utils.read_bytes() == mine


def test_direct_requests_need_no_model(kith: Kith) -> None:
    report = kith.run(
        "--yes", "--check", CHECK, 'replace "len(numbers) + 1" with "max(len(numbers), 1)" in utils.py'
    )
    assert report["status"] == "done" and report["usage"]["calls"] == 0
    assert report["receipt"]["checks"]["after"][0]["ok"]
    kith.run("--yes", "--check", CHECK, "rename clamp to limit")
    assert "def limit(" in (kith.folder / "utils.py").read_text()
    assert "limit(11, 0, 10)" in (kith.folder / "tests" / "test_utils.py").read_text()


def test_a_model_is_asked_where_a_direct_request_goes_further(kith: Kith, serve: Serve) -> None:
    serve([edit(), DONE])
    report = kith.run("--yes", "--check", "none", "rename utils to helpers")
    assert report["status"] == "done" and report["usage"]["calls"] == 2


def test_a_direct_request_passes_the_same_gates(kith: Kith) -> None:
    words = 'replace "return" with "raise" in utils.py'
    report = kith.run("--yes", "--check", "grep -q return utils.py", words, code=1)
    assert report["status"] == "failed" and OLD in (kith.folder / "utils.py").read_text()


@pytest.mark.slow
def test_a_direct_request_is_not_blamed_for_what_failed_before(kith: Kith) -> None:
    report = kith.run("--yes", "--no-worse", CHECK, 'append "# end" to utils.py')
    assert report["status"] == "done" and report["evidence"] == "held"
    asked = kith.run("--yes", "--check", CHECK, 'append "# end" to utils.py', code=6)
    assert asked["status"] == "held" and asked["waiting"]


@pytest.mark.slow
def test_a_commit_the_model_made_is_made_in_the_project(kith: Kith, serve: Serve) -> None:
    stage = {"calls": [{"name": "git", "args": {"action": "stage", "paths": ["utils.py"]}}]}
    commit = {"calls": [{"name": "git", "args": {"action": "commit", "message": "Divide by the count"}}]}
    serve([edit(), stage, commit, DONE])
    kith.run("--yes", "--check", CHECK, "fix mean and commit it")
    log = subprocess.run(
        ["git", "log", "--format=%s"], cwd=kith.folder, capture_output=True, text=True
    ).stdout
    assert log.split("\n")[0] == "Divide by the count"
    status = subprocess.run(["git", "status", "--porcelain"], cwd=kith.folder, capture_output=True, text=True)
    assert status.stdout == ""


@pytest.mark.parametrize(("number", "code"), first([(signal.SIGINT, 130), (signal.SIGTERM, 143)]))
@pytest.mark.usefixtures("sandbox")
def test_a_signal_ends_it_at_once_and_it_can_be_resumed(
    kith: Kith, serve: Serve, number: signal.Signals, code: int
) -> None:
    sleep = f"sleep 6{number.value}{os.getpid()}"
    serve([edit(), {"calls": [{"name": "bash", "args": {"command": sleep}}]}, DONE])
    command = [
        sys.executable,
        "-m",
        "kith",
        "run",
        "--yes",
        "--check",
        CHECK,
        "--output-format",
        "stream-json",
        "fix",
    ]
    process = subprocess.Popen(
        command, cwd=kith.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "ToolBegan" and event["name"] == "bash":
            break
    until(lambda: running(sleep.replace(" ", "\0")))
    process.send_signal(number)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert '"interrupted"' in rest
    assert OLD in (kith.folder / "utils.py").read_text()
    assert not running(sleep.replace(" ", "\0"))
    session = json.loads(kith("sessions", "--json").stdout)[0]["id"]
    serve([DONE])
    report = kith.run("--yes", "--check", CHECK, "--resume", session)
    assert report["status"] == "done" and NEW in (kith.folder / "utils.py").read_text()


@pytest.mark.usefixtures("sandbox")
def test_kill_9_loses_nothing_and_the_session_resumes(kith: Kith, serve: Serve) -> None:
    serve([edit(), {"calls": [{"name": "bash", "args": {"command": "sleep 60"}}]}])
    command = [sys.executable, "-m", "kith", "run", "--yes", "--output-format", "stream-json", "fix mean"]
    process = subprocess.Popen(
        command, cwd=kith.folder, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert process.stdout
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "ToolBegan" and event["name"] == "bash":
            break
    process.kill()
    process.communicate()
    session = json.loads(kith("sessions", "--json").stdout)[0]
    assert session["status"] == "unfinished"
    server = serve([DONE])
    report = kith.run("--yes", "--check", CHECK, "--resume", session["id"])
    assert report["status"] == "done" and NEW in (kith.folder / "utils.py").read_text()
    assert "Interrupted, outcome unknown" in server.requests[0]["messages"][-1]["content"]
