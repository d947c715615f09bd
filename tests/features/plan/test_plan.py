"""`kith plan` from outside: the files of a task with their reasons, and how well they are found."""

import json
import subprocess
from pathlib import Path

from outside import Kith

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
