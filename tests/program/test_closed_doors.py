"""--offline: whatever is configured and named, nothing connects beyond this machine, or looks up a name."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Every look at a name and every connection beyond loopback is noted and refused, before it happens.
PROGRAM = """
import ipaddress, json, sys
noted, SENDS = [], ("socket.connect", "socket.sendto")

def is_here(host):
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return host in ("localhost", "", None)

def watch(event, args):
    if event == "socket.getaddrinfo" and not is_here(args[0]):
        noted.append(f"look-up of {args[0]}")
    elif event in SENDS and isinstance(args[1], tuple) and not is_here(args[1][0]):
        noted.append(f"{event} to {args[1]}")
    else:
        return
    raise OSError("refused by the test")

sys.addaudithook(watch)
from kith.cli import main
codes = [main(words) for words in json.loads(sys.argv[1])]
print(json.dumps([codes, noted]), file=sys.stderr)
"""
CONFIG = """
[endpoints.far]
kind = "openai"
url = "https://models.example.org/v1"
key_env = "FAR_KEY"

[endpoints.other]
kind = "anthropic"
url = "https://proxy.example.org"
key_env = "FAR_KEY"
cloud = false

[pools]
both = ["far", "other"]

[route]
frontier = "anthropic/claude-opus-5-5"
"""
MODELS = (
    *("anthropic/claude-opus-5-5", "gemini/gemini-4-argon", "openai/gpt", "far/large", "other/claude-x"),
    *("both/large", "claude-opus-5-5", "route", ""),
)


def visit(commands: list[list[str]], folder: Path) -> tuple[list[int], list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    codes, noted = json.loads(done.stderr.splitlines()[-1])
    return codes, noted


@pytest.fixture
def configured(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".config" / "kith").mkdir(parents=True)
    (home / ".config" / "kith" / "config.toml").write_text(CONFIG)
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "FAR_KEY"):
        monkeypatch.setenv(name, "a-key-of-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.example.com/v1")
    monkeypatch.setenv("KITH_CLOUD", "allow")


def test_offline_nothing_leaves_this_machine(repository: Path, configured: None) -> None:
    runs = [["run", "--yes", "--offline", *(("-m", name) if name else ()), "mend mean"] for name in MODELS]
    others = [["models", "--offline"], ["models", "prices"], ["config"], ["doctor", "--offline"]]
    codes, noted = visit([*runs, *others], repository)
    assert noted == []
    assert all(code for code in codes[: len(runs)])  # and nobody pretends that something was done


@pytest.mark.slow
def test_the_watch_would_have_seen_it(repository: Path, configured: None) -> None:
    _, noted = visit([["models"]], repository)
    assert any("models.example.org" in each for each in noted)
