"""A change that is not applied waits in its trial, on every path, until somebody wants it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from built import ADVISED, PLANNED, SPECIFIED, TRIED, _step
from conferring import MEND, NONE, OTHER, RIGHT, play
from kith.trees.trial_folder import claim_folder
from mending import CHECK, DONE, NEW, OLD, edit
from outside import Kith
from played_screen import converse
from reviewing import BETTER, DIVIDES, change, finding, replay, review
from waiting import until

WRONG = OLD.replace("+ 1", "+ 2")
FAILING = ("--check", "grep -qF '+ 1)' utils.py")  # which the change breaks
UNCHECKED = ("--check", "none")


def scripted(kith: Kith, *replies: Any) -> tuple[str, str]:
    """The option that names a model which answers so."""
    file = kith.folder.parent / "script.json"
    file.write_text(json.dumps(replies))
    return "-m", f"replay/{file}"


def refused(kith: Kith, new: str = WRONG) -> str:
    """The session of a task whose change a check has refused."""
    model = scripted(kith, edit(OLD, new), DONE)
    report = kith.run(*model, *FAILING, "--yes", "--tries", "1", "fix mean", code=1)
    assert report["applied"] is None and report["waiting"] == f"{report['session']}-1"
    assert utils(kith) == original(kith)
    return str(report["session"])


def utils(kith: Kith) -> str:
    return (kith.folder / "utils.py").read_text()


def trials(home: Path) -> list[str]:
    return sorted(each.name for each in (home / ".local/state/kith/trials").iterdir())


def original(kith: Kith) -> str:
    """The file as it was committed."""
    show = ["git", "show", "HEAD:utils.py"]
    return subprocess.run(show, cwd=kith.folder, capture_output=True, text=True, check=True).stdout


# --- its life --------------------------------------------------------------------------------


def test_a_refused_change_is_shown_applied_and_undone(kith: Kith, home: Path) -> None:
    session = refused(kith)
    diff = kith("diff", session[:6]).stdout
    assert diff == kith("diff").stdout == kith("diff", f"{session}-1").stdout
    assert f"-{OLD}+{WRONG}" in diff
    assert kith("diff", "--stat").stdout == "utils.py  +1 -1\n1 file, +1 -1\n"
    told = kith("apply", session[:6], "--yes", *FAILING, "--unproven")
    assert "It does not pass" in told.stderr and "Applied 1 file" in told.stderr
    assert utils(kith) == original(kith).replace(OLD, WRONG)
    assert trials(home) == []
    nothing = kith("diff", session)
    assert (nothing.stdout, nothing.stderr) == ("", f"kith: No change waits in session {session[:6]}.\n")
    kith("undo", session)
    assert utils(kith) == original(kith)


def test_the_diff_is_one_that_git_applies(kith: Kith) -> None:
    refused(kith)
    diff = kith("diff").stdout
    subprocess.run(["git", "apply"], cwd=kith.folder, input=diff, text=True, check=True)
    assert WRONG in utils(kith)


def test_yes_does_not_apply_what_fails(kith: Kith) -> None:
    session = refused(kith)
    told = kith("apply", "--yes", *FAILING, code=6)
    assert "kith: Held back: `grep -qF '+ 1)' utils.py` ends with exit code 1" in told.stderr
    assert f"The change waits: kith diff {session[:6]}, kith apply {session[:6]}" in told.stderr
    line = kith("apply", "--yes", *FAILING, "--output-format", "json", code=6).stdout
    report = json.loads(line)
    assert (report["status"], report["applied"], report["waiting"]) == ("held", None, f"{session}-1")
    assert utils(kith) == original(kith)
    kith("apply", "--yes", *UNCHECKED)
    assert WRONG in utils(kith)


def test_without_a_person_or_yes_it_waits_on(kith: Kith) -> None:
    session = refused(kith)
    told = kith("apply", *UNCHECKED, code=3)
    assert f"+{WRONG}" in told.stdout and "--yes applies" in told.stderr
    assert f"kith apply {session[:6]}" in told.stderr
    assert utils(kith) == original(kith)


def test_the_end_of_a_run_says_that_it_waits(kith: Kith) -> None:
    model = scripted(kith, edit(), DONE)
    told = kith("run", *model, *UNCHECKED, "fix mean", code=3)
    (line,) = [each for each in told.stderr.split("\n") if "kith diff" in each]
    assert line.startswith("The change waits: kith diff ") and ", kith apply " in line
    assert kith("run", *scripted(kith, "Nothing to do."), "look").stderr.count("kith apply") == 0


def test_lists_say_that_it_waits(kith: Kith) -> None:
    session = refused(kith)
    assert kith("sessions").stdout.endswith("  fix mean  (waits)\n")
    (row,) = json.loads(kith("sessions", "--json").stdout)
    assert row["waiting"] is True and row["status"] == "failed"
    id = session[:6]
    told = ["1 change not applied:", f"  {id}  fix mean  kith diff {id}, kith apply {id}"]
    assert kith("status").stdout.splitlines()[-2:] == told
    kith("apply", "--yes", *UNCHECKED)
    (row,) = json.loads(kith("sessions", "--json").stdout)
    assert row["waiting"] is False and row["status"] == "done"


@pytest.mark.slow
def test_the_status_shows_five_changes_and_counts_the_rest(kith: Kith) -> None:
    sessions = [refused(kith, OLD.replace("+ 1", f"+ {number}")) for number in range(2, 9)]
    shown = kith("status").stdout.partition("7 changes not applied:\n")[2].splitlines()
    assert [line.split()[0] for line in shown[:5]] == [each[:6] for each in reversed(sessions[2:])]
    assert shown[5:] == ["  and 2 more: kith sessions"]


@pytest.mark.parametrize("command", ["diff", "apply", "undo"])
def test_an_empty_id_is_refused(kith: Kith, command: str) -> None:
    refused(kith)
    assert kith(command, "", code=2).stderr == f"kith: ID: the id is empty. See `kith {command} --help`.\n"


def test_deleting_a_session_removes_its_change(kith: Kith, home: Path) -> None:
    session = refused(kith)
    kith("sessions", "delete", "--yes", session)
    assert trials(home) == []
    assert kith("diff").stderr == "kith: No change waits here.\n"
    assert "no session" in kith("diff", session, code=2).stderr


def test_only_the_change_is_kept_on_disk(kith: Kith, home: Path) -> None:
    (kith.folder / ".gitignore").write_text("big.bin\n")
    build = {"calls": [{"name": "bash", "args": {"command": "head -c 3000000 /dev/zero > big.bin"}}]}
    model = scripted(kith, build, edit(), DONE)
    kith.run(*model, *FAILING, "--yes", "--tries", "1", "fix mean", code=1)
    (name,) = trials(home)
    kept = (home / ".local/state/kith/trials" / name).rglob("*")
    assert sum(each.stat().st_size for each in kept if each.is_file()) < 20_000


# --- which one -------------------------------------------------------------------------------


def test_another_folder_is_named(kith: Kith, tmp_path: Path) -> None:
    session = refused(kith)
    other = tmp_path / "other"
    other.mkdir()
    for command in ("diff", "apply"):
        said = Kith(other)(command, session[:6], code=2).stderr
        assert f"That change belongs to {kith.folder}; use -C." in said
    assert kith("diff", "-C", str(kith.folder), session[:6]).stdout


def test_the_newest_is_meant_where_none_is_named(kith: Kith) -> None:
    first, second = refused(kith), refused(kith, OLD.replace("+ 1", "+ 3"))
    assert "+ 3" in kith("diff").stdout and "+ 2" in kith("diff", first).stdout
    kith("apply", "--yes", *UNCHECKED)
    assert "+ 3" in utils(kith)
    assert kith("diff").stdout == kith("diff", first).stdout
    assert "No change waits" in kith("diff", second).stderr


# --- the tree as it is now -------------------------------------------------------------------


def test_later_edits_stay(kith: Kith) -> None:
    refused(kith)
    (kith.folder / "utils.py").write_text(f"# mine\n{original(kith)}")
    assert f"+{WRONG}" in kith("diff").stdout
    told = kith("apply", "--yes", *UNCHECKED)
    assert "Your files were edited since" in told.stderr
    assert utils(kith) == f"# mine\n{original(kith).replace(OLD, WRONG)}"


def test_edits_in_the_same_place_hold_it_back(kith: Kith) -> None:
    refused(kith)
    mine = original(kith).replace(OLD, "    return 7\n")
    (kith.folder / "utils.py").write_text(mine)
    assert "in the same places" in kith("apply", "--yes", *UNCHECKED, code=1).stderr
    assert utils(kith) == mine and f"+{WRONG}" in kith("diff").stdout


def test_a_file_deleted_since_is_not_made_again(kith: Kith) -> None:
    refused(kith)
    (kith.folder / "utils.py").unlink()
    assert "made or deleted" in kith("apply", "--yes", *UNCHECKED, code=1).stderr
    assert not (kith.folder / "utils.py").exists()


def test_what_the_tree_has_already_waits_no_more(kith: Kith, home: Path) -> None:
    refused(kith)
    (kith.folder / "utils.py").write_text(original(kith).replace(OLD, WRONG))
    assert "Your files already have this change." in kith("apply", "--yes").stdout
    assert trials(home) == []


@pytest.mark.slow
def test_an_edit_during_the_work_loses_nothing(kith: Kith) -> None:
    """The person edits the file that the model has edited, before it proposes its change."""
    saved = kith.folder.parent / "saved"
    (script,) = scripted(kith, edit(), {**DONE, "when": str(saved)})[1:]
    process = started(kith, "run", "-m", script, *UNCHECKED, "--yes", "fix mean")
    until(lambda: "edit" in (told := (kith.folder.parent / "err").read_text()) and "utils.py" in told)
    (kith.folder / "utils.py").write_text(f"# mine\n{original(kith)}")
    saved.touch()
    assert process.wait(60) == 1
    assert utils(kith) == f"# mine\n{original(kith)}"
    kith("apply", "--yes", *UNCHECKED)
    assert utils(kith) == f"# mine\n{original(kith).replace(OLD, NEW)}"


# --- every path ------------------------------------------------------------------------------


def test_a_direct_edit_waits(kith: Kith) -> None:
    words = "replace '+ 1' with '+ 2' in utils.py"
    report = kith.run(*FAILING[:1], CHECK.replace("-q", "-v"), words, code=3)
    assert report["usage"]["calls"] == 0 and report["waiting"] == f"{report['session']}-1"
    assert "+ 2" in kith("diff").stdout
    kith("apply", "--yes", *UNCHECKED)
    assert "+ 2" in utils(kith)


def test_a_task_that_met_its_limit_waits_and_goes_on(kith: Kith) -> None:
    read = {"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}]}
    model = scripted(kith, edit(OLD, WRONG), read, edit(WRONG, NEW), DONE)
    report = kith.run(*model, *UNCHECKED, "--yes", "--max-steps", "2", "fix mean", code=4)
    session = report["session"]
    assert report["waiting"] == f"{session}-1" and f"+{WRONG}" in kith("diff").stdout
    kith("apply", *UNCHECKED, code=3)  # a no leaves it as it was
    assert kith.run(*model, *UNCHECKED, "--yes", "--resume", session)["waiting"] is None
    assert NEW in utils(kith)


def test_what_was_applied_is_not_resumed(kith: Kith) -> None:
    model = scripted(kith, edit(OLD, WRONG), DONE)
    session = kith.run(*model, *UNCHECKED, "--yes", "--max-steps", "1", "fix mean", code=4)["session"]
    kith("apply", "--yes", *UNCHECKED)
    assert "is over (done)" in kith("run", *model, "--resume", session, code=2).stderr


def test_a_model_that_fails_leaves_its_change(kith: Kith) -> None:
    report = kith.run(*scripted(kith, edit()), *UNCHECKED, "--yes", "fix mean", code=1)
    assert report["waiting"] and f"+{NEW}" in kith("diff").stdout


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_task_leaves_its_change(kith: Kith, how: signal.Signals) -> None:
    (script,) = scripted(kith, edit(), {**DONE, "delay": 60})[1:]
    process = started(kith, "run", "-m", script, *UNCHECKED, "--yes", "fix mean")
    until(lambda: "utils.py" in (kith.folder.parent / "err").read_text())
    (process.send_signal if how == signal.SIGTERM else process.kill)(
        *([how] if how == signal.SIGTERM else [])
    )
    assert process.wait(60)
    if how == signal.SIGTERM:
        assert "Nothing applied. The change waits: kith diff " in (kith.folder.parent / "err").read_text()
    (session,) = json.loads(kith("sessions", "--json").stdout)
    assert session["waiting"]
    assert f"+{NEW}" in kith("diff").stdout
    kith("apply", "--yes", *UNCHECKED)
    assert NEW in utils(kith)


@pytest.mark.slow
def test_a_trial_that_nobody_needs_is_not_kept(kith: Kith, home: Path) -> None:
    """As a full disk leaves it: its task is over, and nothing says that its change waits."""
    session = refused(kith)
    kept = home / ".local/state/kith/trials" / f"{session}-1"
    shutil.rmtree(kept / "checkpoints")
    assert "(waits)" not in kith("sessions").stdout
    assert trials(home) == []


def test_a_suggestion_of_a_review_waits(kith: Kith) -> None:
    change(kith.folder)
    script = replay(kith.folder, [finding(replacement=BETTER)])
    report = review(kith, "--apply", *UNCHECKED, "-m", script, code=3)
    assert report["waiting"] and BETTER in kith("diff").stdout
    assert DIVIDES in utils(kith)


def test_a_refactoring_waits(kith: Kith) -> None:
    words = ("refactor", "rename", "utils.py:mean", "average", "--json", *UNCHECKED)
    report = json.loads(kith(*words, code=3).stdout)
    assert report["waiting"] == f"{report['session']}-1"
    assert "+def average(numbers):" in kith("diff").stdout
    kith("apply", "--yes", *UNCHECKED)
    assert "def average(numbers):" in utils(kith)


@pytest.mark.usefixtures("sandbox")
@pytest.mark.slow
def test_the_plan_of_a_council_waits(kith: Kith, home: Path) -> None:
    models = play(kith.folder, alice=[RIGHT, NONE, MEND, DONE], bob=[OTHER, NONE])
    words = ("confer", "--json", "--models", models, "--apply", "--check", CHECK, "fix the failing test")
    report = json.loads(kith(*words, code=3).stdout)
    assert trials(home) == [report["waiting"]]
    assert "+    return sum(numbers) / len(numbers) if numbers else 0" in kith("diff").stdout
    kith("apply", "--yes", "--check", CHECK)
    assert trials(home) == []


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_what_a_build_has_so_far_waits(kith: Kith) -> None:
    """Killed while the reviewer thinks about the first task."""
    (model,) = scripted(kith, PLANNED, *SPECIFIED, *TRIED, {"text": ADVISED, "delay": 60})[1:]
    process = started(kith, "build", "-m", model, "--yes", "add a median")
    until(lambda: _step(kith) == "review")
    process.kill()
    process.wait()
    session = json.loads(kith("status", "--json").stdout)["session"]
    assert f"The change waits: kith diff {session[:6]}, kith apply {session[:6]}" in kith("status").stdout
    diff = kith("diff", session).stdout
    assert "+def median(numbers):" in diff and "+class TestMedian" in diff
    kith("apply", session, "--yes", *UNCHECKED)
    assert "def median" in utils(kith)
    assert "is over (done)" in kith("build", "--resume", session, "-m", model, code=2).stderr


def test_a_conversation_offers_it_and_the_changes_of_others(repository: Path, kith: Kith) -> None:
    session = refused(kith)[:6]
    said = ["fix mean", f"/diff {session}", f"/apply {session}"]
    screen, _ = converse(repository, said, [edit(), DONE], ["n", "a"], check=("none",))
    assert "The change waits: /diff, /apply, /discard" in screen.text
    assert screen.text.count("Nothing was applied") == 1 and "Nothing applied" not in screen.text
    assert f"To have it: /apply {session}" in screen.text and "+ 2" in utils(kith)


# --- at the same time ------------------------------------------------------------------------


@pytest.mark.slow
def test_of_two_that_apply_it_one_does(kith: Kith) -> None:
    session = refused(kith)
    slow = ("apply", session, "--yes", "--check", "sleep 2")
    both = [subprocess.Popen([sys.executable, "-m", "kith", *slow], cwd=kith.folder) for _ in range(2)]
    assert sorted(each.wait(60) for each in both)[0] == 0
    assert len([each for each in both if each.returncode == 0]) == 1
    assert utils(kith) == original(kith).replace(OLD, WRONG)
    assert kith("undo").stdout and utils(kith) == original(kith)


def test_a_trial_in_use_is_left_alone(kith: Kith, home: Path) -> None:
    session = refused(kith)
    with ExitStack() as held:
        held.enter_context(pytest.raises(KeyError))  # which keeps the trial
        held.enter_context(claim_folder(home / ".local/state/kith", kith.folder, f"{session}-1"))
        assert "in use by another kith" in kith("apply", "--yes", *UNCHECKED, code=75).stderr
        assert kith("diff").stdout
        raise KeyError
    kith("apply", "--yes", *UNCHECKED)


def test_a_crash_after_applying_applies_nothing_twice(kith: Kith, home: Path) -> None:
    session = refused(kith)
    folder = home / ".local/state/kith/trials"
    shutil.copytree(folder / f"{session}-1", home / "kept", symlinks=True)
    kith("apply", "--yes", *UNCHECKED)
    shutil.copytree(home / "kept", folder / f"{session}-1", symlinks=True)  # as if it had died before the end
    assert "Your files already have this change." in kith("apply", "--yes", *UNCHECKED).stdout
    assert utils(kith) == original(kith).replace(OLD, WRONG) and trials(home) == []


def started(kith: Kith, *words: str) -> subprocess.Popen[bytes]:
    err = kith.folder.parent / "err"
    with err.open("wb") as told:
        return subprocess.Popen(
            [sys.executable, "-m", "kith", *words],
            cwd=kith.folder,
            env=dict(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=told,
        )
