"""Any server with OpenAI's /v1/chat/completions: llama-server, LM Studio, vLLM, others by their address."""

import json
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.events import Progress
from kith.core.model import Emit, Prompt
from kith.core.values import Image, Reply, Sampling, ServerKind, Timing, ToolCall, ToolResult, Usage, say
from kith.models.providers.answers import Row, fraction, part, plain, rows, string, whole
from kith.models.providers.facts import READING, Facts, ignore
from kith.models.providers.faults import MissingModelError, NoRouteError, UnsupportedError
from kith.models.providers.flavours import llama_facts, lmstudio_facts, vllm_facts, when_loaded
from kith.models.providers.messages import Draft, message_rows, tool_rows, used_ids
from kith.models.providers.model_list import missing
from kith.models.providers.sampling import TITLES, sampling_fields, tell_once
from kith.models.providers.waiting import waiting_for
from kith.models.providers.wire import Endpoint


class OpenAIStream(Struct):
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


# --- the provider --------------------------------------------------------------------------------


_CHAT = "/v1/chat/completions"
# What only one server knows: others may answer an unknown field with a refusal.
_OWN_FIELDS: Mapping[ServerKind, Row] = {"llama-server": {"cache_prompt": True, "return_progress": True}}
# The budget's name differs between versions of llama-server; what a version does not know, it ignores.
_BUDGET = ("thinking_budget_tokens", "reasoning_budget_tokens")
_SWITCHES_THINKING: tuple[ServerKind, ...] = ("llama-server", "vllm")


class OpenAILike(Struct, frozen=True, eq=False):
    """One model of a server that speaks OpenAI's protocol; `flavour` says which, and so what it understands.

    `fields` are added to every request as they are (for llama-server: chat_template_kwargs, id_slot ...).
    """

    model: str
    endpoint: Endpoint
    flavour: ServerKind = "openai"
    fields: Mapping[str, Any] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return f"{self.flavour}/{self.model}"

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once; a server that still loads its model is waited for.

        Raises ModelError, and NoModelError when the server does not have the model.
        """
        body, left_out = self._body(prompt)
        tell_once(left_out, self._told, emit)
        try:
            return await when_loaded(self.endpoint, lambda: self._ask(prompt, body, emit), emit)
        except MissingModelError as error:
            raise await missing(self.endpoint, self.model) from error
        except UnsupportedError as error:
            # A grammar that cannot be made of the tools is no fault of a shape that nobody asked for.
            if error.what == "shape" and prompt.shape is None and prompt.tools:
                raise UnsupportedError(str(error), "tools") from error
            raise

    async def _ask(self, prompt: Prompt, body: Row, emit: Emit) -> Reply:
        stream = OpenAIStream(Draft(emit, used_ids(prompt.messages), restores=True), emit)
        async with self.endpoint.stream_events(_CHAT, body) as chunks:
            async for chunk in chunks:
                if chunk is None:
                    stream.ended = True
                    break
                stream.take(chunk)
        # Some servers leave out the end mark, but none the reason why it stopped.
        if not stream.ended and not stream.finish:
            raise self.endpoint.cut_short(stream.heard)
        return stream.reply(self.name)

    async def facts(self, emit: Emit = ignore) -> Facts:
        """Let the server load the model if it has not, and read what really runs. Raises ModelError."""
        async with waiting_for(self.endpoint.url, emit, self.endpoint.stall_s) as listen:
            match self.flavour:
                case "llama-server":
                    found = await llama_facts(self.endpoint, self.model, listen)
                case "lmstudio":
                    found = await lmstudio_facts(self.endpoint, self.model, listen)
                case "vllm":
                    found = await vllm_facts(self.endpoint, self.model)
                case _:
                    found = Facts(self.name, self.endpoint.url)
        return replace(found, name=self.name, cloud=self.endpoint.is_cloud)

    async def count(self, prompt: Prompt) -> int | None:
        """The exact size of a prompt in tokens, tools and template included; None if nobody can say."""
        if self.flavour != "llama-server":
            return None
        body, _ = self._body(prompt)
        try:
            counted = await when_loaded(
                self.endpoint, lambda: self.endpoint.post(f"{_CHAT}/input_tokens", body)
            )
        except NoRouteError:  # older than the endpoint
            return None
        return whole(plain(counted).get("input_tokens")) or None

    async def warm(self, prompt: Prompt) -> None:
        """Let llama-server read a prompt without an answer; other servers have no such request."""
        if self.flavour != "llama-server":
            return
        # Some templates refuse a conversation in which nobody has spoken.
        spoken = prompt if prompt.messages else replace(prompt, messages=(say("hi"),))
        body, _ = self._body(replace(spoken, shape=None))
        with suppress(NoRouteError):
            rendered = await when_loaded(self.endpoint, lambda: self.endpoint.post("/apply-template", body))
            text = plain(rendered).get("prompt")
            read = {"model": self.model, "prompt": text, "n_predict": 0, "cache_prompt": True}
            await self.endpoint.post("/completion", read)

    async def close(self) -> None:
        """Close the connections that are open."""
        await self.endpoint.close()

    def _body(self, prompt: Prompt) -> tuple[Row, tuple[str, ...]]:
        sampling, left_out = sampling_fields(self.flavour, prompt.sampling)
        thinking, no_switch = self._thinking(prompt.sampling)
        body: Row = {
            "model": self.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            **_OWN_FIELDS.get(self.flavour, {}),
            **self.fields,
            **sampling,
            **thinking,
        }
        if prompt.shape is not None:
            shape = {"name": "reply", "strict": True, "schema": dict(prompt.shape)}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        if prompt.tools:
            body["tools"] = tool_rows(prompt.tools)
            body["parallel_tool_calls"] = False
        body["messages"] = message_rows(prompt, _call_row, _result_row, "reasoning_content", _show)
        return self.endpoint.manner.request(body), (*left_out, *no_switch)

    def _thinking(self, sampling: Sampling) -> tuple[Row, tuple[str, ...]]:
        """The fields that switch a model's thinking and bound it, and a sentence where there is no switch."""
        fields: Row = {}
        if sampling.think_tokens is not None and self.flavour == "llama-server":
            fields |= dict.fromkeys(_BUDGET, sampling.think_tokens)
        if sampling.think is None:
            return fields, ()
        if self.flavour not in _SWITCHES_THINKING:
            return fields, (f"{TITLES[self.flavour]} has no switch for thinking; the setting is not used.",)
        switch = {**part(self.fields, "chat_template_kwargs"), "enable_thinking": sampling.think}
        return {**fields, "chat_template_kwargs": switch}, ()


def _show(row: Row, images: tuple[Image, ...]) -> Row:
    """Source: OpenAI's chat completions, content parts of the type `image_url`."""
    urls = (f"data:{each.media_type};base64,{b64encode(each.data).decode()}" for each in images)
    shown: list[Row] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {**row, "content": [*shown, {"type": "text", "text": row["content"]}]}


def _call_row(call: ToolCall) -> Row:
    # The text is always valid JSON: llama-server answers a broken one in the history with 500, for ever.
    args = json.dumps(dict(call.args), ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": args}}


def _result_row(result: ToolResult, name: str) -> Row:
    return {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
