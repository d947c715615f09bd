"""`kith build` from outside: what a person sees, answers, stops and takes up again."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from built import ADVISED, MENDED, PLANNED, SECOND, SIMPLE, SPECIFIED, TRIED, _step, call
from outside import Kith
from tmux_screen import KITH, Screen, no_terminal_is_left  # noqa: F401
from waiting import until


@pytest.fixture
def kith(repository: Path, sandbox: None) -> Kith:
    return Kith(repository)


WHOLE = [PLANNED, *SPECIFIED, *TRIED, ADVISED, *MENDED, *SIMPLE]


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git/" not in str(path)
    }


def test_a_failure_is_reviewed_and_mended(kith: Kith, script: Any) -> None:
    said = kith("build", "-m", script(*WHOLE), "--yes", "--commit", "add", "a", "median")
    assert "def median" in (kith.folder / "utils.py").read_text()
    shown = " ".join(said.stderr.split())
    for words in ("median([3, 1, 2]) is 2", f"reviewer: {ADVISED}", "1. Add a median 2 tries"):
        assert words in shown, said.stderr
    log = subprocess.run(["git", "log", "-1", "--format=%s"], cwd=kith.folder, capture_output=True, text=True)
    assert log.stdout.strip() == "Add a median"
    shown = json.loads(kith("status", "--json").stdout)
    assert (shown["status"], shown["tasks"][0]["attempts"]) == ("done", 2)
    profile = json.loads(kith("profile", "--json").stdout)
    assert profile["roles"]["implementer"]["good"] == profile["roles"]["implementer"]["bad"] == 1
    steps = json.loads(kith("log", "--json").stdout)
    assert [row["step"] for row in steps][:4] == ["plan", "agree", "measure", "next"]
    tried = next(row for row in steps if row["step"] == "check")
    assert (tried["task"], tried["outcome"], tried["role"]) == ("1", "no", "") and tried["seconds"] > 0
    asked = next(row for row in steps if row["step"] == "implement")
    assert asked["role"] == "implementer" and asked["model"] and asked["tokens"] > 0
    lines = kith("log").stdout.splitlines()
    assert len(lines) == len(steps) and all(
        row["step"] in line for row, line in zip(steps, lines, strict=True)
    )
    shown = kith("undo", "--yes").stdout
    assert "It was committed as " in shown
    log = subprocess.run(["git", "log", "-1", "--format=%s"], cwd=kith.folder, capture_output=True, text=True)
    assert log.stdout.strip() == 'Revert "Add a median"'
    assert "def median" not in (kith.folder / "utils.py").read_text()


@pytest.mark.slow
def test_without_retries_the_task_is_rolled_back_and_nothing_changes(kith: Kith, script: Any) -> None:
    before = files_of(kith.folder)
    model = script(PLANNED, *SPECIFIED, *TRIED)
    said = kith("build", "-m", model, "--yes", "--max-retries", "0", "add a median", code=1)
    assert files_of(kith.folder) == before
    assert "rolled back" in said.stderr and "test_even" in said.stderr


@pytest.mark.slow
def test_a_build_of_which_one_task_fails_says_so_in_its_exit_code(kith: Kith, script: Any) -> None:
    tasks = json.loads(PLANNED)["tasks"]
    tasks.append({"id": "2", "title": "Add a mode", "criteria": ["mode([1, 1]) is 1"], "files": ["utils.py"]})
    test = "import unittest\nimport utils\n\n\nclass TestMode(unittest.TestCase):\n"
    test += "    def test_mode(self):\n        self.assertEqual(utils.mode([1, 1]), 1)\n"
    median = call("edit", path="utils.py", old="def clamp(", new=f"{SECOND}def clamp(")
    replies = [json.dumps({"tasks": tasks}), *SPECIFIED, median, call("done", summary="A median.")]
    replies += [call("write", path="tests/test_mode.py", content=test), call("done", summary="One test.")]
    replies += [call("done", summary="There is no mode.")]
    options = ("--yes", "--max-retries", "0", "--no-refine", "--output-format", "json")
    report = json.loads(kith("build", "-m", script(*replies), *options, "both", code=7).stdout)
    states = {task["title"]: task["state"] for task in report["build"]["tasks"]}
    assert states == {"Add a median": "done", "Add a mode": "rolled back"}
    assert "def median" in (kith.folder / "utils.py").read_text()
    assert not (kith.folder / "tests" / "test_mode.py").exists()


def test_nobody_to_agree_means_nothing_is_built(kith: Kith, script: Any) -> None:
    before = files_of(kith.folder)
    kith("build", "-m", script(PLANNED), "add a median", code=3)
    assert files_of(kith.folder) == before


@pytest.mark.slow
def test_a_threshold_that_cannot_be_measured_is_said_before_any_code_is_written(
    kith: Kith,
    script: Any,
) -> None:
    if subprocess.run(["python3", "-c", "import coverage"], capture_output=True).returncode == 0:
        pytest.skip("python3 has coverage here")
    said = kith("build", "-m", script(PLANNED), "--yes", "--coverage", "80", "add a median", code=1)
    assert "coverage cannot be measured here" in said.stderr and "--coverage 0 skips it" in said.stderr


@pytest.mark.slow
def test_a_killed_build_goes_on(kith: Kith, script: Any) -> None:
    """Killed while the reviewer thinks: finished steps are kept, and the model is asked only for the rest."""
    waiting = {"text": ADVISED, "delay": 30}
    command = ["build", "-m", script(*WHOLE[: len(WHOLE) - 4], waiting), "--yes", "add a median"]
    process = subprocess.Popen(
        [sys.executable, "-m", "kith", *command],
        cwd=kith.folder,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until(lambda: "review" in _step(kith))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert "interrupted before review" in kith("status").stdout
    kith("build", "--resume", "-m", script(ADVISED, *MENDED, *SIMPLE), "--yes")
    assert json.loads(kith("status", "--json").stdout)["tasks"][0]["attempts"] == 2
    assert SECOND.strip() in (kith.folder / "utils.py").read_text()


@pytest.mark.slow
def test_the_tasks_can_be_edited_before_anything_is_written(
    repository: Path,
    sandbox: None,
    script: Any,
) -> None:
    editor = repository.parent / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/Add a median/Add a better median/' \"$1\"\n")
    editor.chmod(0o755)
    screen = Screen(repository, f"EDITOR={editor} {KITH} build -m {script(*WHOLE)} add a median")
    screen.wait("[e]dit")
    screen.press("e")
    screen.wait("Add a better median")
    screen.wait("[a]ll")  # what was written in the editor is agreed to
    time.sleep(0.5)
    screen.press("a")
    shown = screen.wait("exit 0")
    assert "1. Add a better median  2 tries" in shown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["build"], "What should be done?"),
        (["build", "--resume"], "There was no build in"),
        (["build", "--resume", "abc"], "There is no session 'abc'"),
        (["status", "--watch"], "There was no build in"),
        (["build", "--coverage", "200", "x"], "'200' is not a number from 0 to 100"),
        (["build", "--template", "endpont"], "did you mean endpoint?"),
        (["build", "--read-only", "x"], "There is no '--read-only' here"),
    ],
)
def test_bad_input_is_one_sentence(repository: Path, words: list[str], sentence: str) -> None:
    said = Kith(repository)(*words, code=2)
    assert sentence in said.stderr and said.stderr.count("\n") <= 2


def test_a_folder_without_a_build_has_a_status(repository: Path) -> None:
    told = Kith(repository)("status").stdout
    assert told.startswith("Check: ") and "unittest" in told and "not run yet" in told
    shown = json.loads(Kith(repository)("status", "--json").stdout)
    assert "unittest" in shown["checks"][0]["command"] and shown["waiting"] == []


def test_where_nothing_may_be_written_nothing_is_built(repository: Path, script: Any) -> None:
    (repository / ".kith").mkdir()
    (repository / ".kith" / "config.toml").write_text("read_only = true\n")
    Kith(repository)("trust", "--yes")
    said = Kith(repository)("build", "-m", script(PLANNED), "--yes", "add a median", code=2)
    assert said.stderr == "kith: Nothing may be written here (read_only).\n"
