"""Ollama through its native /api/chat, the only door that takes a window and gives every duration."""

from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct, field

from kith.core.events import Progress
from kith.core.model import Emit, Prompt
from kith.core.values import Image, Reply, Sampling, Timing, ToolCall, ToolResult, Usage
from kith.models.providers.answers import Row, part, plain, rows, string, whole
from kith.models.providers.facts import LOADING, Facts, ignore
from kith.models.providers.faults import MissingModelError, NoRouteError
from kith.models.providers.messages import Draft, message_rows, tool_rows, used_ids
from kith.models.providers.model_list import missing
from kith.models.providers.sampling import sampling_fields, tell_once
from kith.models.providers.waiting import waiting_for
from kith.models.providers.wire import Endpoint


class Shape(Struct, frozen=True):
    """One model of an Ollama server. Sizes in bytes, windows in tokens; 0, "" and None where nobody says.

    `info` has the keys of a GGUF header: `general.architecture`, `qwen2.block_count`,
    `qwen2.attention.head_count_kv`, `.key_length`, `.embedding_length`, `.context_length` ... `running` is
    the window it runs with now, 0 when it is not loaded.
    """

    info: Mapping[str, Any] = field(default_factory=dict)
    size: int = 0
    digest: str = ""
    quantisation: str = ""
    parameters: str = ""
    running: int = 0
    able: tuple[str, ...] | None = None  # completion, tools, thinking, vision, insert ...
    remote: str = ""  # the cloud that really runs it

    @property
    def trained(self) -> int:
        """The model's own maximum."""
        sizes = (whole(size) for key, size in self.info.items() if key.endswith(".context_length"))
        return max(sizes, default=0)

    def can(self, what: str) -> bool | None:
        """True if the model has an ability; None when the server is too old to say."""
        return None if self.able is None else what in self.able


async def _list_names(endpoint: Endpoint) -> tuple[str, ...]:
    """The names of the server's models, without stubs of models in a cloud. Raises ModelError."""
    found = rows(await endpoint.get("/api/tags"), "models")
    return tuple(str(row.get("name", "")) for row in found if not row.get("remote_host"))


async def shape_of(endpoint: Endpoint, model: str) -> Shape:
    """Read a model's shape without loading it. Raises ModelError, and NoModelError when it is not there."""
    listed = _row(rows(await endpoint.get("/api/tags"), "models"), model)
    try:
        shown = await endpoint.post("/api/show", {"model": model})
    except MissingModelError as error:
        raise await missing(endpoint, model, _list_names) from error
    running, details = await running_row(endpoint, model), part(shown, "details")
    able = shown.get("capabilities") if isinstance(shown, dict) else None
    return Shape(
        part(shown, "model_info"),
        whole(listed.get("size")),
        str(listed.get("digest") or running.get("digest") or ""),
        string(details.get("quantization_level")).removeprefix("unknown"),
        string(details.get("parameter_size")),
        whole(running.get("context_length")),
        tuple(str(each) for each in able) if isinstance(able, list) else None,
        string(plain(shown).get("remote_host")),
    )


async def running_row(endpoint: Endpoint, model: str) -> Row:
    """Return the server's row of a loaded model; empty when it is not loaded."""
    return _row(rows(await endpoint.get("/api/ps"), "models"), model)


def _row(found: list[Row], model: str) -> Row:
    """The row of a model; a name without a tag means the tag `latest`."""
    names = {model, f"{model}:latest"}
    return next((row for row in found if {row.get("name"), row.get("model")} & names), {})


# --- the provider --------------------------------------------------------------------------------


_CHAT = "/api/chat"
_LOAD = "/api/generate"  # without a prompt it only loads the model


class Ollama(Struct, frozen=True, eq=False):
    """One model of an Ollama server.

    `num_ctx` is the window in tokens. Like `options` (any other of Ollama's) it is the same on every call,
    because a change makes the server reload the model. `think`: False, True or an effort, where the prompt
    does not say; None leaves the model's default (which is on).
    """

    model: str
    endpoint: Endpoint
    num_ctx: int | None = None
    think: bool | str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    keep_alive: str = "30m"
    _told: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return f"ollama/{self.model}"

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises ModelError, and NoModelError when the server does not have the model."""
        body, left_out = self._body(prompt)
        tell_once(left_out, self._told, emit)
        draft = Draft(emit, used_ids(prompt.messages), restores=True)
        heard = False
        try:
            async with self.endpoint.stream_lines(_CHAT, body) as lines:
                async for line in lines:
                    heard = True
                    _take(draft, part(line, "message"))
                    if line.get("done"):
                        return self._reply(draft, line)
        except MissingModelError as error:
            raise await missing(self.endpoint, self.model, _list_names) from error
        raise self.endpoint.cut_short(heard)

    async def facts(self, emit: Emit = ignore) -> Facts:
        """Load the model with the options of every call, and read what really runs."""
        async with waiting_for(self.endpoint.url, emit, self.endpoint.stall_s) as listen:
            shape = await shape_of(self.endpoint, self.model)
            if not shape.running or shape.running != (self.num_ctx or shape.running):
                listen(Progress(LOADING, 0))
                await self._load(Sampling())
            running = await running_row(self.endpoint, self.model)
        asked, told = self.num_ctx or 0, whole(running.get("context_length"))
        return Facts(
            self.name,
            self.endpoint.url,
            shape.digest or str(running.get("digest") or ""),
            # Old servers do not tell; they run what they are asked for, up to the model's own maximum.
            told or min(asked, shape.trained or asked),
            shape.trained,
            tools=shape.can("tools"),
            thinking=shape.can("thinking"),
            sees=shape.can("vision"),
            verified=bool(told),
            cloud=self.endpoint.is_cloud or bool(shape.remote),
            quantisation=shape.quantisation,
            parameters=shape.parameters,
        )

    async def count(self, prompt: Prompt) -> int | None:
        """None: Ollama has no such endpoint."""
        return None

    async def warm(self, prompt: Prompt) -> None:
        """Let the server load the model: it has no request that reads a prompt without an answer."""
        await self._load(prompt.sampling)

    async def _load(self, sampling: Sampling) -> None:
        with suppress(NoRouteError):  # what only speaks Ollama's chat loads at the first call
            await self.endpoint.post(_LOAD, {**self._settings(sampling), "stream": False})

    async def close(self) -> None:
        """Close the connections that are open."""
        await self.endpoint.close()

    def _body(self, prompt: Prompt) -> tuple[Row, tuple[str, ...]]:
        _, left_out = sampling_fields("ollama", prompt.sampling)
        body: Row = self._settings(prompt.sampling)
        if prompt.shape is not None:
            body["format"] = dict(prompt.shape)
        if prompt.tools:
            body["tools"] = tool_rows(prompt.tools)
        body["messages"] = message_rows(prompt, _call_row, _result_row, "thinking", _show)
        return body, left_out

    def _settings(self, sampling: Sampling) -> Row:
        """A request without the messages: the fields that could cause a reload are the same on every call."""
        window = {"num_ctx": self.num_ctx} if self.num_ctx else {}
        fields, _ = sampling_fields("ollama", sampling)
        settings: Row = {
            "model": self.model,
            "stream": True,
            # By default Ollama cuts what does not fit, and says nothing: refuse instead.
            "truncate": False,
            "shift": False,
            "keep_alive": self.keep_alive,
            "options": {**window, **self.options, **fields},
        }
        think = self._think(sampling.think)
        return settings if think is None else {**settings, "think": think}

    def _think(self, wish: bool | None) -> bool | str | None:
        """Return the prompt's choice, else the model's setting; an effort counts as yes."""
        return self.think if wish is None or (wish and isinstance(self.think, str)) else wish

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


def _take(draft: Draft, message: Row) -> None:
    draft.think(string(message.get("thinking")))
    draft.say(string(message.get("content")))
    for call in rows(message, "tool_calls"):
        function = part(call, "function")
        # Calls come whole; their own indexes start anew with each line in some versions.
        draft.call(
            len(draft.calls),
            string(function.get("name")),
            function.get("arguments") or "",
            string(call.get("id")),
        )


def _show(row: Row, images: tuple[Image, ...]) -> Row:
    """Source: https://docs.ollama.com/api/chat, `images`."""
    return {**row, "images": [b64encode(each.data).decode() for each in images]}


def _call_row(call: ToolCall) -> Row:
    return {"id": call.id, "function": {"name": call.name, "arguments": dict(call.args)}}


def _result_row(result: ToolResult, name: str) -> Row:
    return {"role": "tool", "tool_name": name, "tool_call_id": result.call_id, "content": result.text}
