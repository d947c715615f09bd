"""Read model facts from servers of OpenAI's protocol: llama-server, LM Studio and vLLM."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from kith.core.errors import ModelError
from kith.core.events import Progress
from kith.core.model import Emit
from kith.models.providers.answers import Row, flag, in_billions, part, plain, rows, string, whole
from kith.models.providers.facts import ASKED, LOADING, Facts, ignore
from kith.models.providers.faults import LoadingError, MissingModelError, NoRouteError
from kith.models.providers.model_list import llama_digest, lmstudio_digest, missing, vllm_digest
from kith.models.providers.wire import Endpoint
from kith.models.traits import read_template

POLL_S = 0.5
_MARK = "a thought that is looked for"

T = TypeVar("T")


async def when_loaded(endpoint: Endpoint, ask: Callable[[], Awaitable[T]], emit: Emit = ignore) -> T:
    """Return the result of `ask`, repeated while the server still loads its model."""
    while True:
        try:
            return await ask()
        except LoadingError:
            await _until_loaded(endpoint, emit)


async def _until_loaded(endpoint: Endpoint, emit: Emit) -> None:
    while True:
        emit(Progress(LOADING, 0))
        await endpoint.sleep(POLL_S)
        with suppress(NoRouteError):
            try:
                await endpoint.get("/health")
            except LoadingError:
                continue
        emit(Progress(ASKED, 0))
        return


async def llama_facts(endpoint: Endpoint, model: str, emit: Emit = ignore) -> Facts:
    """Read the running model's facts; a router loads it first. Raises ModelError, NoModelError if missing.

    Protocol: README of llama.cpp's tools/server. `n_ctx` of /props is the window of one slot.
    """
    props = plain(await when_loaded(endpoint, lambda: endpoint.get("/props"), emit))
    if props.get("role") == "router":
        await _load(endpoint, model, emit)
        props = plain(await when_loaded(endpoint, lambda: endpoint.get("/props", model=model), emit))
    settings, able = part(props, "default_generation_settings"), part(props, "chat_template_caps")
    row, template = await _row_of(endpoint, model), props.get("chat_template")
    meta = part(row, "meta")
    return Facts(
        name=model,
        server=endpoint.url,
        digest=llama_digest(props, row),
        window=whole(settings.get("n_ctx")),
        trained=whole(meta.get("n_ctx_train")),
        slots=whole(props.get("total_slots")) or 1,
        tools=_both(flag(able.get("supports_tools")), flag(able.get("supports_tool_calls"))),
        thinking=read_template(template).thinking if isinstance(template, str) else None,
        keeps_thinking=able.get("supports_preserve_reasoning") is True and await _keeps(endpoint, model),
        counts_cache=True,
        sees=flag(part(props, "modalities").get("vision")),
        quantisation=string(props.get("model_ftype")) or string(meta.get("ftype")),
        parameters=in_billions(whole(meta.get("n_params"))),
    )


async def served_name(endpoint: Endpoint, model: str) -> str:
    """The name of the model that answers to `model`: a server with only one answers to any name."""
    listed = rows(await when_loaded(endpoint, lambda: endpoint.get("/v1/models")), "data")
    if len(listed) != 1 or "status" in listed[0]:
        return model
    own = str(listed[0].get("id") or model)
    return model if model in (listed[0].get("aliases") or ()) else own


async def _load(endpoint: Endpoint, model: str, emit: Emit) -> None:
    """Let a router load a model, and wait until it has."""
    state = await _state(endpoint, model)
    if state == "unloaded":
        await endpoint.post("/models/load", {"model": model})
    while state not in ("loaded", "sleeping"):
        emit(Progress(LOADING, 0))
        await endpoint.sleep(POLL_S)
        state = await _state(endpoint, model, begun=True)


async def _state(endpoint: Endpoint, model: str, begun: bool = False) -> str:
    """Return a model's state in a router: unloaded, loading, loaded, sleeping. Raises if loading failed."""
    row = await _row_of(endpoint, model)
    if not row:
        raise await missing(endpoint, model)
    status = part(row, "status")
    if begun and status.get("failed"):
        code = status.get("exit_code", "unknown")
        raise ModelError(f"{endpoint.url} could not load {model} (exit code {code}); its log says why.")
    # A fixed server has no states: what it lists is loaded.
    return str(status.get("value") or "loaded")


async def _row_of(endpoint: Endpoint, model: str) -> Row:
    """The row of a model; a server with only one answers to any name."""
    listed = rows(await when_loaded(endpoint, lambda: endpoint.get("/v1/models")), "data")
    named = (row for row in listed if model == row.get("id") or model in (row.get("aliases") or ()))
    only = listed[0] if len(listed) == 1 and "status" not in listed[0] else {}
    return next(named, only)


async def _keeps(endpoint: Endpoint, model: str) -> bool:
    """True if the template renders a thought after a later message: tested, not assumed."""
    thought = {"role": "assistant", "content": "b", "reasoning_content": _MARK}
    said = [{"role": "user", "content": "a"}, thought, {"role": "user", "content": "c"}]
    try:
        rendered: Any = await endpoint.post("/apply-template", {"model": model, "messages": said})
    except (NoRouteError, MissingModelError):
        return False
    return _MARK in str(plain(rendered).get("prompt"))


def _both(one: bool | None, other: bool | None) -> bool | None:
    return None if one is None or other is None else one and other


# --- LM Studio, in its present API and in the one before -----------------------------------------


async def lmstudio_facts(endpoint: Endpoint, model: str, emit: Emit = ignore) -> Facts:
    """Read the model's facts; an unloaded one is loaded with the window of the person's own settings.

    Source: LM Studio's REST API v1 (0.4 and later) and v0. Raises ModelError, NoModelError if missing.
    """
    found = await _rows(endpoint)
    if not found:
        return await _older_facts(endpoint, model)
    row = _named(found, model)
    if not row:
        raise await missing(endpoint, model)
    if not rows(row, "loaded_instances"):
        emit(Progress(LOADING, 0))
        await endpoint.post("/api/v1/models/load", {"model": row.get("key", model)})
        row = _named(await _rows(endpoint), model) or row
    running = _instance(row, model)
    able = part(row, "capabilities")
    return Facts(
        name=model,
        server=endpoint.url,
        digest=lmstudio_digest(row),
        window=whole(running.get("context_length")),
        trained=whole(row.get("max_context_length")),
        slots=whole(running.get("parallel")) or 1,
        tools=flag(able.get("trained_for_tool_use")),
        sees=flag(able.get("vision")),
        thinking=bool(able["reasoning"]) if "reasoning" in able else None,
        quantisation=string(part(row, "quantization").get("name")),
        parameters=string(row.get("params_string")),
    )


async def _rows(endpoint: Endpoint) -> list[Row]:
    try:
        return rows(await endpoint.get("/api/v1/models"), "models")
    except NoRouteError:
        return []


def _named(found: list[Row], model: str) -> Row:
    """The row of a model, which may be called by its key or by one of its loaded instances."""
    for row in found:
        if model == row.get("key") or any(model == each.get("id") for each in rows(row, "loaded_instances")):
            return row
    return {}


def _instance(row: Row, model: str) -> Row:
    """The settings of the instance that answers to the name: its own, or the first of the model."""
    loaded = rows(row, "loaded_instances")
    chosen = next((each for each in loaded if each.get("id") == model), loaded[0] if loaded else {})
    return part(chosen, "config")


async def _older_facts(endpoint: Endpoint, model: str) -> Facts:
    """The same from the API before, which loads a model only when it is asked something."""
    listed = rows(await endpoint.get("/api/v0/models"), "data")
    row = next((row for row in listed if row.get("id") == model), {})
    able = row.get("capabilities")
    return Facts(
        name=model,
        server=endpoint.url,
        digest=lmstudio_digest(row) if row else "",
        window=whole(row.get("loaded_context_length")),
        trained=whole(row.get("max_context_length")),
        tools="tool_use" in able if isinstance(able, list) else None,
        sees=row.get("type") == "vlm" if "type" in row else None,
        quantisation=string(row.get("quantization")),
    )


# --- vLLM ----------------------------------------------------------------------------------------


SLOTS = 8  # it batches what comes together, and does not say how much it would take


async def vllm_facts(endpoint: Endpoint, model: str) -> Facts:
    """Read the model's facts. Raises ModelError, and NoModelError when the server does not have it."""
    listed = rows(await endpoint.get("/v1/models"), "data")
    row = next((row for row in listed if row.get("id") == model), None)
    if row is None:
        raise await missing(endpoint, model)
    window = whole(row.get("max_model_len"))
    return Facts(
        name=model,
        server=endpoint.url,
        digest=vllm_digest(row),
        window=window,
        slots=SLOTS,
    )
