"""How an answer in a role is told: one object, or events of which each is a piece of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from json import loads
from typing import Any

from kith.core.events import Delta
from kith.core.values import Reply, Text, Thinking
from kith.faces.openai.answers import Telling, plain_json, refusal


@dataclass(frozen=True, slots=True)
class RoleVoice:
    """The answers of one role, in one session."""

    role: str
    session: str

    def whole(self, reply: Reply) -> Telling:
        return Telling(200, plain_json(self._all(reply)))

    def opening(self) -> bytes:
        return b""

    def piece(self, delta: Delta) -> bytes:
        return _event("piece", {"thinking" if delta.kind == "thinking" else "text": delta.text})

    def ending(self, reply: Reply, rest: str) -> bytes:
        left = _event("piece", {"text": rest}) if rest else b""
        return left + _event("end", self._all(reply))

    def failure(self, error: Exception) -> bytes:
        return _event("error", loads(problem_of(error).body))

    def refusal(self, error: Exception) -> Telling:
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


def problem_of(error: Exception) -> Telling:
    """An error as a problem (RFC 9457), with the code that OpenAI's programs get for it."""
    told = refusal(error)
    said = loads(told.body)["error"]
    title = HTTPStatus(told.status).phrase
    body = {"type": "about:blank", "title": title, "status": told.status, "detail": said["message"]}
    headers = {**told.headers, "content-type": "application/problem+json"}
    return Telling(told.status, plain_json({**body, "code": said["code"]}), headers)


def _event(name: str, value: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: ".encode() + plain_json(value) + b"\n\n"
