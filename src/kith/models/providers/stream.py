"""A streamed answer in OpenAI's form: pieces go to the draft, the counts of the last chunks are kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kith.core.events import Progress
from kith.core.model import Emit
from kith.core.values import Reply, Timing, Usage
from kith.models.providers.answers import Row, fraction, part, rows, string, whole
from kith.models.providers.draft import Draft
from kith.models.providers.progress import READING


@dataclass(slots=True)
class Stream:
    """One answer. `ended`: its end mark came; `heard`: anything at all did."""

    draft: Draft
    emit: Emit
    finish: str = ""
    ended: bool = False
    heard: bool = False
    usage: Row = field(default_factory=dict)
    timings: Row = field(default_factory=dict)

    def take(self, chunk: Mapping[str, Any]) -> None:
        self.heard = True
        self.usage = part(chunk, "usage") or self.usage
        self.timings = part(chunk, "timings") or self.timings
        if progress := part(chunk, "prompt_progress"):
            self.emit(Progress(READING, whole(progress.get("processed")), whole(progress.get("total"))))
        for choice in rows(chunk, "choices"):
            self.finish = string(choice.get("finish_reason")) or self.finish
            self._take_delta(part(choice, "delta"))

    def _take_delta(self, delta: Row) -> None:
        # vLLM renamed reasoning_content to reasoning; some proxies send both.
        self.draft.think(string(delta.get("reasoning_content")) or string(delta.get("reasoning")))
        self.draft.say(string(delta.get("content")))
        for piece in rows(delta, "tool_calls"):
            function, call_id = part(piece, "function"), string(piece.get("id"))
            index = piece.get("index")
            if not isinstance(
                index, int
            ):  # left out: an id begins a call, anything else goes on with the last
                index = len(self.draft.calls) - (0 if call_id or not self.draft.calls else 1)
            self.draft.call(index, string(function.get("name")), function.get("arguments") or "", call_id)

    def reply(self, name: str) -> Reply:
        """The finished reply; numbers the server did not send stay 0."""
        reply = self.draft.reply(name, self.finish == "length", self._usage(), self._timing())
        details = part(self.usage, "prompt_tokens_details")
        return replace(reply, cache_told="cache_n" in self.timings or "cached_tokens" in details)

    def _usage(self) -> Usage:
        details = part(self.usage, "prompt_tokens_details")
        cached = whole(self.timings.get("cache_n")) or whole(details.get("cached_tokens"))
        read = whole(self.usage.get("prompt_tokens")) or cached + whole(self.timings.get("prompt_n"))
        written = whole(self.usage.get("completion_tokens")) or whole(self.timings.get("predicted_n"))
        return Usage(read, written, cached)

    def _timing(self) -> Timing:
        def seconds(key: str) -> float:
            return fraction(self.timings.get(key)) / 1e3

        return Timing(prefill_s=seconds("prompt_ms"), decode_s=seconds("predicted_ms"))
