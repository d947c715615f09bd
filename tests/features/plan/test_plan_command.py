"""`kith plan` from outside: the files of a task with their reasons, and how well they are found."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mending import DONE, edit
from outside import Kith, Serve

TASK = "clamp gives the wrong bound"


def commit(repository: Path, path: str, text: str, message: str) -> None:
    (repository / path).write_text(text)
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    author = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *author, "commit", "-qm", message], cwd=repository, check=True)


def test_files_are_listed_with_reasons(kith: Kith) -> None:
    told = kith("plan", "--json", TASK)
    answer = json.loads(told.stdout)
    first = answer["files"][0]
    assert told.returncode == 0 and first["path"] == "utils.py" and first["use"] == "modify"
    assert first["parts"]["names"] > 0 and answer["confidence"] in ("high", "medium", "low")
    assert "utils.py" in kith("plan", TASK).stdout


def test_confidence_does_not_depend_on_how_many_are_shown(kith: Kith) -> None:
    whole, one = (json.loads(kith("plan", "--json", "--limit", limit, TASK).stdout) for limit in ("10", "1"))
    assert len(one["files"]) == 1 < len(whole["files"]) and one["confidence"] == whole["confidence"]


def test_an_accepted_change_speaks_for_its_files(kith: Kith, script: Any) -> None:
    kith.run("-m", script(edit(), DONE), "--check", "none", "--yes", "the average of grades is too small")
    first = json.loads(kith("plan", "--json", "an average of grades").stdout)["files"][0]
    assert first["path"] == "utils.py" and first["parts"]["tasks"] > 0
    assert "earlier tasks" in kith("plan", "an average of grades").stdout


def test_nothing_fits_is_said(kith: Kith) -> None:
    answer = json.loads(kith("plan", "--json", "frobnicate the zebra").stdout)
    assert answer == {"files": [], "confidence": "none"}


def test_a_task_or_measure_is_needed(kith: Kith) -> None:
    kith("plan", code=2)
    kith("plan", "--measure", TASK, code=2)


def test_commits_measure_how_well_files_are_found(kith: Kith, repository: Path) -> None:
    asked = {
        "units.py": "Convert celsius to kelvin rightly",
        "stack.py": "Pop raises when the stack is empty",
    }
    for number, (path, message) in enumerate(asked.items()):
        commit(repository, path, f"value = {number}\n", "Begin a module")
        commit(repository, path, f"value = {number + 10}\n", message)
    measured = json.loads(kith("plan", "--measure", "--json").stdout)
    assert measured["requests"] == 2 and 0 <= measured["kith"]["reciprocal_rank"] <= 1
    assert measured["kith"]["reciprocal_rank"] >= measured["names"]["reciprocal_rank"]


def test_a_saved_plan_is_run_with_its_files(kith: Kith, serve: Serve) -> None:
    kith("plan", "--save", "plan.json", TASK)
    saved = json.loads((kith.folder / "plan.json").read_text())
    assert saved["task"] == TASK and saved["files"][0]["path"] == "utils.py"
    server = serve(["Done."])
    kith("run", "--from-plan", "plan.json")
    asked = server.requests[0]["messages"][-1]["content"]
    assert TASK in asked and "Files to modify: utils.py" in asked


def test_a_plan_of_a_model_is_run_with_its_steps(kith: Kith, serve: Serve) -> None:
    (kith.folder / "result.json").write_text(
        json.dumps({"plan": {"steps": ["Look", "Clamp"], "modify": ["utils.py"]}})
    )
    kith("run", "--from-plan", "result.json", code=2)
    server = serve(["Done."])
    kith("run", "--from-plan", "result.json", TASK)
    assert "2. Clamp" in server.requests[0]["messages"][-1]["content"]


@pytest.mark.parametrize("text", ["no json", "[]", '{"task": "x"}', '{"files": []}'])
def test_a_file_without_a_plan_is_refused(kith: Kith, text: str) -> None:
    (kith.folder / "plan.json").write_text(text)
    kith("run", "--from-plan", "plan.json", code=2)


@pytest.mark.parametrize("rule", ['extensions = [".md"]', 'deny = ["*.py"]'])
def test_settings_keep_files_out(kith: Kith, home: Path, rule: str) -> None:
    file = home / ".config/kith/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"[plan]\n{rule}\n")
    listed = [each["path"] for each in json.loads(kith("plan", "--json", TASK).stdout)["files"]]
    assert not any(path.endswith(".py") for path in listed)


def test_the_list_fits_its_columns(kith: Kith, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, kith("plan", TASK).stdout.splitlines())) <= 60
