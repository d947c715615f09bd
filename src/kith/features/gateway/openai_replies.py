"""A reply in OpenAI's form: whole or as a stream, ended at once when the client leaves."""

import asyncio
import json
import math
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from fastapi import Response
from msgspec import Struct, field
from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from kith.core.errors import KithError, ModelError
from kith.core.event_loop import leave
from kith.core.events import Delta, Event
from kith.core.model import Emit
from kith.core.values import Reply, Thinking, ToolCall, Usage
from kith.features.gateway.answering import Failure, sort_failure
from kith.features.gateway.openai_requests import MalformedError

DONE: Final = b"data: [DONE]\n\n"
_FINISH: Final = {"end": "stop", "tools": "tool_calls", "length": "length"}
# For each failure its status, and OpenAI's type and code.
_FAILURES: Final[Mapping[Failure, tuple[int, str, str]]] = {
    "consent": (403, "permission_error", "consent_missing"),
    "missing": (404, "invalid_request_error", "model_not_found"),
    "overflow": (400, "invalid_request_error", "context_length_exceeded"),
    "unable": (400, "invalid_request_error", "unsupported"),
    "limit": (429, "insufficient_quota", "limit_reached"),
    "passing": (503, "server_error", "try_again"),
    "broken": (502, "server_error", "model_failed"),
}
_RETRY_S: Final = 1


class TurnedAwayError(KithError):
    """Nobody can see to a request now: too many wait (429), or the server is about to end (503)."""

    def __init__(self, text: str, status: int, wait_s: float = 1.0) -> None:
        super().__init__(text)
        self.status, self.wait_s = status, wait_s


class Chunks(Struct, frozen=True):
    """The frame of one answer: its id and name, and if its usage is wanted at the end."""

    id: str
    model: str
    counts: bool = False
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, reply: Reply) -> Response:
        """The answer to a request that does not stream."""
        thought, calls = _thought(reply), _calls(reply)
        message: dict[str, Any] = {"role": "assistant", "content": reply.message.text or None}
        message |= {"reasoning_content": thought} if thought else {}
        message |= {"tool_calls": calls} if calls else {}
        if not calls and message["content"] is None:
            message["content"] = ""
        choice = {"index": 0, "message": message, "finish_reason": _FINISH[reply.stop], "logprobs": None}
        about = self._about("chat.completion") | {"model": reply.model}
        return json_response({**about, "choices": [choice], "usage": _usage(reply.usage)})

    def opening(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def piece(self, delta: Delta) -> bytes:
        return self._chunk({"reasoning_content" if delta.kind == "thinking" else "content": delta.text})

    def ending(self, reply: Reply, rest: str) -> bytes:
        """Build the end of an answer: the `rest` of its text, its calls, its model."""
        named = replace(self, model=reply.model)
        calls = [call | {"index": at} for at, call in enumerate(_calls(reply))]
        said = self._chunk({"content": rest}) if rest else b""
        said += b"".join(self._chunk({"tool_calls": [call]}) for call in calls)
        said += named._chunk({}, _FINISH[reply.stop])
        if self.counts:
            about = named._about("chat.completion.chunk")
            said += _event({**about, "choices": [], "usage": _usage(reply.usage)})
        return said + DONE

    def failure(self, error: Exception) -> bytes:
        """Build the error after an answer has begun."""
        return b"data: " + bytes(refusal(error).body) + b"\n\n" + DONE

    def refusal(self, error: Exception) -> Response:
        """Build the error before an answer."""
        return refusal(error)

    def _about(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event({**self._about("chat.completion.chunk"), "choices": [choice]})


def refusal(error: Exception) -> Response:
    """An error as OpenAI tells it: {"error": {"message", "type", "param", "code"}}."""
    if isinstance(error, MalformedError):
        return tell_error(400, str(error), "invalid_request_error", "malformed", error.param or None)
    if not isinstance(error, KithError):
        return tell_error(500, "A bug in kith; its terminal tells more.", "server_error", "bug")
    if isinstance(error, TurnedAwayError):
        kind, headers = "rate_limit_error", {"retry-after": f"{max(1, math.ceil(error.wait_s))}"}
        return tell_error(error.status, str(error), kind, "try_again", headers=headers)
    status, kind, code = _FAILURES[sort_failure(error)]
    # By these words programs know that they have to send less.
    before = "This model's maximum context length is exceeded. " if code == "context_length_exceeded" else ""
    wait = (error.after_s if isinstance(error, ModelError) else None) or _RETRY_S
    headers = {"retry-after": f"{math.ceil(wait)}"} if status == 503 else {}
    param = "model" if code == "model_not_found" else None
    return tell_error(status, f"{before}{error}", kind, code, param, headers)


def tell_error(
    status: int,
    message: str,
    kind: str,
    code: str,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An error in OpenAI's shape."""
    error = {"message": message, "type": kind, "param": param, "code": code}
    return json_response({"error": error}, status, headers)


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that is not a stream."""
    return Response(plain_json(value), status, headers, "application/json")


def plain_json(value: object) -> bytes:
    """JSON in ASCII: a lone surrogate, which a model or a stranger may have sent, cannot be written else."""
    return json.dumps(value, separators=(",", ":")).encode()


def _event(value: object) -> bytes:
    return b"data: " + plain_json(value) + b"\n\n"


def _thought(reply: Reply) -> str:
    return "".join(part.text for part in reply.message.parts if isinstance(part, Thinking))


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
        for call in reply.message.calls
    ]


def _arguments(call: ToolCall) -> str:
    """A call's arguments as JSON; why, where they could not be read: nobody takes that for arguments."""
    return call.fault if call.fault and not call.args else json.dumps(dict(call.args))


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


# One reply on its way to a client: whole or piece by piece, and ended at once when the client leaves.

# Asks a model, which is heard while it answers. Raises KithError.
Work = Callable[[Emit], Awaitable[Reply]]
PING_S: Final = 10.0  # of silence, after which a client is told that it is not forgotten
_PING: Final = b": still at work\n\n"


class ReplyVoice(Protocol):
    """A dialect's form of an answer."""

    def whole(self, reply: Reply) -> Response: ...
    def opening(self) -> bytes: ...
    def piece(self, delta: Delta) -> bytes: ...
    def ending(self, reply: Reply, rest: str) -> bytes: ...
    def failure(self, error: Exception) -> bytes: ...
    def refusal(self, error: Exception) -> Response: ...


class _Told(Struct):
    """The words that were sent: they cannot be taken back where the model begins another `reply`."""

    text: str = ""
    reply: str = ""
    anew: bool = False

    def take(self, event: Event) -> Delta | None:
        """The piece that is to be sent because of an event, if any."""
        if not isinstance(event, Delta) or event.kind == "tool":
            return None
        self.anew = self.anew or (bool(self.text) and event.reply != self.reply)
        if self.anew:
            return None
        self.reply = event.reply
        if event.kind == "text":
            self.text += event.text
        return event

    def rest(self, reply: Reply) -> str:
        """Return the rest of the text. Raises KithError where the sent text was different."""
        words = reply.message.text
        if words.startswith(self.text):
            return words[len(self.text) :]
        if self.anew:
            raise KithError("The reply broke off, and the retry gave a different text.")
        return ""  # blanks at the end, and the like


class ReplyResponse(Response):
    """The answer of `work`, as `voice` tells it; `stream`: piece by piece, as server-sent events."""

    def __init__(
        self, work: Work, voice: ReplyVoice, *, stream: bool, headers: Mapping[str, str] | None = None
    ):
        self.given = dict(headers or {})
        super().__init__(headers=self.given)
        self.work, self.voice, self.stream = work, voice, stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask, tell, and stop asking when nobody listens any more."""
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        working = asyncio.ensure_future(self.work(events.put_nowait))
        working.add_done_callback(lambda _: events.put_nowait(None))
        telling = asyncio.ensure_future(self._tell(events, working, send))
        leaving = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait((telling, leaving), return_when=asyncio.FIRST_COMPLETED)
            if telling.done():
                telling.result()
        finally:
            await leave(telling, leaving, working)

    async def _tell(
        self, events: "asyncio.Queue[Event | None]", working: "asyncio.Future[Reply]", send: Send
    ) -> None:
        voice, told, begun = self.voice, _Told(), False

        async def say(data: bytes) -> None:
            nonlocal begun
            if not begun:
                begun = True
                await self._begin(send)
                data = voice.opening() + data
            await send({"type": "http.response.body", "body": data, "more_body": True})

        while True:
            try:
                event = await asyncio.wait_for(events.get(), PING_S)
            except TimeoutError:
                if self.stream:
                    await say(_PING)
                continue
            if event is None:
                break
            delta = told.take(event) if self.stream else None
            if delta is not None:
                await say(voice.piece(delta))
        try:
            reply = await working
            if not self.stream:
                return await self._send_whole(voice.whole(reply), send)
            await say(voice.ending(reply, told.rest(reply)))
        except Exception as error:
            if not isinstance(error, KithError):
                traceback.print_exc(file=sys.stderr)
            if not begun:
                return await self._send_whole(voice.refusal(error), send)
            await say(voice.failure(error))
        await send({"type": "http.response.body", "body": b""})

    async def _begin(self, send: Send) -> None:
        headers = {"content-type": "text/event-stream", "x-accel-buffering": "no", **self.given}
        await send({"type": "http.response.start", "status": 200, "headers": _raw(headers)})

    async def _send_whole(self, telling: Response, send: Send) -> None:
        fields = [*telling.raw_headers, *_raw(self.given)]
        await send({"type": "http.response.start", "status": telling.status_code, "headers": fields})
        await send({"type": "http.response.body", "body": telling.body})


async def _gone(receive: Receive) -> None:
    """Returns when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def documented(summary: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the API description of a body that is parsed by hand."""
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
    }
