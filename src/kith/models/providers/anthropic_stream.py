"""A streamed answer of the Messages API: blocks go to the draft, counts and why it ended are kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kith.core.errors import ModelError
from kith.core.events import Notice
from kith.core.model import Emit
from kith.core.values import Reply, Timing, Usage
from kith.models.providers.answers import Row, part, string, whole
from kith.models.providers.anthropic_rows import REDACTED
from kith.models.providers.draft import Draft


@dataclass(slots=True)
class Stream:
    """One answer. `stop`: why it ended; `ended`: it came whole; `heard`: anything at all did."""

    draft: Draft
    stop: str = ""
    details: Row = field(default_factory=dict)
    ended: bool = False
    heard: bool = False
    usage: Row = field(default_factory=dict)

    def take(self, event: Mapping[str, Any]) -> None:
        """One event; kinds that are not known (`ping` among them) say nothing.

        Source: https://platform.claude.com/docs/en/build-with-claude/streaming.
        """
        self.heard = True
        match event.get("type"):
            case "message_start":
                self._count(part(part(event, "message"), "usage"))
            case "content_block_start":
                self._begin(whole(event.get("index")), part(event, "content_block"))
            case "content_block_delta":
                self._go_on(whole(event.get("index")), part(event, "delta"))
            case "message_delta":
                self._count(part(event, "usage"))
                self.stop = string(part(event, "delta").get("stop_reason")) or self.stop
                self.details = part(part(event, "delta"), "stop_details") or self.details
            case "message_stop":
                self.ended = True

    def _begin(self, index: int, block: Row) -> None:
        match block.get("type"):
            case "text":
                self.draft.say(string(block.get("text")))
            case "thinking":
                self.draft.think(string(block.get("thinking")))
            case "redacted_thinking":
                self.draft.seal(REDACTED + string(block.get("data")))
            case "tool_use":
                whole_input = block.get("input") or ""  # empty where it follows in pieces
                self.draft.call(index, string(block.get("name")), whole_input, string(block.get("id")))

    def _go_on(self, index: int, delta: Row) -> None:
        match delta.get("type"):
            case "text_delta":
                self.draft.say(string(delta.get("text")))
            case "thinking_delta":
                self.draft.think(string(delta.get("thinking")))
            case "signature_delta":
                self.draft.seal(string(delta.get("signature")))
            case "input_json_delta":
                self.draft.call(index, args=string(delta.get("partial_json")))

    def _count(self, usage: Row) -> None:
        """Counts are cumulative: later ones replace earlier ones, where they say anything."""
        self.usage |= {key: value for key, value in usage.items() if value is not None}

    def reply(self, name: str, emit: Emit) -> Reply:
        """The finished reply. Raises ModelError for one that is none: refused, or paused."""
        if self.stop == "refusal":
            why = string(self.details.get("explanation")) or string(self.details.get("category"))
            raise ModelError(f"{name} declined to answer{f': {why}' if why else ''}")
        if self.stop == "pause_turn":
            raise ModelError(f"{name} paused in the middle of its turn", retryable=True)
        if self.stop == "model_context_window_exceeded":
            emit(Notice(f"{name} stopped in its reply, because its window is full.", "warning"))
        cut = self.stop in ("max_tokens", "model_context_window_exceeded")
        return self.draft.reply(name, cut, self._usage(), Timing())

    def _usage(self) -> Usage:
        """All that was read: `input_tokens` are only those that no cache had a part in."""
        fresh, written, cached = (
            whole(self.usage.get(key))
            for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        )
        lasting = whole(part(self.usage, "cache_creation").get("ephemeral_1h_input_tokens"))
        read, output = fresh + written + cached, whole(self.usage.get("output_tokens"))
        return Usage(read, output, cached, written, min(lasting, written))
