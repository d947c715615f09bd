"""Servers of other projects, where they are installed: LiteLLM's proxy and llama-cpp-python's server."""

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from engines import ignore
from kith.core.errors import ModelError
from kith.core.events import Delta, Event
from kith.core.model import Prompt
from kith.core.values import Message, Reply, Sampling, say
from kith.features.clouds.anthropic import Anthropic, anthropic_endpoint
from kith.features.clouds.gemini import Gemini, gemini_endpoint
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from trained import smollm2
from waiting import until

pytestmark = pytest.mark.slow

KEY = "sk-3b1c9a7e5d2f4866a0c4e8d1f7b29350"
CONFIG = """\
model_list:
  - model_name: mock
    litellm_params: {model: openai/mock, api_key: none, mock_response: "Two functions."}
  - model_name: engine
    litellm_params: {model: openai/engine, api_key: none, api_base: "ENGINE/v1"}
"""
PROMPT = Prompt(
    "Be brief.",
    (say("Hi"), Message("assistant", say("Hello.").parts), say("What is in utils.py?")),
    sampling=Sampling(temperature=0.0, max_tokens=16),
)
TALKS = {
    "openai": lambda url, name="mock": OpenAILike(name, Endpoint(url, KEY), "openai"),
    "anthropic": lambda url, name="mock": Anthropic(name, anthropic_endpoint(url, KEY)),
    "gemini": lambda url, name="mock": Gemini(name, gemini_endpoint(url, KEY)),
}


@contextmanager
def running(command: list[str], port: int, path: str, log: Path, **more: str) -> Iterator[str]:
    """A server's address, once it answers at a path."""
    url = f"http://127.0.0.1:{port}"

    def is_up() -> bool:
        assert server.poll() is None, log.read_text()[-2000:]
        try:
            return httpx2.get(url + path, trust_env=False).status_code == 200
        except httpx2.HTTPError:
            return False

    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **more}) as server,
    ):
        try:
            until(is_up, "the server does not answer")
            yield url
        finally:
            server.terminate()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def litellm(engine_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """LiteLLM's proxy, with a model whose reply is fixed, and the engine with the tiny model."""
    command = shutil.which("litellm")
    if command is None:
        pytest.skip("litellm is not on the PATH: install litellm[proxy] in an environment of its own")
    folder, port = tmp_path_factory.mktemp("litellm"), free_port()
    (folder / "config.yaml").write_text(CONFIG.replace("ENGINE", engine_url))
    flags = ["--config", str(folder / "config.yaml"), "--host", "127.0.0.1", "--port", str(port)]
    own = {"HOME": str(folder), "LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with running([command, *flags], port, "/health/liveliness", folder / "log", **own) as url:
        yield url


def ask(model: Any, prompt: Prompt = PROMPT) -> tuple[Reply, str]:
    events: list[Event] = []
    reply = asyncio.run(model(prompt, events.append))
    return reply, "".join(event.text for event in events if isinstance(event, Delta))


@pytest.mark.parametrize("protocol", ["openai", "gemini"])
def test_a_proxy_streams_its_answer(litellm: str, protocol: str) -> None:
    reply, streamed = ask(TALKS[protocol](litellm))
    assert (reply.message.text, streamed, reply.stop) == ("Two functions.", "Two functions.", "end")
    assert reply.usage.input > 0 and reply.usage.output > 0


@pytest.mark.parametrize("protocol", TALKS)
def test_a_proxy_passes_on_what_an_engine_streams(litellm: str, protocol: str) -> None:
    reply, streamed = ask(TALKS[protocol](litellm, "engine"))
    assert reply.message.text == streamed and streamed and reply.stop in ("end", "length")


def test_a_whole_reply_in_place_of_a_stream_is_named(litellm: str) -> None:
    """For a fixed reply, the proxy does not stream the Messages protocol."""
    with pytest.raises(ModelError, match="sent a whole reply where kith asked for a stream"):
        ask(TALKS["anthropic"](litellm))


@pytest.mark.parametrize("protocol", TALKS)
def test_a_proxy_tells_its_facts(litellm: str, protocol: str) -> None:
    facts = asyncio.run(TALKS[protocol](litellm).facts(ignore))
    assert (facts.server, facts.cloud) == (litellm, False)


def test_llama_cpp_python_answers(tmp_path: Path) -> None:
    python = os.environ.get("LLAMA_CPP_PYTHON")
    if python is None:
        pytest.skip("LLAMA_CPP_PYTHON does not name a Python that has llama-cpp-python[server]")
    model, port = smollm2(), free_port()
    flags = ["-m", "llama_cpp.server", "--model", str(model), "--n_ctx", "4096", "--n_threads", "1"]
    command = [python, *flags, "--host", "127.0.0.1", "--port", str(port)]
    with running(command, port, "/v1/models", tmp_path / "log") as url:
        openai = OpenAILike(str(model), Endpoint(url), "openai")
        reply, streamed = ask(openai)
        assert reply.message.text == streamed and streamed and reply.stop in ("end", "length")
