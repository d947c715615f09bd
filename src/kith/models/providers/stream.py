"""A streamed answer in OpenAI's form: pieces go to the draft, the counts of the last chunks are kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kith.core.events import Progress
from kith.core.model import Emit
from kith.core.values import Reply, Timing, Usage
from kith.models.providers.answers import Row, whole
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
        self.usage = chunk.get("usage") or self.usage
        self.timings = chunk.get("timings") or self.timings
        if progress := chunk.get("prompt_progress"):
            self.emit(Progress(READING, whole(progress.get("processed")), whole(progress.get("total"))))
        for choice in chunk.get("choices") or ():
            self.finish = choice.get("finish_reason") or self.finish
            self._take_delta(choice.get("delta") or {})

    def _take_delta(self, delta: Mapping[str, Any]) -> None:
        # vLLM renamed reasoning_content to reasoning; some proxies send both.
        self.draft.think(delta.get("reasoning_content") or delta.get("reasoning") or "")
        self.draft.say(delta.get("content") or "")
        for piece in delta.get("tool_calls") or ():
            function, call_id = piece.get("function") or {}, piece.get("id") or ""
            index = piece.get("index")
            if not isinstance(
                index, int
            ):  # left out: an id begins a call, anything else goes on with the last
                index = len(self.draft.calls) - (0 if call_id or not self.draft.calls else 1)
            self.draft.call(index, function.get("name") or "", function.get("arguments") or "", call_id)

    def reply(self, name: str) -> Reply:
        """The finished reply; numbers the server did not send stay 0."""
        return self.draft.reply(name, self.finish == "length", self._usage(), self._timing())

    def _usage(self) -> Usage:
        details = self.usage.get("prompt_tokens_details") or {}
        cached = whole(self.timings.get("cache_n")) or whole(details.get("cached_tokens"))
        read = whole(self.usage.get("prompt_tokens")) or cached + whole(self.timings.get("prompt_n"))
        written = whole(self.usage.get("completion_tokens")) or whole(self.timings.get("predicted_n"))
        return Usage(read, written, cached)

    def _timing(self) -> Timing:
        def seconds(key: str) -> float:
            return max(0.0, float(self.timings.get(key) or 0.0)) / 1e3

        return Timing(prefill_s=seconds("prompt_ms"), decode_s=seconds("predicted_ms"))
