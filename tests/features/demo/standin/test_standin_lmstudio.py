"""The stand-ins for LM Studio and vLLM: what they say that llama-server does not, and what they keep back."""

from typing import Any

import pytest

from kith.features.demo.standin import Server
from standin_client import HI, LLAMA, READ_CALL, Client, chat, events, visit

LONG = {"messages": [{"role": "user", "content": "word " * 2000}], "max_tokens": 100}


@pytest.mark.parametrize("dialect", ["lmstudio", "vllm"])
def test_they_stream_like_openai_and_count_no_cache(dialect: str) -> None:
    body = {"stream": True, "stream_options": {"include_usage": True}, "return_progress": True}
    chunks = events(chat([{"thinking": "hm", "text": "ok", "calls": [READ_CALL]}], dialect, body))
    assert list(chunks[-1]["usage"]) == ["completion_tokens", "prompt_tokens", "total_tokens"]
    assert not any("timings" in chunk or "prompt_progress" in chunk for chunk in chunks)
    key = "reasoning" if dialect == "vllm" else "reasoning_content"
    assert any(choice["delta"].get(key) == "hm" for chunk in chunks for choice in chunk["choices"])


def test_lm_studio_loads_when_asked_and_refuses_with_200() -> None:
    async def talk(client: Client, server: Server) -> None:
        async def row() -> dict[str, Any]:
            (found,) = (await client.get("/api/v1/models")).json()["models"]
            return dict(found)

        before = await row()
        assert (before["key"], before["loaded_instances"]) == ("standin", [])
        assert before["capabilities"]["trained_for_tool_use"] is True
        await client.post(LLAMA, json={"model": "standin", "messages": HI})
        (instance,) = (await row())["loaded_instances"]
        assert instance["config"]["context_length"] == 4096
        odd = await client.get("/health")
        assert (odd.status_code, odd.json()) == (
            200,
            {"error": "Unexpected endpoint or method. (GET /health)"},
        )
        loaded = await client.post("/api/v1/models/load", json={"model": "standin"})
        assert loaded.json()["status"] == "loaded"

    visit(["hi"], talk, "lmstudio", window=4096)


def test_vllm_tells_its_window_and_wants_a_parser_for_tools() -> None:
    async def talk(client: Client, server: Server) -> None:
        (row,) = (await client.get("/v1/models")).json()["data"]
        assert (row["id"], row["max_model_len"], row["owned_by"]) == ("standin", 4096, "vllm")
        assert (await client.get("/health")).content == b""
        body = {"model": "standin", "messages": HI, "tools": [{"type": "function"}]}
        refused = await client.post(LLAMA, json=body)
        assert refused.status_code == 400
        assert refused.json()["error"]["message"].startswith('"auto" tool choice requires')

    visit([], talk, "vllm", window=4096, capabilities=("completion",))


@pytest.mark.parametrize("dialect", ["lmstudio", "vllm"])
def test_they_refuse_a_long_prompt_and_another_model(dialect: str) -> None:
    response = chat(["never"], dialect, LONG, window=1000)
    assert response.status_code == 400
    assert "maximum context length is 1000 tokens" in response.json()["error"]["message"]
    assert chat(["never"], dialect, {"model": "q"}).status_code == 404


@pytest.mark.parametrize("dialect", ["lmstudio", "vllm"])
def test_they_take_a_broken_call_in_the_history(dialect: str) -> None:
    broken = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}
    assert chat(["ok"], dialect, {"messages": [*HI, broken]}).status_code == 200
