"""What the tests from outside share: kith as a process, and stand-in model servers beside it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from outside import Kith, Serve, Server


@pytest.fixture
def kith(repository: Path) -> Kith:
    """kith in the small repository whose `mean` is wrong."""
    return Kith(repository)


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts a stand-in server with a script; kith finds it through the variable that people already set."""
    started: list[subprocess.Popen[str]] = []

    def start(replies: list[Any], dialect: str = "ollama", *options: str) -> Server:
        number = len(started)
        script, log = tmp_path / f"script{number}.json", tmp_path / f"requests{number}.jsonl"
        script.write_text(json.dumps(replies))
        log.touch()
        command = [sys.executable, "-m", "kith.models.standin", "--dialect", dialect, "--port", "0"]
        command += ["--script", str(script), "--log", str(log), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout
        url = process.stdout.readline().split()[-1]
        monkeypatch.setenv("OLLAMA_HOST" if dialect == "ollama" else "OPENAI_BASE_URL", url)
        return Server(url, log)

    yield start
    for process in started:
        process.terminate()
        process.wait(10)
