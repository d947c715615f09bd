"""Chat templates of several manners, and what only a question to the model shows."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from clinic import Checks, answering, row, visit
from kith.features.demo.standin import serve
from kith.features.doctor.check import run_all
from kith.features.doctor.examine import deep_examinations
from kith.features.doctor.servers import Ward, check_server
from kith.models.discovery.servers import Place
from kith.settings import Settings


def render(body: Mapping[str, Any]) -> str:
    """A template that only appends."""
    return "".join(f"<{m['role']}>{m['content']}{m.get('tool_calls', '')}" for m in body["messages"])


def strips_thinking(body: Mapping[str, Any]) -> str:
    """Empty thoughts in the present turn, removed once somebody speaks again: the manner of Qwen 3.5."""
    quiet = body.get("chat_template_kwargs") == {"enable_thinking": False}
    rows = body["messages"]
    asked = max(at for at, row in enumerate(rows) if row["role"] == "user")
    texts = []
    for at, message in enumerate(rows):
        think = "<think></think>" if message["role"] == "assistant" and at > asked and not quiet else ""
        texts.append(f"<{message['role']}>{think}{message['content']}")
    return "".join(texts)


def last_first(body: Mapping[str, Any]) -> str:
    return f"[{len(body['messages'])}]{render(body)}"


def no_tools(body: Mapping[str, Any]) -> Any:
    if any(message["role"] == "tool" for message in body["messages"]):
        return 500, {"error": {"code": 500, "message": "Conversation roles must alternate user/assistant"}}
    return {"prompt": render(body)}


def deaf(body: Mapping[str, Any]) -> str:
    return "".join(message["content"] for message in body["messages"] if message["role"] != "system")


WELL = "Its template takes system, tool and user messages in every order."


@pytest.mark.parametrize(
    ("template", "level", "text", "mend"),
    [
        (render, "green", "Its template only appends, so nothing is read twice.", ""),
        (
            strips_thinking,
            "yellow",
            "While it may think, its template rewrites the former turn with each new question: "
            "the server reads that again.",
            "think = false",
        ),
        (
            last_first,
            "yellow",
            "Its template rewrites the turn with each tool call: the server reads that again.",
            "llama-server --chat-template-file FILE ...",
        ),
        (
            no_tools,
            "yellow",
            "Its template does not take tool results, and a question after a tool call: "
            "it refuses it (Conversation roles must alternate user/assistant).",
            "llama-server --chat-template-file FILE ...",
        ),
        (
            deaf,
            "yellow",
            "Its template does not take the system message: it leaves it out.",
            "llama-server --chat-template-file FILE ...",
        ),
    ],
)
def test_the_template_is_tried(template: Callable[[Any], Any], level: str, text: str, mend: str) -> None:
    def apply(body: Mapping[str, Any]) -> Any:
        assert body["add_generation_prompt"] is False and body["tools"]
        done = template(body)
        return {"prompt": done} if isinstance(done, str) else done

    async def run() -> Checks:
        routes = {
            "/v1/models": row("m", n_ctx=16_384, n_ctx_train=16_384),
            "/props": {"default_generation_settings": {"n_ctx": 16_384}},
            "/apply-template": apply,
        }
        async with answering(routes) as url:
            return await visit(url)

    last = asyncio.run(run())[-1]
    assert (last.level, last.text, last.mend) == (level, text, mend)


@pytest.mark.slow
def test_the_real_engine_is_well(engine_url: str) -> None:
    checks = asyncio.run(visit(engine_url))
    assert {check.level for check in checks} == {"green"}
    texts = [check.text for check in checks]
    assert WELL in texts and "Its template only appends, so nothing is read twice." in texts
    assert any("window of 16,384 tokens of the 32,768 it was trained for." in text for text in texts)


# --- deep ------------------------------------------------------------------------------------


async def ask_deep(place: Place) -> Checks:
    ward = Ward()
    await check_server(place, Settings(), ward, lambda check: None)
    return await run_all(deep_examinations(ward, deep=True))


def test_deep_a_tool_is_called_and_too_long_a_prompt_is_refused() -> None:
    async def run() -> Checks:
        call = {"calls": [{"name": "read", "args": {"path": "notes.txt"}}]}
        async with serve([call, "cut!"], "ollama", window=4096) as server:
            return await ask_deep(Place(server.url))

    checks = asyncio.run(run())
    assert [(check.level, check.text) for check in checks] == [
        ("green", "standin:latest called a tool."),
        ("green", "standin:latest refuses a prompt that is too long."),
    ]


def test_deep_a_server_that_cuts_in_silence_is_found_out() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "Of course."}, "finish_reason": "stop"}]}

    async def run() -> Checks:
        routes = {
            "/v1/models": {"data": [{"id": "m", "max_model_len": 2000}]},
            "/v1/chat/completions": f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode(),
        }
        async with answering(routes) as url:
            return await ask_deep(Place(url))

    call, cut = asyncio.run(run())
    assert (call.level, call.text) == ("yellow", "m called no tool, though it was asked to.")
    assert call.mend == "kith models probe m"
    assert cut.level == "yellow"
    assert cut.text == "m answered a prompt larger than its window: the server cuts, and does not say so."
