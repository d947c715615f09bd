"""What a model server has: its kind, its models, and the windows they run with."""

import math
from dataclasses import dataclass
from typing import Any

from kith.core.errors import ModelError, NoModelError
from kith.models.providers.faults import UnreachableError, no_such_model
from kith.models.providers.sampling import Kind
from kith.models.providers.wire import Endpoint


@dataclass(frozen=True, slots=True)
class Card:
    """One model of a server. `size` in bytes and `window` in tokens are 0 when the server does not say."""

    name: str
    size: int = 0
    window: int = 0
    quantisation: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """Context sizes in tokens, 0 when unknown: what runs now, and what the model was trained for."""

    running: int = 0
    maximum: int = 0


async def kind_of(endpoint: Endpoint) -> Kind | None:
    """Which server answers there, by its own endpoints; None for something that serves no models.

    Raises ModelError when nothing answers at all.
    """
    probes: tuple[tuple[Kind, str, str], ...] = (
        ("llama-server", "/props", "default_generation_settings"),
        ("ollama", "/api/version", "version"),
        ("lmstudio", "/api/v1/models", "models"),
    )
    for kind, path, key in probes:
        if key in await _look(endpoint, path):
            return kind
    listed = _rows(await _look(endpoint, "/v1/models"), "data")
    if listed and "max_model_len" in listed[0]:
        return "vllm"
    if listed and listed[0].get("owned_by") == "llamacpp":  # its /props may want a key that this may not
        return "llama-server"
    return "openai" if listed else None


async def cards(kind: Kind, endpoint: Endpoint) -> tuple[Card, ...]:
    """The models of a server. Ollama's stand-ins for models in a cloud are left out. Raises ModelError."""
    if kind == "ollama":
        loaded = {row.get("name"): row for row in _rows(await endpoint.get("/api/ps"), "models")}
        rows = _rows(await endpoint.get("/api/tags"), "models")
        talking = (row for row in rows if not row.get("remote_host") and not _only_embeds(row))
        return tuple(_ollama_card(row, loaded.get(row.get("name"), {})) for row in talking)
    if kind == "lmstudio":
        rows = _rows(await _look(endpoint, "/api/v1/models"), "models")
        if rows:
            return tuple(_lmstudio_card(row) for row in rows if row.get("type") != "embedding")
    return tuple(_openai_card(row) for row in _rows(await endpoint.get("/v1/models"), "data"))


async def missing(kind: Kind, endpoint: Endpoint, model: str) -> NoModelError:
    """The error for a model that is not there, with the names of those that are."""
    try:
        there = await cards(kind, endpoint)
    except ModelError:
        there = ()
    return no_such_model(endpoint.url, model, [card.name for card in there])


def whole(number: Any) -> int:
    """A count as the server sent it; 0 for anything else."""
    return int(number) if isinstance(number, (int, float)) and 0 < number < math.inf else 0


def _only_embeds(row: dict[str, Any]) -> bool:
    """Whether a model of Ollama makes vectors, not words."""
    families = (row.get("details") or {}).get("families") or ()
    able = row.get("capabilities") or ()  # newer servers say it
    return "embedding" in able or any("bert" in str(family) for family in families)


def _ollama_card(row: dict[str, Any], loaded: dict[str, Any]) -> Card:
    details = row.get("details") or {}
    window = whole(loaded.get("context_length"))
    return Card(
        str(row.get("name", "")), whole(row.get("size")), window, str(details.get("quantization_level") or "")
    )


def _lmstudio_card(row: dict[str, Any]) -> Card:
    running = [
        whole((each.get("config") or {}).get("context_length")) for each in row.get("loaded_instances") or ()
    ]
    quantisation = (row.get("quantization") or {}).get("name") or ""
    return Card(
        str(row.get("key", "")), whole(row.get("size_bytes")), max(running, default=0), str(quantisation)
    )


def _openai_card(row: dict[str, Any]) -> Card:
    meta = row.get("meta") or {}
    window = whole(meta.get("n_ctx")) or whole(row.get("max_model_len"))
    return Card(str(row.get("id", "")), whole(meta.get("size")), window, str(meta.get("ftype") or ""))


async def _look(endpoint: Endpoint, path: str) -> dict[str, Any]:
    """The object at a path; empty when the server refuses. Raises ModelError only when nobody is there."""
    try:
        data = await endpoint.get(path)
    except ModelError as error:
        if isinstance(error, UnreachableError):
            raise
        return {}
    return data if isinstance(data, dict) else {}


def _rows(data: Any, key: str) -> list[dict[str, Any]]:
    rows = data.get(key) if isinstance(data, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
