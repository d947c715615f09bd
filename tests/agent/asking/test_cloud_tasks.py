"""A whole task by Claude, and by Gemini, in their documented wire formats: caches, thoughts, tools, keys."""

import json
from pathlib import Path
from typing import Any

import pytest

from kith.features.clouds.gemini import FOREIGN
from outside import Kith, Serve, Server
from sparing import first

KEY = "sk-nobody-ever-reads-this"
OLD, NEW = "(len(numbers) + 1)", "max(len(numbers), 1)"
CHECK = "python3 -m unittest -q"
SCRIPT: list[dict[str, Any]] = [
    {
        "thinking": "First I look at the file and its tests.",
        "text": "I read both.",
        "calls": [
            {"name": "read", "args": {"paths": ["utils.py"]}},
            {"name": "read", "args": {"paths": ["tests/test_utils.py"]}},
        ],
    },
    {"error": {"status": 529, "after_s": 0}},
    {
        "thinking": "The divisor is one too large.",
        "calls": [{"name": "edit", "args": {"path": "utils.py", "old": OLD, "new": NEW}}],
    },
    {"text": "Nearly", "error": {"status": 200}},
    {"calls": [{"name": "done", "args": {"summary": "mean() divides by the count."}}]},
]
MODELS = {"anthropic": "claude-standin", "gemini": "gemini-3-standin"}
VARIABLES = {
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
}


def start(serve: Serve, monkeypatch: pytest.MonkeyPatch, cloud: str, script: Any, *options: str) -> Server:
    """A stand-in that takes only the key, found through the variables that people have set already."""
    model = ("--model", MODELS[cloud], "--window", "200000", "--least-cached", "512")
    server = serve(script, cloud, "--key", KEY, *model, *options)
    monkeypatch.delenv("OPENAI_BASE_URL")
    for name, value in zip(VARIABLES[cloud], (server.url, KEY), strict=True):
        monkeypatch.setenv(name, value)
    return server


@pytest.mark.parametrize("cloud", first(MODELS))
def test_a_cloud_model_does_a_whole_task(
    kith: Kith, serve: Serve, home: Path, monkeypatch: pytest.MonkeyPatch, cloud: str
) -> None:
    options = ("--bind",) if cloud == "anthropic" else ()
    server = start(serve, monkeypatch, cloud, SCRIPT, *options)
    report = kith.run("-m", f"{cloud}/{MODELS[cloud]}", "--yes", "--check", CHECK, "fix the failing test")
    assert report["status"] == "done"
    assert NEW in (kith.folder / "utils.py").read_text()
    usage = report["usage"]
    assert usage["cached"] > 0.5 * usage["input"], usage
    last = server.requests[-1]
    sent = json.dumps(last)
    if cloud == "anthropic":
        signed = [b for m in last["messages"] for b in m["content"] if b["type"] == "thinking"]
        assert [block["thinking"] for block in signed] == [SCRIPT[0]["thinking"], SCRIPT[2]["thinking"]]
    else:
        assert sent.count('"thoughtSignature"') == 2 and FOREIGN not in sent
    for file in [path for path in home.rglob("*") if path.is_file()]:
        assert KEY.encode() not in file.read_bytes(), file
    assert KEY not in sent + json.dumps(report)


@pytest.mark.parametrize("cloud", MODELS)
def test_a_wrong_key_is_one_sentence_without_it(
    kith: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch, cloud: str
) -> None:
    start(serve, monkeypatch, cloud, [])
    monkeypatch.setenv(VARIABLES[cloud][1], "sk-another-key")
    told = kith("run", "-m", f"{cloud}/{MODELS[cloud]}", "fix it", code=None)
    assert told.returncode and "key" in told.stderr
    assert "sk-another-key" not in told.stdout + told.stderr


@pytest.mark.parametrize(
    ("cloud", "variable"), [("anthropic", "ANTHROPIC_API_KEY"), ("gemini", "GEMINI_API_KEY")]
)
def test_without_a_key_the_variable_is_named(kith: Kith, cloud: str, variable: str) -> None:
    told = kith("run", "-m", f"{cloud}/some-model", "fix it", code=5)
    assert f"needs a key: set {variable}." in told.stderr


def test_what_is_outside_can_be_closed(kith: Kith, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    told = kith("run", "--offline", "-m", "anthropic/claude-x", "fix it", code=5)
    assert "https://api.anthropic.com is not on this machine, and --offline is set." in told.stderr
    config = home / ".config/kith/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('cloud = "never"\n')
    told = kith("run", "-m", "anthropic/claude-x", "fix it", code=5)
    assert 'is outside of your own network, and cloud = "never" is set.' in told.stderr


def test_a_key_alone_chooses_nothing(kith: Kith, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    told = kith("run", "fix it", code=5)
    assert "anthropic" not in told.stderr.lower() and KEY not in told.stderr
