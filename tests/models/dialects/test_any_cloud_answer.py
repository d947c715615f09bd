"""Whatever a server in the clouds' protocols answers: a reply that the log can hold, or one sentence."""

import asyncio
import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_any_answer import HI, anything, each, objects

from kith.core.errors import KithError, ModelError
from kith.core.events import Called, Said
from kith.core.model import Prompt
from kith.core.values import Reply, say
from kith.features.clouds.anthropic import Anthropic
from kith.features.clouds.gemini import Gemini
from kith.memory.log import Log
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint

LONE = "\ud800 half a letter"
counts = st.one_of(st.integers(), st.floats(), st.sampled_from([10**400, -5, "7", None, True, 1e308]))
usage = objects(
    input_tokens=counts,
    output_tokens=counts,
    cache_read_input_tokens=counts,
    cache_creation_input_tokens=counts,
)
block = objects(
    type=st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use"]),
    id=st.sampled_from(["c", LONE, "x" * 10_000]),
    name=st.sampled_from(["read", LONE]),
    input=anything,
    text=st.sampled_from(["a", LONE]),
    data=st.text(max_size=3),
)
delta = objects(
    type=st.sampled_from(["text_delta", "thinking_delta", "signature_delta", "input_json_delta"]),
    text=st.sampled_from(["a", LONE]),
    thinking=st.text(max_size=3),
    signature=st.sampled_from(["s", LONE]),
    partial_json=st.sampled_from(["{", '{"a": NaN}', '{"a": "\\ud800"}']),
    stop_reason=st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal", "what?"]),
)
claude = objects(
    type=st.sampled_from(
        ["message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"]
    ),
    index=counts,
    message=objects(usage=usage),
    content_block=block,
    delta=delta,
    usage=usage,
)
piece = objects(
    text=st.sampled_from(["a", LONE]),
    thought=st.booleans(),
    thoughtSignature=st.sampled_from(["s", LONE]),
    functionCall=objects(
        name=st.sampled_from(["read", LONE]),
        args=anything,
        id=st.text(max_size=2),
        willContinue=st.booleans(),
        partialArgs=each(
            objects(jsonPath=st.sampled_from(["$.a", "$.a[0].b", "$", "$.a[99999999]"]), numberValue=counts)
        ),
    ),
)
gemini = objects(
    candidates=each(
        objects(
            content=objects(parts=each(piece)),
            finishReason=st.sampled_from(["STOP", "MAX_TOKENS", "MALFORMED_FUNCTION_CALL", "?"]),
        )
    ),
    usageMetadata=objects(
        promptTokenCount=counts, cachedContentTokenCount=counts, candidatesTokenCount=counts
    ),
    promptFeedback=objects(blockReason=st.text(max_size=3)),
)


def answering(chunks: list[Any]) -> Endpoint:
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)

    def answer(request: httpx2.Request) -> httpx2.Response:
        streams = request.method == "POST"
        kind = "text/event-stream" if streams else "application/json"
        return httpx2.Response(200, content=body if streams else "{}", headers={"content-type": kind})

    return Endpoint("http://127.0.0.1:1", transport=httpx2.MockTransport(answer))


def keep(log: Log, reply: Reply) -> None:
    """What a reply leaves in the log, read again."""
    used = reply.usage
    assert all(0 <= count < 1 << 63 for count in (used.input, used.output, used.cached, used.written))
    log.append("s", Said("task", reply.message), ())
    log.append("s", Called(reply.model, "work", 1, used, usd=math.nan), ())
    log.append("s", Called(reply.model, "work", 1, used, usd=0.5), ())


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(claude, max_size=5), st.lists(gemini, max_size=3))
def test_any_stream_becomes_a_reply_or_a_sentence(
    tmp_path: Path, claudes: list[Any], geminis: list[Any]
) -> None:
    log = Log(tmp_path / f"{len(list(tmp_path.iterdir()))}.db")
    end = {"type": "message_stop"}
    for model in (Anthropic("m", answering([*claudes, end])), Gemini("m", answering(geminis))):
        with suppress(KithError):
            reply = asyncio.run(model(HI, lambda event: None))
            keep(log, reply)
            # It goes back with the next request.
            with suppress(KithError):
                asyncio.run(model(Prompt("", (*HI.messages, reply.message)), lambda event: None))
    told = sum(isinstance(record.event, Said) for record in log.events("s"))
    assert log.paid(0) == pytest.approx(0.5 * told)  # NaN is no money, and spoils no sum
    log.close()


@pytest.mark.slow
def test_a_reply_without_an_end_is_ended() -> None:
    """A server that writes on and on, and never the same, must not fill the memory."""
    sent = 0

    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            nonlocal sent
            while sent < 400_000_000:
                chunk = {"choices": [{"delta": {"content": f"{sent} " * 20_000}}]}
                data = f"data: {json.dumps(chunk)}\n\n".encode()
                sent += len(data)
                yield data

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=Endless(), headers={"content-type": "text/event-stream"})

    endpoint = Endpoint("http://127.0.0.1:1", transport=httpx2.MockTransport(answer))
    with pytest.raises(ModelError, match="more than"):
        asyncio.run(OpenAILike("m", endpoint, "openai")(Prompt("", (say("hi"),)), lambda event: None))
    assert sent < 200_000_000
