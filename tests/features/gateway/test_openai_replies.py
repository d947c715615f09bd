"""A reply in OpenAI's form, as a stream, whatever else is told of it meanwhile."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kith.core.events import Delta, Event
from kith.core.model import Emit
from kith.core.values import Message, Reply, Text
from kith.features.gateway.openai_replies import Chunks, ReplyResponse


def stream(pieces: Sequence[Event], words: str) -> list[Any]:
    """The chunks of a streamed answer whose pieces are these and whose reply has these words."""
    sent: list[bytes] = []

    async def work(listen: Emit) -> Reply:
        for each in pieces:
            listen(each)
        return Reply(Message("assistant", (Text(words),)), "end", "m")

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    async def leave() -> Any:
        await asyncio.Event().wait()

    response: Callable[..., Awaitable[None]] = ReplyResponse(work, Chunks("id", "m"), stream=True)
    asyncio.run(response({"type": "http"}, leave, send))
    lines = (line.removeprefix("data: ") for line in b"".join(sent).decode().splitlines() if line)
    return [json.loads(line) for line in lines if line != "[DONE]"]


def text_of(chunks: Sequence[Any]) -> str:
    choices = (choice for chunk in chunks for choice in chunk.get("choices", ()))
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def test_a_reply_of_which_nothing_is_heard_comes_whole() -> None:
    assert text_of(stream([], "Hello.")) == "Hello."


def test_a_reply_that_begins_anew_goes_on_where_the_first_one_ended() -> None:
    pieces = [Delta("Hel", "text", "first"), Delta("He", "text", "second"), Delta("llo.", "text", "second")]
    assert text_of(stream(pieces, "Hello.")) == "Hello."


def test_a_reply_that_begins_anew_with_other_words_fails() -> None:
    chunks = stream([Delta("Hel", "text", "first"), Delta("Good", "text", "second")], "Good day.")
    assert text_of(chunks) == "Hel" and "error" in chunks[-1]
