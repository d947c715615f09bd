"""How an answer in a role is told: one object, or events of which each is a piece of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from json import loads
from typing import Any

from kith.core.events import Delta
from kith.core.values import Reply, Text, Thinking
from kith.features.gateway.openai.replies import RawResponse, plain_json, refusal
from kith.features.web.problems import PROBLEM, problem_text


@dataclass(frozen=True, slots=True)
class RoleVoice:
    """The answers of one role, in one session."""

    role: str
    session: str

    def whole(self, reply: Reply) -> RawResponse:
        return RawResponse(200, plain_json(self._all(reply)))

    def opening(self) -> bytes:
        return b""

    def piece(self, delta: Delta) -> bytes:
        return _event("piece", {"thinking" if delta.kind == "thinking" else "text": delta.text})

    def ending(self, reply: Reply, rest: str) -> bytes:
        left = _event("piece", {"text": rest}) if rest else b""
        return left + _event("end", self._all(reply))

    def failure(self, error: Exception) -> bytes:
        return _event("error", loads(problem_of(error).body))

    def refusal(self, error: Exception) -> RawResponse:
        return problem_of(error)

    def _all(self, reply: Reply) -> dict[str, Any]:
        usage, parts = reply.usage, reply.message.parts
        return {
            "role": self.role,
            "model": reply.model,
            "text": "".join(part.text for part in parts if isinstance(part, Text)),
            "thinking": "".join(part.text for part in parts if isinstance(part, Thinking)),
            "stop": reply.stop,
            "usage": {"input": usage.input, "output": usage.output, "cached": usage.cached},
            "seconds": round(reply.timing.total_s, 3),
            "session": self.session,
        }


def problem_of(error: Exception) -> RawResponse:
    """An error as a problem (RFC 9457), with the code that OpenAI's programs get for it."""
    told = refusal(error)
    said = loads(told.body)["error"]
    text = problem_text(told.status, said["message"], code=said["code"])
    return RawResponse(told.status, text.encode(), {**told.headers, "content-type": PROBLEM})


def _event(name: str, value: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: ".encode() + plain_json(value) + b"\n\n"
