"""Ollama through its native /api/chat, the only door that takes a window and gives every duration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kith.core.model import Emit, Prompt
from kith.core.values import Reply, Timing, ToolCall, ToolResult, Usage
from kith.models.discovery.cards import Window, missing, whole
from kith.models.providers.draft import Draft, used_ids
from kith.models.providers.faults import MissingModelError
from kith.models.providers.rows import Row, message_rows, tool_rows
from kith.models.providers.sampling import sampling_fields, tell_once
from kith.models.providers.wire import Endpoint


@dataclass(frozen=True, slots=True)
class Ollama:
    """One model of an Ollama server.

    `num_ctx` is the window in tokens; like `options` (any other of Ollama's) it is the same on every call,
    because a change makes the server load the model anew. `think`: False, True or an effort; None leaves the
    model's default (which is on).
    """

    model: str
    endpoint: Endpoint
    num_ctx: int | None = None
    think: bool | str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    keep_alive: str = "30m"
    _told: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        return f"ollama/{self.model}"

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises ModelError, and NoModelError when the server does not have the model."""
        body, left_out = self._body(prompt)
        tell_once(left_out, self._told, emit)
        draft = Draft(emit, used_ids(prompt.messages))
        heard = False
        try:
            async with self.endpoint.stream_lines("/api/chat", body) as lines:
                async for line in lines:
                    heard = True
                    _take(draft, line.get("message") or {})
                    if line.get("done"):
                        return self._reply(draft, line)
        except MissingModelError as error:
            raise await missing("ollama", self.endpoint, self.model) from error
        raise self.endpoint.cut_short(heard)

    async def window(self) -> Window:
        """The window the model runs with now (0 when it is not loaded), and its largest."""
        try:
            info = (await self.endpoint.post("/api/show", {"model": self.model})).get("model_info") or {}
        except MissingModelError as error:
            raise await missing("ollama", self.endpoint, self.model) from error
        largest = max(
            (whole(size) for key, size in info.items() if key.endswith(".context_length")), default=0
        )
        names = {self.model, f"{self.model}:latest"}
        loaded = (await self.endpoint.get("/api/ps")).get("models") or []
        running = next((whole(row.get("context_length")) for row in loaded if row.get("name") in names), 0)
        return Window(running, largest)

    def _body(self, prompt: Prompt) -> tuple[Row, tuple[str, ...]]:
        sampling, left_out = sampling_fields("ollama", prompt.sampling)
        window = {"num_ctx": self.num_ctx} if self.num_ctx else {}
        body: Row = {
            "model": self.model,
            "stream": True,
            # By default Ollama cuts what does not fit, and says nothing: refuse instead.
            "truncate": False,
            "shift": False,
            "keep_alive": self.keep_alive,
            "options": {**window, **self.options, **sampling},
        }
        if self.think is not None:
            body["think"] = self.think
        if prompt.tools:
            body["tools"] = tool_rows(prompt.tools)
        body["messages"] = message_rows(prompt, _call_row, _result_row)
        return body, left_out

    def _reply(self, draft: Draft, last: Mapping[str, Any]) -> Reply:
        """The finished reply. Ollama counts in nanoseconds, and tells no cached tokens apart."""
        cut = last.get("done_reason") == "length"
        usage = Usage(whole(last.get("prompt_eval_count")), whole(last.get("eval_count")))
        timing = Timing(
            load_s=whole(last.get("load_duration")) / 1e9,
            prefill_s=whole(last.get("prompt_eval_duration")) / 1e9,
            decode_s=whole(last.get("eval_duration")) / 1e9,
            total_s=whole(last.get("total_duration")) / 1e9,
        )
        return draft.reply(self.name, cut, usage, timing)


def _take(draft: Draft, message: Mapping[str, Any]) -> None:
    draft.think(message.get("thinking") or "")
    draft.say(message.get("content") or "")
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        # Calls come whole; their own indexes start anew with each line in some versions.
        draft.call(
            len(draft.calls),
            function.get("name") or "",
            function.get("arguments") or "",
            call.get("id") or "",
        )


def _call_row(call: ToolCall) -> Row:
    return {"id": call.id, "function": {"name": call.name, "arguments": dict(call.args)}}


def _result_row(result: ToolResult, name: str) -> Row:
    return {"role": "tool", "tool_name": name, "tool_call_id": result.call_id, "content": result.text}
