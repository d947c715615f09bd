"""Google's Gemini API, and whatever else speaks it."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.errors import ModelError
from kith.core.model import Emit, Prompt, Tool
from kith.core.run import new_id
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
from kith.features.clouds.turns import ModelTurn, Turn, clean_name, take_turns
from kith.models.dialects.read import UNREADABLE
from kith.models.discovery.servers import CloudProtocol
from kith.models.providers.answers import Row, part, plain, rows, string, whole
from kith.models.providers.facts import Facts, ignore
from kith.models.providers.faults import GarbledReplyError, MissingModelError, NoRouteError, SignatureError
from kith.models.providers.messages import Draft, used_ids
from kith.models.providers.model_list import missing
from kith.models.providers.sampling import MAX_TOKENS, sampling_fields, tell_once
from kith.models.providers.wire import Endpoint

URL = "https://generativelanguage.googleapis.com"
_REPLY = 16_384  # tokens; thoughts count too, and what is not used costs nothing
_OLDER = ("gemini-1", "gemini-2", "gemma", "learnlm")


class GeminiModel(Struct, frozen=True):
    """A model of the list. Sizes in tokens; 0 where nobody says. `version` is its maker's own."""

    id: str
    version: str = ""
    window: int = 0
    longest: int = 0
    thinks: bool = False

    @property
    def reply(self) -> int:
        """The limit of a reply where none is set."""
        return min(self.longest, _REPLY) or MAX_TOKENS

    @property
    def is_older(self) -> bool:
        """Before Gemini 3: thinking has a budget instead of levels, and calls need no signature."""
        return self.id.startswith(_OLDER)


def gemini_endpoint(url: str, key: str, *, cloud: bool | None = None, stall_s: float = 600.0) -> Endpoint:
    """The Gemini API at an address, "" for Google's own; the key goes into its own header, not into a URL."""
    root = (url or URL).strip().rstrip("/").removesuffix("/v1beta")
    endpoint = Endpoint(root, key, "x-goog-api-key", cloud=cloud, stall_s=stall_s)
    if endpoint.is_cloud:
        endpoint.connect_s = 10.0
    return endpoint


def path_of(model: str, action: str = "") -> str:
    """Return the path of a model, with an action."""
    return f"/v1beta/models/{quote(model.removeprefix('models/'), safe='')}{f':{action}' if action else ''}"


async def read_about(endpoint: Endpoint, model: str) -> GeminiModel:
    """Look a model up. Raises ModelError, and NoModelError when it is not there.

    Source: https://ai.google.dev/api/models#method:-models.get.
    """
    try:
        row = plain(await endpoint.get(path_of(model)))
    except MissingModelError as error:
        raise await missing(endpoint, model, list_names) from error
    except NoRouteError:
        return GeminiModel(model)
    return GeminiModel(
        string(row.get("name")).removeprefix("models/") or model,
        string(row.get("version")),
        whole(row.get("inputTokenLimit")),
        whole(row.get("outputTokenLimit")),
        row.get("thinking") is True,
    )


async def list_names(endpoint: Endpoint) -> tuple[str, ...]:
    """The names of the models that talk. Raises ModelError."""
    found = rows(await endpoint.get("/v1beta/models", pageSize="1000"), "models")
    talking = (row for row in found if "generateContent" in (row.get("supportedGenerationMethods") or ()))
    return tuple(str(row.get("name", "")).removeprefix("models/") for row in talking)


# --- prompts -------------------------------------------------------------------------------------


# For calls that another model made: the first call of a reply must have a signature, and this one is not
# looked at. Source: https://ai.google.dev/gemini-api/docs/thought-signatures (its questions at the end).
FOREIGN: Final = "skip_thought_signature_validator"


def declarations(tools: Iterable[Tool]) -> list[Row]:
    """All tools, in the caller's order."""
    declared = [
        {
            "name": clean_name(tool.name),
            "description": tool.description,
            "parametersJsonSchema": dict(tool.schema),
        }
        for tool in tools
    ]
    return [{"functionDeclarations": declared}]


def content_rows(turns: Sequence[Turn], signs_calls: bool) -> list[Row]:
    """Contents; `signs_calls`: the model wants a signature on its calls."""
    return [_content(turn, signs_calls) for turn in turns]


def _content(turn: Turn, signs_calls: bool) -> Row:
    if isinstance(turn, ModelTurn):
        return {"role": "model", "parts": _spoken(turn.parts, signs_calls)}
    answers = [_answer(call, result) for call, result in turn.answers]
    shown = [_picture(each) for each in turn.images]
    return {"role": "user", "parts": [*answers, *shown, *({"text": words} for words in turn.words)]}


def _picture(image: Image) -> Row:
    """Source: https://ai.google.dev/gemini-api/docs/image-understanding, inline data."""
    return {"inlineData": {"mimeType": image.media_type, "data": b64encode(image.data).decode()}}


def _answer(call: ToolCall, result: ToolResult) -> Row:
    # The two keys by which a model tells an answer from a failure.
    response = {"output" if result.ok else "error": result.text}
    return {"functionResponse": {"id": call.id, "name": call.name, "response": response}}


def _spoken(parts: Sequence[Part], signs_calls: bool) -> list[Row]:
    rows: list[Row] = []
    unsigned = signs_calls
    for each in parts:
        match each:
            case Text(text):
                rows.append({"text": text})
            case Thinking(text, opaque):
                _add_thought(rows, text, opaque)
            case ToolCall():
                rows.append(_call(each, FOREIGN if unsigned else ""))
                unsigned = False  # of calls made at once, only the first is signed
    return rows


def _add_thought(rows: list[Row], text: str, opaque: str) -> None:
    """A signed thought; a signature without a text belongs to the words before it."""
    if text:
        rows.append({"text": text, "thought": True, "thoughtSignature": opaque})
    elif rows and "text" in rows[-1] and "thoughtSignature" not in rows[-1]:
        rows[-1]["thoughtSignature"] = opaque
    else:
        rows.append({"text": "", "thoughtSignature": opaque})


def _call(call: ToolCall, instead: str) -> Row:
    row: dict[str, Any] = {"functionCall": {"id": call.id, "name": call.name, "args": dict(call.args)}}
    signature = call.opaque or instead
    return {**row, "thoughtSignature": signature} if signature else row


# --- arguments that arrive in pieces -------------------------------------------------------------


_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_LONGEST = 10_000  # elements of a list


def add_piece(args: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Put one piece in its place, a text after what it had before; what has no place is left out.

    Source: PartialArg of the API; paths are of the kind `$.foo.bar[0].data` (RFC 9535).
    """
    key = next((key for key in _VALUES if key in piece), "")
    steps = [_step(found) for found in _STEP.finditer(str(piece.get("jsonPath", "")))]
    if not key or not steps or any(isinstance(step, int) and step > _LONGEST for step in steps):
        return
    value = None if key == "nullValue" else piece[key]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    _put(args, steps, value)


def _step(found: re.Match[str]) -> str | int:
    """A name, or a number in a list."""
    return int(found[2]) if found[2] is not None else found[1] or found[3] or found[4] or ""


def _put(within: Any, steps: list[str | int], value: Any) -> None:
    first, *rest = steps
    if isinstance(first, int) and isinstance(within, list):
        within.extend([None] * (first + 1 - len(within)))
        former = within[first]
    elif isinstance(first, str) and isinstance(within, dict):
        former = within.get(first)
    else:
        return
    if rest:
        within[first] = former if isinstance(former, list | dict) else [] if isinstance(rest[0], int) else {}
        _put(within[first], rest, value)
    else:
        grows = isinstance(former, str) and isinstance(value, str)
        within[first] = former + value if grows else value


# --- streamed answers ----------------------------------------------------------------------------


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


class GeminiStream(Struct):
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


# --- the provider --------------------------------------------------------------------------------


SLOTS = 8  # calls at once; how many it takes depends on the account
_LEAST_CACHED = 4096  # tokens, since Gemini 3; half of it before
_LOW = 2048  # tokens of thinking, up to which a model with levels gets the low one
_LEAST_OF_PRO = 128  # tokens: Gemini 2.5 Pro always thinks


class Gemini(SigningModel[GeminiModel], frozen=True, eq=False):
    """One Gemini model."""

    @property
    def name(self) -> str:
        return f"gemini/{self.model}"

    async def _ask(self, prompt: Prompt, about: GeminiModel, emit: Emit) -> Reply:
        body, left_out = self._body(prompt, about)
        tell_once(left_out, self._told, emit)
        stream = GeminiStream(Draft(emit, used_ids(prompt.messages)))
        path = path_of(self.model, "streamGenerateContent?alt=sse")
        try:
            async with self.endpoint.stream_events(path, body) as chunks:
                async for chunk in chunks:
                    if chunk is not None:
                        stream.take(chunk)
        except MissingModelError as error:
            raise await missing(self.endpoint, self.model, list_names) from error
        if not stream.finish and not stream.blocked:
            raise self.endpoint.cut_short(stream.heard)
        return stream.reply(self.name, prompt.tools)

    async def facts(self, emit: Emit = ignore) -> Facts:
        """Look the model up. Raises ModelError, and NoModelError when the server does not have it."""
        about = await self._about()
        return Facts(
            self.name,
            self.endpoint.url,
            f"gemini:{about.id}:{about.version}",
            about.window,
            about.window,
            slots=SLOTS,
            tools=True,
            thinking=about.thinks,
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
        whole_body = {"model": f"models/{self.model}", **body}
        path = path_of(self.model, "countTokens")
        return await self._counted(path, {"generateContentRequest": whole_body}, "totalTokens")

    async def _look_up(self) -> GeminiModel:
        return await read_about(self.endpoint, self.model)

    def _body(self, prompt: Prompt, about: GeminiModel) -> tuple[Row, tuple[str, ...]]:
        config, left_out = sampling_fields("gemini", prompt.sampling, about.reply)
        turns = take_turns(prompt.messages, self.name, self._refused)
        body: Row = {**self.fields}
        if prompt.system.strip():
            body["systemInstruction"] = {"parts": [{"text": prompt.system}]}
        if prompt.tools:
            body["tools"] = declarations(prompt.tools)
        body["contents"] = content_rows(turns, signs_calls=not about.is_older)
        if thinking := thinking_config(prompt.sampling, about):
            config["thinkingConfig"] = thinking
        if prompt.shape is not None:
            config |= {"responseMimeType": "application/json", "responseJsonSchema": dict(prompt.shape)}
        body["generationConfig"] = config
        return body, left_out


def thinking_config(wish: Sampling, about: GeminiModel) -> Row:
    """Convert thinking options for the model's generation; its thoughts are shown in short.

    Source: https://ai.google.dev/gemini-api/docs/thinking. No model of the third generation can turn thinking
    off, nor can Gemini 2.5 Pro.
    """
    if not about.thinks and not wish.think:
        return {}
    small = "flash" in about.id
    if wish.think is False:
        if about.is_older:
            return {"thinkingBudget": 0 if small else _LEAST_OF_PRO}
        return {"thinkingLevel": "minimal" if small else "low"}
    shown: Row = {"includeThoughts": True}
    if wish.think_tokens is None:
        return shown
    if about.is_older:
        return {**shown, "thinkingBudget": wish.think_tokens}
    return {**shown, "thinkingLevel": "low" if wish.think_tokens <= _LOW else "high"}


PROTOCOL: Final = CloudProtocol(gemini_endpoint, Gemini)
