"""What LM Studio tells of its models, in its present API and in the one before."""

from kith.core.events import Progress
from kith.core.model import Emit
from kith.models.providers.answers import Row, flag, part, rows, string, whole
from kith.models.providers.digests import lmstudio_digest
from kith.models.providers.facts import Facts
from kith.models.providers.faults import NoRouteError
from kith.models.providers.listed import missing
from kith.models.providers.progress import LOADING, ignore
from kith.models.providers.wire import Endpoint


async def lmstudio_facts(endpoint: Endpoint, model: str, emit: Emit = ignore) -> Facts:
    """What runs; a model that is not loaded is loaded with the window of the person's own settings.

    Source: LM Studio's REST API v1 (0.4 and later) and v0. Raises ModelError, NoModelError for a missing one.
    """
    found = await _rows(endpoint)
    if not found:
        return await _older_facts(endpoint, model)
    row = _named(found, model)
    if not row:
        raise await missing("lmstudio", endpoint, model)
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
        quantisation=string(row.get("quantization")),
    )
