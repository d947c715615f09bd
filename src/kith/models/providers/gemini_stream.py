"""A streamed answer of the Gemini API: parts go to the draft, counts and why it ended are kept."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kith.core.errors import ModelError
from kith.core.model import Tool
from kith.core.run import new_id
from kith.core.values import Reply, Timing, ToolCall, Usage
from kith.models.dialects.read import UNREADABLE
from kith.models.providers.answers import Row, part, rows, string, whole
from kith.models.providers.draft import Draft
from kith.models.providers.faults import GarbledReplyError, SignatureError
from kith.models.providers.gemini_args import add_piece

_CUT = ("MAX_TOKENS", "CONTINUATION")
_BROKEN_CALL = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
_GARBLED = ("MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS")
_WHY: Final[Mapping[str, str]] = {
    "SAFETY": "its filters for safety stopped it",
    "RECITATION": "the answer would have repeated a text that others have rights in",
    "LANGUAGE": "it does not speak the language",
    "BLOCKLIST": "a word is on its list of forbidden ones",
    "PROHIBITED_CONTENT": "the content may be prohibited",
    "SPII": "the answer may hold sensitive personal data",
    "JAILBREAK": "it took the prompt for an attack",
}


@dataclass(slots=True)
class Stream:
    """One answer. `finish` is the reason for its end; `heard`: anything at all came."""

    draft: Draft
    finish: str = ""
    said: str = ""  # what the server adds to the reason
    blocked: str = ""
    heard: bool = False
    usage: Row = field(default_factory=dict)
    _growing: dict[str, Any] | None = None  # arguments of a call that comes in pieces

    def take(self, chunk: Mapping[str, Any]) -> None:
        """One GenerateContentResponse. Source: https://ai.google.dev/api/generate-content."""
        self.heard = True
        self.usage = part(chunk, "usageMetadata") or self.usage
        self.blocked = string(part(chunk, "promptFeedback").get("blockReason")) or self.blocked
        for candidate in rows(chunk, "candidates")[:1]:
            for piece in rows(part(candidate, "content"), "parts"):
                self._take_part(piece)
            self.finish = string(candidate.get("finishReason")) or self.finish
            self.said = string(candidate.get("finishMessage")) or self.said

    def _take_part(self, piece: Row) -> None:
        signature = string(piece.get("thoughtSignature"))
        if "functionCall" in piece:
            self._take_call(part(piece, "functionCall"), signature)
            return
        if piece.get("thought") is True:
            self.draft.think(string(piece.get("text")))
        else:
            self.draft.say(string(piece.get("text")))
        self.draft.seal(signature)

    def _take_call(self, call: Row, signature: str) -> None:
        """A call, whole; or the beginning of one, or the next pieces of the one that is under way."""
        ends = call.get("willContinue") is not True
        name, args = string(call.get("name")), self._growing
        if args is None:
            args = dict(part(call, "args"))
            self.draft.call(len(self.draft.calls), name, "", string(call.get("id")), signature)
        for piece in rows(call, "partialArgs"):
            add_piece(args, piece)
        if ends:
            self.draft.call(len(self.draft.calls) - 1, "", args or "")
        self._growing = None if ends else args

    def reply(self, name: str, tools: Sequence[Tool]) -> Reply:
        """The finished reply. Raises ModelError for one that is none."""
        if self.finish == "MISSING_THOUGHT_SIGNATURE":
            raise SignatureError(f"{name} misses the signature of a former thought")
        if self.finish in _GARBLED or (self.finish in _BROKEN_CALL and not tools):
            raise GarbledReplyError(
                f"{name} broke off what it said ({self.finish})", retryable=True, after_s=0.0
            )
        reply = self.draft.reply(name, self.finish in _CUT, self._usage(), Timing())
        if self.finish in _BROKEN_CALL:
            broken = broken_call(self.said, tools)
            parts = (*reply.message.parts, broken)
            return replace(reply, message=replace(reply.message, parts=parts), stop="tools")
        if self.blocked or self.finish not in ("STOP", *_CUT):
            raise self._refused(name)
        return reply

    def _refused(self, name: str) -> ModelError:
        reason = self.blocked or self.finish
        what = "did not take the prompt" if self.blocked else "stopped its answer"
        why = _WHY.get(reason.removeprefix("IMAGE_"), "it does not say why")
        return ModelError(f"{name} {what} ({reason}): {self.said or why}")

    def _usage(self) -> Usage:
        """`promptTokenCount` has the cached tokens in it, `candidatesTokenCount` not the thoughts."""
        read, tool, cached, said, thought = (
            whole(self.usage.get(f"{key}TokenCount"))
            for key in ("prompt", "toolUsePrompt", "cachedContent", "candidates", "thoughts")
        )
        return Usage(read + tool, said + thought, cached)


def broken_call(said: str, tools: Sequence[Tool]) -> ToolCall:
    """A call that the server could not read, with words for the model; of the tool it seems to mean.

    One that names nothing is answered under some tool's name: no other would reach the model.
    """
    # "Malformed function call: print(default_api.read_file(path='a.py'))"
    named = re.findall(r"(\w+)\s*[({]", said)
    name = next((tool.name for tool in tools if tool.name in named), tools[0].name)
    why = f"{said[:300].rstrip('.')}" if said else "its arguments are not the JSON that the tool takes"
    return ToolCall(new_id(), name, {}, UNREADABLE.format(why=why))
