"""Anthropic's Messages API, and whatever else speaks it."""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.errors import ModelError
from kith.core.events import Notice
from kith.core.model import Emit, Prompt, Tool
from kith.core.values import (
    Image,
    Part,
    Reply,
    Sampling,
    Text,
    Thinking,
    Timing,
    ToolCall,
    ToolResult,
    Usage,
)
from kith.features.clouds.signing import SigningModel
from kith.features.clouds.turns import ModelTurn, Turn, UserTurn, take_turns
from kith.models.discovery.servers import CloudProtocol
from kith.models.providers.answers import Row, flag, part, plain, rows, string, whole
from kith.models.providers.facts import Facts, ignore
from kith.models.providers.faults import MissingModelError, NoRouteError
from kith.models.providers.messages import Draft, used_ids
from kith.models.providers.model_list import missing
from kith.models.providers.sampling import MAX_TOKENS, sampling_fields, tell_once
from kith.models.providers.wire import Endpoint

VERSION = "2026-10-21"
URL = "https://api.anthropic.com"
_REPLY = 16_384  # tokens; thoughts count too, and what is not used costs nothing


class AnthropicModel(Struct, frozen=True):
    """A model in the server's list. Sizes in tokens; 0 and None where unknown.

    `id` is its own name, where another was asked for. `modes` are the types of `thinking` that it takes.
    `shapes`: replies can follow a JSON Schema.
    """

    id: str
    window: int = 0
    longest: int = 0
    modes: frozenset[str] | None = None
    shapes: bool = False

    @property
    def reply(self) -> int:
        """The limit of a reply where none is set."""
        return min(self.longest, _REPLY) or MAX_TOKENS


def anthropic_endpoint(url: str, key: str, *, cloud: bool | None = None, stall_s: float = 600.0) -> Endpoint:
    """The Messages API at an address, "" for Anthropic's own; the key goes into its own header."""
    headers = {"anthropic-version": VERSION}
    endpoint = Endpoint(url or URL, key, "x-api-key", headers, cloud, stall_s=stall_s)
    if endpoint.is_cloud:
        endpoint.connect_s = 10.0
    return endpoint


async def read_about(endpoint: Endpoint, model: str) -> AnthropicModel:
    """Look a model up. Raises ModelError, and NoModelError when it is not there.

    Source: https://platform.claude.com/docs/en/api/models/retrieve. A server without this endpoint
    (llama-server) at least has a list.
    """
    try:
        row = plain(await endpoint.get(f"/v1/models/{model}"))
    except MissingModelError as error:
        raise await missing(endpoint, model, list_names) from error
    except NoRouteError:
        return await _listed(endpoint, model)
    able = part(row, "capabilities")
    types = part(part(able, "thinking"), "types")
    return AnthropicModel(
        string(row.get("id")) or model,
        whole(row.get("max_input_tokens")),
        whole(row.get("max_tokens")),
        frozenset(name for name in types if _is_supported(types, name)) if able else None,
        _is_supported(able, "structured_outputs"),
    )


async def _listed(endpoint: Endpoint, model: str) -> AnthropicModel:
    try:
        found = rows(await endpoint.get("/v1/models"), "data")
    except ModelError:
        return AnthropicModel(model)
    row = next((row for row in found if row.get("id") == model), found[0] if len(found) == 1 else {})
    return AnthropicModel(model, whole(part(row, "meta").get("n_ctx")) or whole(row.get("max_model_len")))


def _is_supported(able: Row, what: str) -> bool:
    return flag(part(able, what).get("supported")) is True


async def list_names(endpoint: Endpoint) -> tuple[str, ...]:
    """The names of the server's models. Raises ModelError."""
    found = rows(await endpoint.get("/v1/models", limit="1000"), "data")
    return tuple(str(row.get("id", "")) for row in found)


# --- prompts -------------------------------------------------------------------------------------


REDACTED = "redacted:"  # before the data of a redacted thought; no signature has a colon
# Tools and system text are the same for a whole session, and outlive its pauses; the talk goes on or it ends.
_LONG: Row = {"type": "ephemeral", "ttl": "1h"}
_SHORT: Row = {"type": "ephemeral"}


def tool_blocks(tools: Sequence[Tool]) -> list[Row]:
    """Tools in the caller's order, cached up to the last one."""
    blocks: list[Row] = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
        for tool in tools
    ]
    return [*blocks[:-1], *({**block, "cache_control": _LONG} for block in blocks[-1:])]


def system_blocks(system: str) -> list[Row]:
    """The system text, cached together with the tools before it; nothing for a blank one."""
    return [{"type": "text", "text": system, "cache_control": _LONG}] if system.strip() else []


def turn_rows(turns: Sequence[Turn]) -> list[Row]:
    """Convert turns to messages; cache marks go to the last block, and to the last one of the call before.

    The next request will read from the first mark, and this one reads from the second. A server looks at
    no more than 20 blocks before a mark, and a reply with its answers may be longer. Source:
    https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
    """
    rows = [_turn_row(turn) for turn in turns]
    for row in [row for row in rows if row["role"] == "user"][-2:]:
        row["content"][-1] = {**row["content"][-1], "cache_control": _SHORT}
    return rows


def _turn_row(turn: Turn) -> Row:
    if isinstance(turn, ModelTurn):
        return {"role": "assistant", "content": list(_spoken(turn.parts))}
    return {"role": "user", "content": _heard(turn)}


def _heard(turn: UserTurn) -> list[Row]:
    """Answers come first, or the request is refused; pictures come before the words about them."""
    answers = [_answer(result) for _, result in turn.answers]
    shown = [_picture(each) for each in turn.images]
    return [*answers, *shown, *({"type": "text", "text": words} for words in turn.words)]


def _picture(image: Image) -> Row:
    """Source: https://platform.claude.com/docs/en/build-with-claude/vision."""
    data = b64encode(image.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}}


def _answer(result: ToolResult) -> Row:
    content = result.text if result.text.strip() else "(nothing)"
    row: Row = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    return row if result.ok else {**row, "is_error": True}


def _spoken(parts: Sequence[Part]) -> Iterable[Row]:
    """Return a model's parts up to the last that is no thought; a message may not end in a thought."""
    last = max(at for at, part in enumerate(parts) if not isinstance(part, Thinking))
    return (_block(part) for part in parts[: last + 1])


def _block(part: Part) -> Row:
    match part:
        case Thinking(text, opaque) if opaque.startswith(REDACTED):
            return {"type": "redacted_thinking", "data": opaque.removeprefix(REDACTED)}
        case Thinking(text, opaque):
            return {"type": "thinking", "thinking": text, "signature": opaque}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": dict(part.args)}
        case Text(text):
            return {"type": "text", "text": text}
        case _:
            raise TypeError(f"nobody says {part!r}")


def is_thoughtless(rows: Sequence[Row]) -> bool:
    """True if the last reply calls tools without a thought before: thinking cannot begin in its middle."""
    said: list[Any] = next((row["content"] for row in reversed(rows) if row["role"] == "assistant"), [])
    kinds = [block["type"] for block in said]
    return "tool_use" in kinds and kinds[0] not in ("thinking", "redacted_thinking")


# --- schemas -------------------------------------------------------------------------------------


_KEPT = ("type", "enum", "const", "description", "title", "$ref", "required", "format", "default")
_UNIONS = {"anyOf": "anyOf", "oneOf": "anyOf", "allOf": "allOf"}


def as_strict(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """A schema without what Claude's structured outputs refuse; None for one that they cannot express.

    Objects are closed, `oneOf` is `anyOf`, and bounds on numbers, texts and lists are left out: what comes
    back has to be checked as before. An object with any keys at all cannot be expressed. Source: the section
    on JSON Schema limitations of https://platform.claude.com/docs/en/build-with-claude/structured-outputs.
    """
    if schema.get("type") == "object" and "properties" not in schema:
        return None
    strict: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
    for key, name in _UNIONS.items():
        if key in schema and not _put(strict, name, [as_strict(each) for each in schema[key]]):
            return None
    for key in ("properties", "$defs"):
        if key in schema:
            inner = {name: as_strict(each) for name, each in schema[key].items()}
            if None in inner.values():
                return None
            strict[key] = inner
    if "items" in schema and not _put(strict, "items", as_strict(schema["items"])):
        return None
    if schema.get("minItems") in (0, 1):
        strict["minItems"] = schema["minItems"]
    if "properties" in schema:
        strict["additionalProperties"] = False
    return strict


def _put(strict: dict[str, Any], key: str, value: Any) -> bool:
    """Set a key, unless what belongs there cannot be expressed."""
    strict[key] = value
    return value is not None and not (isinstance(value, list) and None in value)


# --- streamed answers ----------------------------------------------------------------------------


class AnthropicStream(Struct):
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


# --- the provider --------------------------------------------------------------------------------


SLOTS = 8  # calls at once; how many it takes depends on the account
_LEAST_CACHED = 4096  # tokens, of the models that want most; others begin at 512
_MESSAGES = "/v1/messages"
_COUNTED = ("model", "system", "tools", "tool_choice", "messages", "thinking", "output_config")
_LEAST_BUDGET = 1024  # tokens of thinking
_ANSWER: Final = "give_answer"  # the tool that stands for a reply of a given shape


class Anthropic(SigningModel[AnthropicModel], frozen=True, eq=False):
    """One Claude model, or any other behind `endpoint`."""

    @property
    def name(self) -> str:
        return f"anthropic/{self.model}"

    async def _ask(self, prompt: Prompt, about: AnthropicModel, emit: Emit) -> Reply:
        body, left_out = self._body(prompt, about)
        tell_once(left_out, self._told, emit)
        stream = AnthropicStream(Draft(emit, used_ids(prompt.messages)))
        try:
            async with self.endpoint.stream_events(_MESSAGES, body) as events:
                async for event in events:
                    if event is not None:
                        stream.take(event)
        except MissingModelError as error:
            raise await missing(self.endpoint, self.model, list_names) from error
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
            sees=True,
        )

    async def count(self, prompt: Prompt) -> int | None:
        """The exact size of a prompt in tokens, tools included; None where the server cannot count."""
        body, _ = self._body(prompt, await self._about())
        counted = {key: body[key] for key in _COUNTED if key in body}
        return await self._counted(f"{_MESSAGES}/count_tokens", counted, "input_tokens")

    async def _look_up(self) -> AnthropicModel:
        return await read_about(self.endpoint, self.model)

    def _body(self, prompt: Prompt, about: AnthropicModel) -> tuple[Row, tuple[str, ...]]:
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


def _think(body: Row, wish: Sampling, about: AnthropicModel) -> str:
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


def _hold(body: Row, shape: Mapping[str, Any], about: AnthropicModel) -> bool:
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


PROTOCOL: Final = CloudProtocol(anthropic_endpoint, Anthropic)
