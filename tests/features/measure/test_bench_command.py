"""`kith bench` from outside: a stand-in server is measured, runs are compared, llama-bench's files read."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from outside import Kith, StandIn

ROWS = [
    {"n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ns": 5_120_000_000},
    {"n_prompt": 0, "n_gen": 128, "n_depth": 0, "avg_ns": 12_800_000_000},
]


def answer(request: Any) -> dict[str, Any]:
    """Counts, whatever it is asked, and never calls a tool."""
    return {"text": "56, and then " + " ".join(map(str, range(1, 30)))}


@pytest.fixture
def measured(kith: Kith, stand_in: StandIn, sandbox: None) -> Kith:
    """kith, with a server that can be measured."""
    stand_in(answer, "llama-server", window=4_096)
    return kith


@pytest.mark.slow
def test_a_model_is_measured_and_the_figures_are_kept(measured: Kith, tmp_path: Path) -> None:
    table = tmp_path / "speeds.csv"
    shown = measured("bench", "--quick", "--no-tasks", "--output", str(table)).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert re.search(r"tokens before +reads tokens/s +writes tokens/s", shown)
    assert re.search(r"^tool calls +0 of 8 +0% to 32%$", shown, re.M)
    assert "small tasks" not in shown
    assert "what went wrong" in shown and "called no tool" in shown
    assert "speed at 4,096 tokens and deeper: the window of 4,096 tokens is too small" in " ".join(
        shown.split()
    )
    (first, *_) = csv.DictReader(table.open())
    assert float(first["avg_ts"]) > 0 and first["n_prompt"] and first["n_gen"] == "0"
    compared = measured("bench", "--compare", "standin", "standin").stdout
    assert max(map(len, compared.splitlines())) <= 80
    assert re.search(r"^tool calls +0 of 8 +0 of 8 +-\d+ to \+\d+ points +not told apart$", compared, re.M)
    assert not measured("sessions").stdout.count("measure ")  # it is no work of this project


@pytest.mark.slow
def test_a_run_can_be_kept_as_a_file(measured: Kith, tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    file.write_text(measured("bench", "--quick", "--no-tasks", "--json").stdout)
    (run,) = json.loads(file.read_text())
    assert run["model"] and run["machine"] and run["scores"] and run["speeds"]
    found = json.loads(measured("bench", "--compare", str(file), run["session"][:8], "--json").stdout)
    assert {line["finding"] for line in found["lines"]} == {"no difference shown"}
    assert found["gained"] == [] and found["lost"] == []


@pytest.mark.slow
def test_what_llama_bench_measured_is_foreseen(measured: Kith, tmp_path: Path) -> None:
    file = tmp_path / "llama.json"
    file.write_text(json.dumps(ROWS))
    done = measured("bench", "--import", str(file))
    assert "Stored 2 measurements on the card of " in done.stdout
    task = measured.run("Say hello.", "--read-only")
    assert task["status"] == "done"
    told = json.loads(measured("profile", "--json", "--all").stdout)
    assert told["calls"] >= 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--compare", "a", "b"), "There is no run 'a'"),
        (("--output", "x.sql"), "must end in one of .json"),
        (("--import", "nowhere.json"), "nowhere.json cannot be read"),
        (("m", "--compare", "a", "b"), "--compare takes two runs"),
        (("m", "n", "--import", "x.json"), "--import takes one model"),
    ],
)
def test_what_makes_no_sense_is_said(kith: Kith, words: tuple[str, ...], said: str) -> None:
    done = kith("bench", *words, code=None)
    assert done.returncode in (1, 2) and said in " ".join(done.stderr.split())
