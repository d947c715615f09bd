"""The agent for Harbor: trajectories of real runs, and its command lines where Harbor is installed.

Harbor needs Python 3.12 and 320 MB, so it is not among kith's own packages. A Python that has it is found in
HARBOR_PYTHON; without one that part is skipped.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from outside import Kith, Serve
from places import ROOT, SUPPORT

SOURCE = ROOT / "integrations" / "harbor" / "src"
sys.path.insert(0, str(SOURCE))

from kith_harbor.trajectory import convert, without_transient  # noqa: E402

LOOK = {
    "text": "I look.",
    "thinking": "First the files.",
    "calls": [{"name": "bash", "args": {"command": "ls; exit 3"}}],
}
TWO = {
    "calls": [
        {"name": "write", "args": {"path": "a.txt", "content": "a\n"}},
        {"name": "read", "args": {"paths": ["none.txt"]}},
    ]
}
DONE = {"calls": [{"name": "done", "args": {"summary": "a.txt is there."}}]}
URL = "http://172.17.0.1:8000/v1"


@pytest.fixture
def stream(tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> str:
    """What kith prints of a short task in place."""
    monkeypatch.setenv("KITH_SANDBOX", "outside")
    serve([LOOK, TWO, DONE])
    (tmp_path / "app").mkdir()
    words = ("run", "--in-place", "--output-format", "stream-json", "-m", "ollama/standin", "Write a.txt.")
    return Kith(tmp_path / "app")(*words).stdout


def convert_to_dict(text: str) -> dict[str, Any]:
    found = convert(text.splitlines()).to_dict()
    assert found is not None
    return found


def test_a_run_becomes_steps_with_calls_observations_and_tokens(stream: str) -> None:
    found = convert_to_dict(stream)
    steps = found["steps"]
    assert [each["source"] for each in steps] == ["user", *["agent"] * 4]
    assert [each["step_id"] for each in steps] == [1, 2, 3, 4, 5]
    look, two = steps[1:3]
    assert steps[0]["message"].endswith("Write a.txt.")
    assert (look["message"], look["reasoning_content"]) == ("I look.", "First the files.")
    assert look["tool_calls"][0]["arguments"] == {"command": "ls; exit 3"}
    assert look["observation"]["results"][0]["extra"]["exit_code"] == 3
    assert [each["function_name"] for each in two["tool_calls"]] == ["write", "read"]
    called = [each["tool_call_id"] for each in two["tool_calls"]]
    assert [each["source_call_id"] for each in two["observation"]["results"]] == called
    assert [each["extra"]["ok"] for each in two["observation"]["results"]] == [True, False]
    assert steps[4]["llm_call_count"] == 0 and "metrics" not in steps[4]


def test_the_tokens_of_the_steps_add_up_to_those_of_the_run(stream: str) -> None:
    found = convert_to_dict(stream)
    total, metrics = found["final_metrics"], [each.get("metrics", {}) for each in found["steps"]]
    for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
        assert sum(each.get(name, 0) for each in metrics) == total[f"total_{name}"]
    assert total["total_prompt_tokens"] > 1_000 and total["extra"]["status"] == "done"
    assert (total["total_steps"], total["extra"]["calls"]) == (5, 3)


def test_steps_have_the_times_at_which_they_were_told(stream: str) -> None:
    times = [each["timestamp"] for each in convert_to_dict(stream)["steps"]]
    assert times == sorted(times) and all(each.endswith("+00:00") for each in times)


def test_a_stream_that_was_cut_anywhere_still_converts(stream: str) -> None:
    whole = len(convert_to_dict(stream)["steps"])
    for end in range(0, len(stream), 97):
        found = convert(stream[:end].splitlines()).to_dict()
        assert found is None or 1 <= len(found["steps"]) <= whole
    assert convert([]).to_dict() is None and convert(["Traceback", "[1]", "{}", "{"]).to_dict() is None


def test_pieces_of_replies_are_left_out_and_nothing_is_missed(stream: str) -> None:
    lines = stream.splitlines(keepends=True)
    kept = without_transient(lines)
    assert any('"Delta"' in line for line in lines) and not any('"Delta"' in line for line in kept)
    assert convert(kept).to_dict() == convert(lines).to_dict()


# With Harbor's own models.


@pytest.fixture(scope="session")
def harbor() -> str:
    """A Python that has Harbor."""
    named = os.environ.get("HARBOR_PYTHON", "")
    if named or importlib.util.find_spec("harbor"):
        return named or sys.executable
    pytest.skip("Harbor is not installed; HARBOR_PYTHON names a Python that has it")


def drive(harbor: str, logs: Path, model: str = "openai/qwen3", **options: Any) -> dict[str, Any]:
    script = [str(SUPPORT / "harbor_adapter.py"), str(SOURCE), str(logs), model, json.dumps(options)]
    env = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run([harbor, *script], capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def config_of(told: dict[str, Any]) -> dict[str, Any]:
    return tomllib.loads(told["files"]["/tmp/kith-harbor/config/kith/config.toml"])


@pytest.mark.slow
def test_harbor_accepts_the_trajectory_and_counts_the_tokens(
    harbor: str, tmp_path: Path, stream: str
) -> None:
    (tmp_path / "kith.jsonl").write_text(stream)
    told = drive(harbor, tmp_path, base_url=URL)
    written = json.loads((tmp_path / "trajectory.json").read_text())
    total = convert_to_dict(stream)["final_metrics"]
    assert len(written["steps"]) == told["live_steps"] == 5 and written["agent"]["name"] == "kith"
    assert told["context"]["n_input_tokens"] == total["total_prompt_tokens"]
    assert told["context"]["n_output_tokens"] == total["total_completion_tokens"]
    assert told["context"]["metadata"]["status"] == "done"
    assert '"Delta"' not in (tmp_path / "kith.jsonl").read_text()


@pytest.mark.slow
def test_kith_is_installed_configured_and_run_in_place(harbor: str, tmp_path: Path) -> None:
    wheel = tmp_path / "kith_agent-0.1.0-py3-none-any.whl"
    wheel.write_text("a wheel")
    told = drive(harbor, tmp_path, base_url=URL, package=str(wheel), window=32_768, server="vllm")
    commands = [each["command"] for each in told["commands"]]
    assert told["files"][f"/installed-agent/{wheel.name}"] == "a wheel"
    assert any(f"uv tool install --python 3.12 /installed-agent/{wheel.name}" in each for each in commands)
    run = told["commands"][-1]
    assert (
        "kith run --in-place --yes --output-format stream-json -m harbor/qwen3 --max-steps 1000"
        in (run["command"])
    )
    assert told["files"]["/tmp/kith-harbor/task.txt"] == "Set `it` up, don't ask."
    assert (run["env"]["KITH_SANDBOX"], run["env"]["HARBOR_MODEL_KEY"]) == ("outside", "sk-of-the-server")
    assert not any("sk-of" in each for each in (*commands, *told["files"].values()))
    assert config_of(told) == {
        "window": 32_768,
        "endpoints": {"harbor": {"kind": "vllm", "url": URL, "key_env": "HARBOR_MODEL_KEY"}},
    }


@pytest.mark.slow
def test_a_cloud_model_is_asked_at_its_own_server(harbor: str, tmp_path: Path) -> None:
    told = drive(harbor, tmp_path, "anthropic/claude-sonnet-4-5", max_steps=7)
    run = told["commands"][-1]
    assert "-m anthropic/claude-sonnet-4-5 --max-steps 7" in run["command"]
    assert run["env"]["ANTHROPIC_API_KEY"] == "sk-of-anthropic" and config_of(told) == {}
    assert any("uv tool install --python 3.12 kith-agent" in each["command"] for each in told["commands"])


@pytest.mark.slow
def test_a_run_that_kith_could_not_begin_is_an_error(harbor: str, tmp_path: Path) -> None:
    told = drive(harbor, tmp_path, base_url=URL, exit_code=5)
    assert told["error"].startswith("NonZeroAgentExitCodeError")
    assert not (tmp_path / "trajectory.json").exists() and told["context"]["n_input_tokens"] is None
