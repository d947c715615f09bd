"""Anthropic's Messages API, and whatever else speaks it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kith.core.model import Emit, Prompt
from kith.core.values import Part, Reply, Sampling, Text, ToolCall
from kith.models.providers.answers import Row, plain, whole
from kith.models.providers.anthropic_facts import About, read_about
from kith.models.providers.anthropic_rows import is_thoughtless, system_blocks, tool_blocks, turn_rows
from kith.models.providers.anthropic_stream import Stream
from kith.models.providers.draft import Draft, used_ids
from kith.models.providers.facts import Facts
from kith.models.providers.faults import MissingModelError, NoRouteError, SignatureError
from kith.models.providers.listed import missing
from kith.models.providers.progress import ignore
from kith.models.providers.sampling import sampling_fields, tell_once
from kith.models.providers.schemas import as_strict
from kith.models.providers.turns import signatures, take_turns
from kith.models.providers.wire import Endpoint

SLOTS = 8  # calls at once; how many it takes depends on the account
_LEAST_CACHED = 4096  # tokens, of the models that want most; others begin at 512
_MESSAGES = "/v1/messages"
_COUNTED = ("model", "system", "tools", "tool_choice", "messages", "thinking", "output_config")
_LEAST_BUDGET = 1024  # tokens of thinking
_ANSWER: Final = "give_answer"  # the tool that stands for a reply of a given shape


@dataclass(frozen=True, slots=True)
class Anthropic:
    """One Claude model, or any other behind `endpoint`. `fields` are added to every request as they are."""

    model: str
    endpoint: Endpoint
    fields: Mapping[str, Any] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _refused: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _known: list[About] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        return f"anthropic/{self.model}"

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises ModelError, and NoModelError when the server does not have the model.

        Thoughts are bound to all that stood before them, by newer models: where that has changed (it was
        compacted, or the tools are others) they are refused, and left out from then on.
        """
        about = await self._about()
        try:
            return await self._ask(prompt, about, emit)
        except SignatureError:
            self._refused.update(signatures(prompt.messages))
            return await self._ask(prompt, about, emit)

    async def _ask(self, prompt: Prompt, about: About, emit: Emit) -> Reply:
        body, left_out = self._body(prompt, about)
        tell_once(left_out, self._told, emit)
        stream = Stream(Draft(emit, used_ids(prompt.messages)))
        try:
            async with self.endpoint.stream_events(_MESSAGES, body) as events:
                async for event in events:
                    if event is not None:
                        stream.take(event)
        except MissingModelError as error:
            raise await missing("anthropic", self.endpoint, self.model) from error
        if not stream.ended and not stream.stop:
            raise self.endpoint.cut_short(stream.heard)
        reply = stream.reply(self.name, emit)
        return _unpacked(reply) if "tool_choice" in body else reply

    async def facts(self, emit: Emit = ignore) -> Facts:
        """Look the model up. Raises ModelError, and NoModelError when the server does not have it."""
        about = await self._about()
        return Facts(
            self.name,
            self.endpoint.url,
            f"anthropic:{about.id}",
            about.window,
            about.window,
            slots=SLOTS if self.endpoint.is_cloud else 1,
            tools=True,
            thinking=None if about.modes is None else bool(about.modes & {"adaptive", "enabled"}),
            keeps_thinking=True,
            counts_cache=True,
            cloud=self.endpoint.is_cloud,
            refuses=True,
            least_cached=_LEAST_CACHED,
        )

    async def count(self, prompt: Prompt) -> int | None:
        """The exact size of a prompt in tokens, tools included; None where the server cannot count."""
        body, _ = self._body(prompt, await self._about())
        try:
            counted = await self.endpoint.post(
                f"{_MESSAGES}/count_tokens", {key: body[key] for key in _COUNTED if key in body}
            )
        except (NoRouteError, SignatureError):
            return None
        return whole(plain(counted).get("input_tokens")) or None

    async def warm(self, prompt: Prompt) -> None:
        """Nothing: reading ahead of time would be paid for."""

    async def close(self) -> None:
        """Close the connections that are open."""
        await self.endpoint.close()

    async def _about(self) -> About:
        if not self._known:
            self._known.append(await read_about(self.endpoint, self.model))
        return self._known[0]

    def _body(self, prompt: Prompt, about: About) -> tuple[Row, tuple[str, ...]]:
        fields, left_out = sampling_fields("anthropic", prompt.sampling, about.reply)
        turns = take_turns(prompt.messages, self.name, self._refused)
        body: Row = {"model": self.model, "stream": True, **self.fields, **fields}
        if system := system_blocks(prompt.system):
            body["system"] = system
        if prompt.tools:
            body["tools"] = tool_blocks(prompt.tools)
        body["messages"] = turn_rows(turns)
        if prompt.shape is not None and not _hold(body, prompt.shape, about):
            return body, left_out  # no thinking where a tool is forced
        no_switch = _think(body, prompt.sampling, about)
        return body, (*left_out, *([no_switch.format(name=self.name)] if no_switch else ()))


def _think(body: Row, wish: Sampling, about: About) -> str:
    """Set how much the model thinks, if anything is wished; or else a sentence why it cannot be.

    Models take a budget (`enabled`), or decide for themselves (`adaptive`), and some cannot be stopped.
    Source: https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting.
    """
    modes = {"enabled", "disabled"} if about.modes is None else about.modes
    if wish.think is False:
        if "disabled" not in modes:
            return "{name} always thinks; the setting is not used."
        body["thinking"] = {"type": "disabled"}
    elif wish.think or wish.think_tokens:
        if "adaptive" in modes:
            body["thinking"] = {"type": "adaptive", "display": "summarized"}
        elif "enabled" not in modes:
            return "{name} has no switch for thinking; the setting is not used."
        elif not is_thoughtless(body["messages"]):
            budget = max(_LEAST_BUDGET, wish.think_tokens or body["max_tokens"] // 2)
            if budget >= body["max_tokens"]:
                body["max_tokens"] += budget
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}
    return ""


def _hold(body: Row, shape: Mapping[str, Any], about: About) -> bool:
    """Hold the reply to a schema; False where that takes a tool which the model has to call.

    No tool can be forced on a model that thinks: where that cannot be stopped, the words have to do.
    """
    strict = as_strict(shape) if about.shapes else None
    if strict is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": strict}}
        return True
    if about.modes is not None:
        if "disabled" not in about.modes:
            return True
        body["thinking"] = {"type": "disabled"}
    schema = {"type": "object", "properties": {"answer": dict(shape)}, "required": ["answer"]}
    tool = {"name": _ANSWER, "description": "Give your answer.", "input_schema": schema}
    body["tools"] = [*body.get("tools", ()), tool]
    body["tool_choice"] = {"type": "tool", "name": _ANSWER}
    return False


def _unpacked(reply: Reply) -> Reply:
    """A reply whose answer came as a call, as the text that was asked for."""

    def text(part: Part) -> Part:
        if not isinstance(part, ToolCall) or part.name != _ANSWER or part.fault:
            return part
        return Text(json.dumps(part.args.get("answer"), ensure_ascii=False))

    message = replace(reply.message, parts=tuple(map(text, reply.message.parts)))
    return replace(reply, message=message, stop="length" if reply.stop == "length" else "end")
