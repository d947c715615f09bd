"""What a model thought before goes back only where its template keeps it, and its window has room for it."""

import asyncio
from typing import Any

import pytest

from kith.core.model import Prompt
from kith.core.values import Message, Text, Thinking, say
from kith.features.demo.standin import serve
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.stack import look

THOUGHT = Message("assistant", (Thinking("let me see"), Text("I see.")))
PROMPT = Prompt("You are kith.", (say("look"), THOUGHT, say("and?")))


def asked(**behaviour: Any) -> tuple[dict[str, Any], int, int]:
    """The former reply as it was sent, and the prompt's tokens: exactly, and as estimated."""
    requests: list[Any] = []

    async def run() -> tuple[int, int]:
        async with serve(["ok"], "llama-server", tell=requests.append, **behaviour) as server:
            provider = OpenAILike("standin", Endpoint(server.url), "llama-server")
            opened = await look(provider, lambda digest: {}, 0, lambda event: None)
            await opened.metered()(PROMPT, lambda event: None)
            return await opened.counter.ask(PROMPT) or 0, opened.counter.weigh((THOUGHT,))

    exact, estimated = asyncio.run(run())
    return requests[-1].body["messages"][2], exact, estimated


@pytest.mark.parametrize(
    "behaviour", [{"keeps_thinking": False}, {"window": 8192}, {"keeps_thinking": False, "window": 8192}]
)
def test_it_is_left_out_and_counts_nothing(behaviour: dict[str, Any]) -> None:
    row, exact, estimated = asked(**behaviour)
    assert row == {"role": "assistant", "content": "I see."}
    kept, more, larger = asked(window=16_384)
    assert kept["reasoning_content"] == "let me see"
    assert more > exact and larger > estimated
