"""What the tests from outside share: kith as a process, and stand-in model servers beside it."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from forked import ForkedStandIn
from kith.features.demo import standin
from outside import Kith, Serve, Server, StandIn, in_thread

FIXED = {
    "calls": [
        {"name": "edit", "args": {"path": "utils.py", "old": "(len(numbers) + 1)", "new": "len(numbers)"}}
    ]
}


PRICES = '["vllm/standin"]\ninput = 10\noutput = 50\n'


@pytest.fixture
def kith(repository: Path) -> Kith:
    """kith in the small repository whose `mean` is wrong."""
    return Kith(repository)


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts a stand-in server with a script; kith finds it through the variable that people already set."""
    started: list[ForkedStandIn] = []

    def start(replies: list[Any], dialect: str = "ollama", *options: str) -> Server:
        number = len(started)
        script, log = tmp_path / f"script{number}.json", tmp_path / f"requests{number}.jsonl"
        script.write_text(json.dumps(replies))
        log.touch()
        words = ("--dialect", dialect, "--port", "0", "--script", str(script), "--log", str(log), *options)
        server = ForkedStandIn(words, tmp_path)
        started.append(server)
        monkeypatch.setenv("OLLAMA_HOST" if dialect == "ollama" else "OPENAI_BASE_URL", server.url)
        return Server(server.url, log, server.pid)

    yield start
    for server in started:
        server.end()


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """Starts a stand-in that misbehaves as told, and makes its model the one that kith asks."""
    with ExitStack() as stack:

        def start(script: Any, dialect: str = "ollama", **behaviour: Any) -> standin.Server:
            server = stack.enter_context(in_thread(script, dialect, **behaviour))
            provider = "ollama" if dialect == "ollama" else "openai"
            monkeypatch.setenv("OLLAMA_HOST" if provider == "ollama" else "OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("KITH_MODEL", f"{provider}/standin")
            return server

        yield start


@pytest.fixture
def script(tmp_path: Path) -> Any:
    """Writes a conversation; gives the name of the model that plays it."""

    def write(*replies: Any) -> str:
        file = tmp_path / "conversation.json"
        file.write_text(json.dumps([{"text": each} if isinstance(each, str) else each for each in replies]))
        return f"replay/{file}"

    return write


@pytest.fixture
def cloud(serve: Serve, home: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A stand-in that counts as one in the cloud: `kith -m far/standin`."""
    server = serve([FIXED, "Mended."] * 3, "vllm")
    monkeypatch.delenv("OPENAI_BASE_URL")
    config = home / ".config" / "kith"
    config.mkdir(parents=True)
    endpoint = f'[endpoints.far]\nkind = "vllm"\nurl = "{server.url}"\ncloud = true\n'
    (config / "config.toml").write_text(endpoint)
    (config / "prices.toml").write_text(PRICES)
    return server
