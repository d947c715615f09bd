"""A reply in OpenAI's form: whole, or in the chunks of a stream."""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kith.core.errors import KithError, ModelError
from kith.core.events import Delta
from kith.core.values import Reply, Thinking, ToolCall, Usage
from kith.features.gateway.answering.failures import Failure, sort_failure
from kith.features.gateway.openai.bodies import MalformedError

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


@dataclass(frozen=True, slots=True)
class RawResponse:
    """An answer that is not a stream, ready to be sent."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunks:
    """How one answer is told: under which id and name, and whether its usage is wanted at the end."""

    id: str
    model: str
    counts: bool = False
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, reply: Reply) -> RawResponse:
        """The answer to a request that does not stream."""
        thought, calls = _thought(reply), _calls(reply)
        message: dict[str, Any] = {"role": "assistant", "content": reply.message.text or None}
        message |= {"reasoning_content": thought} if thought else {}
        message |= {"tool_calls": calls} if calls else {}
        if not calls and message["content"] is None:
            message["content"] = ""
        choice = {"index": 0, "message": message, "finish_reason": _FINISH[reply.stop], "logprobs": None}
        about = self._about("chat.completion") | {"model": reply.model}
        return RawResponse(200, plain_json({**about, "choices": [choice], "usage": _usage(reply.usage)}))

    def opening(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def piece(self, delta: Delta) -> bytes:
        return self._chunk({"reasoning_content" if delta.kind == "thinking" else "content": delta.text})

    def ending(self, reply: Reply, rest: str) -> bytes:
        """What is left to say when the reply is there: `rest` of its text, its calls, its model."""
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
        """What went wrong after the answer had begun."""
        return b"data: " + refusal(error).body + b"\n\n" + DONE

    def refusal(self, error: Exception) -> RawResponse:
        """What went wrong before."""
        return refusal(error)

    def _about(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event({**self._about("chat.completion.chunk"), "choices": [choice]})


def refusal(error: Exception) -> RawResponse:
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
) -> RawResponse:
    """An error in OpenAI's shape."""
    error = {"message": message, "type": kind, "param": param, "code": code}
    return RawResponse(status, plain_json({"error": error}), headers or {})


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
