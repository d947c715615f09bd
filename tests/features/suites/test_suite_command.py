"""`kith bench tasks`: a suite of others, resumed and compared, here and in the fleet."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kith.features.suites.results import SuiteResult, compare_pairs, read_results, sign_test, sum_up
from outside import Kith
from postgres import Postgres

# Two tasks: in each a number in a file is to become another one, and the hidden test looks.
SUITE = """\
import json, pathlib, subprocess, sys
verb, *rest = sys.argv[1:]
ids = ["easy/one", "hard/two"]
if verb == "list":
    for each in ids:
        print(json.dumps({"id": each, "lang": "python"}))
elif verb == "prepare":
    folder = pathlib.Path(rest[1]); folder.mkdir(parents=True)
    (folder / "n.py").write_text("n = 1\\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    tests = "test -n \\"$FROM_SUITE\\""
    print(json.dumps({"instruction": "set n", "env": {"FROM_SUITE": "1"}, "run_tests": tests, "more": 1}))
elif verb == "grade":
    passed = (pathlib.Path(rest[1]) / "n.py").read_text() == "n = 2\\n" and rest[0] == "easy/one"
    reason = "" if passed else "wrong"
    print(json.dumps({"id": rest[0], "passed": passed, "score": float(passed), "reason": reason}))
    sys.exit(not passed)
"""
EDIT = {"calls": [{"name": "edit", "args": {"path": "n.py", "old": "n = 1", "new": "n = 2"}}]}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "suite.py").write_text(SUITE)
    return tmp_path / "suite.py"


def script(folder: Path, name: str, *replies: Any) -> str:
    (folder / f"{name}.json").write_text(json.dumps(replies))
    return f"replay/{folder / f'{name}.json'}"


@pytest.mark.slow
def test_models_are_compared_by_hidden_tests_and_nothing_is_run_twice(
    suite: Path, tmp_path: Path, home: Path, sandbox: None
) -> None:
    kith = Kith(tmp_path)
    models = f"{script(tmp_path, 'good', EDIT, 'Set.')},{script(tmp_path, 'lazy', 'Nothing to do.')}"
    words = ("bench", "tasks", str(suite), "--models", models, "--json", "--results", "rows.jsonl")
    first = json.loads(kith(*words, "--only", "easy/*").stdout)
    assert sorted(row["passed"] for row in first["rows"]) == [False, True]
    assert {row["task"] for row in first["rows"]} == {"easy/one"}
    told = json.loads(kith(*words, "--limit", "2", "--jobs", "2", "--max-task-seconds", "60").stdout)
    solved = {each["model"].split("/")[-1]: (each["solved"], each["tasks"]) for each in told["contenders"]}
    assert solved == {"good": (1, 2), "lazy": (0, 2)}
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 4
    (pair,) = told["pairs"]
    assert (pair["only_first"], pair["only_second"], pair["tasks"]) == (1, 0, 2)
    shown = kith("bench", "tasks", str(suite), "--results", "rows.jsonl", "--report").stdout
    assert "1 of 2" in shown and "not told apart" in shown


@pytest.mark.slow
def test_the_fleet_does_a_suite(
    suite: Path,
    tmp_path: Path,
    home: Path,
    sandbox: None,
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kith, model = Kith(tmp_path), script(tmp_path, "good", EDIT, "Set.")
    monkeypatch.setenv("KITH_FLEET_FOLDER", str(tmp_path / "fleet"))
    monkeypatch.setenv("KITH_FLEET_FREE_MB", "0")
    kith("fleet", "init", postgres.new_database())
    command = [
        sys.executable,
        "-m",
        "kith",
        "fleet",
        "worker",
        "--models",
        model,
        "--grace",
        "0",
        "--slots",
        "2",
    ]
    worker = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        words = ("bench", "tasks", str(suite), "--models", model, "--fleet", "--json")
        told = json.loads(kith(*words).stdout)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)
    (one,) = told["contenders"]
    assert (one["solved"], one["tasks"]) == (1, 2) and one["read"] > 0
    assert {row["task"] for row in told["rows"]} == {"easy/one", "hard/two"}


@pytest.mark.parametrize("text", ["print('no json')", "raise SystemExit('broken')"])
def test_a_program_that_is_no_suite_is_refused_in_a_sentence(tmp_path: Path, home: Path, text: str) -> None:
    (tmp_path / "suite.py").write_text(text)
    said = Kith(tmp_path)("bench", "tasks", "suite.py", code=1).stderr
    assert "suite.py" in said and "Traceback" not in said


def test_without_results_there_is_no_report(suite: Path, tmp_path: Path, home: Path) -> None:
    Kith(tmp_path)("bench", "tasks", str(suite), "--report", code=2)
    Kith(tmp_path)("bench", "tasks", "nowhere.py", code=2)
    (tmp_path / "bad.jsonl").write_text("{}\n")
    assert (
        "line 1"
        in Kith(tmp_path)("bench", "tasks", str(suite), "--report", "--results", "bad.jsonl", code=2).stderr
    )


def test_claims_that_hidden_tests_refute_are_counted(tmp_path: Path) -> None:
    rows = [
        SuiteResult("a", "m", "1", False, verdict="proven"),
        SuiteResult("b", "m", "1", True, verdict="held"),
        SuiteResult("c", "m", "1", False, verdict="unproven"),
    ]
    (one,) = sum_up(rows)
    assert (one.claimed, one.solved, one.tasks) == (1, 1, 3) and not compare_pairs(rows)
    assert read_results(tmp_path / "none") == []


def test_chance_explains_an_even_split_and_not_an_uneven_one() -> None:
    assert sign_test(0, 0) == 1.0 and sign_test(3, 3) == 1.0
    assert sign_test(0, 8) == pytest.approx(2 / 2**8)
