"""Any server with OpenAI's /v1/chat/completions: llama-server, LM Studio, vLLM, others by their address."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kith.core.events import Progress
from kith.core.model import Emit, Prompt
from kith.core.values import Reply, Timing, ToolCall, ToolResult, Usage
from kith.models.discovery.cards import Window, cards, missing, whole
from kith.models.providers.draft import Draft, used_ids
from kith.models.providers.faults import MissingModelError
from kith.models.providers.rows import Row, message_rows, tool_rows
from kith.models.providers.sampling import Kind, sampling_fields, tell_once
from kith.models.providers.wire import Endpoint

_CHAT = "/v1/chat/completions"
# What only one server knows: others may answer an unknown field with a refusal.
_OWN_FIELDS: Mapping[Kind, Row] = {"llama-server": {"cache_prompt": True, "return_progress": True}}


@dataclass(frozen=True, slots=True)
class OpenAILike:
    """One model of a server that speaks OpenAI's protocol; `flavour` says which, and so what it understands.

    `fields` are added to every request as they are (for llama-server: chat_template_kwargs, id_slot ...).
    """

    model: str
    endpoint: Endpoint
    flavour: Kind = "openai"
    fields: Mapping[str, Any] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        return f"{self.flavour}/{self.model}"

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises ModelError, and NoModelError when the server does not have the model."""
        body, left_out = self._body(prompt)
        tell_once(left_out, self._told, emit)
        stream = _Stream(Draft(emit, used_ids(prompt.messages)), emit)
        try:
            async with self.endpoint.stream_events(_CHAT, body) as chunks:
                async for chunk in chunks:
                    if chunk is None:
                        stream.ended = True
                        break
                    stream.take(chunk)
        except MissingModelError as error:
            raise await missing(self.flavour, self.endpoint, self.model) from error
        # Some servers leave out the end mark, but none the reason why it stopped.
        if not stream.ended and not stream.finish:
            raise self.endpoint.cut_short(stream.heard)
        return stream.reply(self.name)

    async def count_tokens(self, prompt: Prompt) -> int | None:
        """The exact size of a prompt in tokens, tools and template included; None if nobody can say."""
        if self.flavour != "llama-server":
            return None
        body, _ = self._body(prompt)
        return whole((await self.endpoint.post(f"{_CHAT}/input_tokens", body)).get("input_tokens"))

    async def window(self) -> Window:
        """The window of the running server, and the model's largest; 0 for what it does not say."""
        if self.flavour != "llama-server":
            listed = await cards(self.flavour, self.endpoint)
            return Window(next((card.window for card in listed if card.name == self.model), 0))
        props = await self.endpoint.get("/props", model=self.model)
        running = whole((props.get("default_generation_settings") or {}).get("n_ctx"))
        rows = (await self.endpoint.get("/v1/models")).get("data") or [{}]
        row = next((row for row in rows if row.get("id") == self.model), rows[0])
        return Window(running, whole((row.get("meta") or {}).get("n_ctx_train")))

    def _body(self, prompt: Prompt) -> tuple[Row, tuple[str, ...]]:
        sampling, left_out = sampling_fields(self.flavour, prompt.sampling)
        body: Row = {
            "model": self.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            **_OWN_FIELDS.get(self.flavour, {}),
            **self.fields,
            **sampling,
        }
        if prompt.tools:
            body["tools"] = tool_rows(prompt.tools)
            body["parallel_tool_calls"] = False
        body["messages"] = message_rows(prompt, _call_row, _result_row)
        return body, left_out


@dataclass(slots=True)
class _Stream:
    """One streamed answer: pieces go to the draft, the counts of the last chunks are kept."""

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
            self.emit(Progress("reading", whole(progress.get("processed")), whole(progress.get("total"))))
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


def _call_row(call: ToolCall) -> Row:
    # The text is always valid JSON: llama-server answers a broken one in the history with 500, for ever.
    args = json.dumps(dict(call.args), ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": args}}


def _result_row(result: ToolResult, name: str) -> Row:
    return {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
