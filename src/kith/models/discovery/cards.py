"""Look up a model server: its kind, its models and their facts."""

import asyncio
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import ModelError
from kith.core.values import ServerKind
from kith.models.providers.answers import Row, flag, in_billions, part, plain, rows, string, whole
from kith.models.providers.faults import LoadingError, LostReplyError, UnreachableError
from kith.models.providers.model_list import llama_digest, lmstudio_digest, vllm_digest
from kith.models.providers.wire import Endpoint
from kith.models.traits import Header, describe, read_template

MOST_SHOWN = 64  # models of Ollama that are asked about one by one
_AT_ONCE = 8
_NO_SERVER = ("a web page", "not JSON")  # what answers so is no model server


class Card(Struct, frozen=True):
    """One model of a server; 0, "" and None where the server does not say.

    `size` in bytes, `window` (what runs now) and `trained` (the model's own maximum) in tokens. `digest`
    names the weights, as in Facts. `loaded`: it answers without being loaded first. `header`: what the server
    told of the model's shape, which says how much memory a window takes.
    """

    name: str
    size: int = 0
    window: int = 0
    quantisation: str = ""
    trained: int = 0
    tools: bool | None = None
    thinking: bool | None = None
    parameters: str = ""
    digest: str = ""
    loaded: bool = False
    header: Header | None = None


async def kind_of(endpoint: Endpoint) -> ServerKind | None:
    """Identify a server by its own endpoints; None for something that serves no models.

    A web page in answer to the first question counts as no, so that other software gets only one request.
    Raises ModelError when nothing answers at all, or hangs.
    """
    try:
        first = next(iter(rows(await endpoint.get("/v1/models"), "data")), None)
    except (UnreachableError, LostReplyError):
        raise
    except LoadingError:
        return "llama-server"
    except ModelError as error:
        if any(words in str(error) for words in _NO_SERVER):
            return None
        first = None
    if first and first.get("owned_by") == "llamacpp":
        return "llama-server"
    if first and "max_model_len" in first:
        return "vllm"
    probes: tuple[tuple[ServerKind, str, str], ...] = (
        ("llama-server", "/props", "default_generation_settings"),
        ("ollama", "/api/version", "version"),
        ("lmstudio", "/api/v1/models", "models"),
    )
    for kind, path, key in probes:
        if key in await _look(endpoint, path):
            return kind
    return "openai" if first else None


async def cards(kind: ServerKind, endpoint: Endpoint, *, details: bool = False) -> tuple[Card, ...]:
    """The models of a server, those that are loaded first. Raises ModelError.

    Ollama's stand-ins for models in a cloud are left out. With `details` the server is asked about each model
    where its list says too little, which takes a request or more.
    """
    match kind:
        case "ollama":
            found = await _ollama_cards(endpoint, details)
        case "lmstudio":
            found = await _lmstudio_cards(endpoint)
        case "llama-server":
            found = await _llama_cards(endpoint, details)
        case _:
            found = _openai_cards(await endpoint.get("/v1/models"), loaded=kind == "vllm")
    # What no terminal can show in one line is no name that anybody gave.
    named = (card for card in found if card.name and card.name.isprintable())
    return tuple(sorted(named, key=lambda card: not card.loaded))


# --- Ollama ----------------------------------------------------------------------------------


async def _ollama_cards(endpoint: Endpoint, details: bool) -> list[Card]:
    running, listed = await asyncio.gather(endpoint.get("/api/ps"), endpoint.get("/api/tags"))
    loaded = {string(row.get("name")): row for row in rows(running, "models")}
    talking = (row for row in rows(listed, "models") if not row.get("remote_host") and not _only_embeds(row))
    found = [_ollama_card(row, loaded.get(string(row.get("name")))) for row in talking]
    if not details:
        return found
    turn = asyncio.Semaphore(_AT_ONCE)
    shown = await asyncio.gather(*(_shown(card, endpoint, turn) for card in found[:MOST_SHOWN]))
    return [*(card for card in shown if card), *found[MOST_SHOWN:]]


def _ollama_card(row: Row, running: Row | None) -> Card:
    details = part(row, "details")
    tools, thinking = _able(row.get("capabilities"))
    return Card(
        string(row.get("name")),
        whole(row.get("size")),
        whole((running or {}).get("context_length")),
        string(details.get("quantization_level")).removeprefix("unknown"),
        tools=tools,
        thinking=thinking,
        parameters=string(details.get("parameter_size")),
        digest=string(row.get("digest")),
        loaded=running is not None,
    )


async def _shown(card: Card, endpoint: Endpoint, turn: asyncio.Semaphore) -> Card | None:
    """A card with what /api/show knows more; None when that shows a model that makes no words."""
    async with turn:
        try:
            about = plain(await endpoint.post("/api/show", {"model": card.name}))
        except ModelError:
            return card
    if about.get("remote_host") or _only_embeds(about):
        return None
    header = describe(part(about, "model_info"), card.digest)
    tools, thinking = _able(about.get("capabilities"))
    return replace(
        card,
        trained=header.trained,
        tools=card.tools if tools is None else tools,
        thinking=card.thinking if thinking is None else thinking,
        header=header if header.blocks else None,
    )


def _only_embeds(row: Row) -> bool:
    """True if a model of Ollama makes vectors, not words; newer servers say it."""
    families = part(row, "details").get("families")
    bert = isinstance(families, list) and any("bert" in str(family) for family in families)
    able = row.get("capabilities")
    return bert or (isinstance(able, list) and "embedding" in able)


def _able(capabilities: Any) -> tuple[bool | None, bool | None]:
    """Tools and thinking, where the server lists what a model can do."""
    if not isinstance(capabilities, list):
        return None, None
    return "tools" in capabilities, "thinking" in capabilities


# --- the others ------------------------------------------------------------------------------


async def _llama_cards(endpoint: Endpoint, details: bool) -> list[Card]:
    """The one model of a llama-server, or all that a router has, loaded or not."""
    listing = await endpoint.get("/v1/models")
    found = []
    for row, card in zip(rows(listing, "data"), _openai_cards(listing, loaded=True), strict=True):
        status = part(row, "status").get("value")  # only a router has one
        found.append(replace(card, loaded=status in (None, "loaded", "sleeping")))
    if not details or len(found) != 1 or not found[0].loaded:
        return found
    about = await _look(endpoint, "/props")
    able, template = part(about, "chat_template_caps"), about.get("chat_template")
    thinking = read_template(template).thinking if isinstance(template, str) else None
    digest = llama_digest(about, rows(listing, "data")[0])
    tools = [flag(able.get(f"supports_{what}")) for what in ("tools", "tool_calls")]
    known = None if None in tools else all(tools)
    return [replace(found[0], tools=known, thinking=thinking, digest=digest)]


async def _lmstudio_cards(endpoint: Endpoint) -> list[Card]:
    listed = rows(await _look(endpoint, "/api/v1/models"), "models")
    if not listed:
        return _openai_cards(await endpoint.get("/v1/models"), loaded=False)
    return [_lmstudio_card(row) for row in listed if row.get("type") != "embedding"]


def _lmstudio_card(row: Row) -> Card:
    instances, able = rows(row, "loaded_instances"), part(row, "capabilities")
    running = [whole(part(each, "config").get("context_length")) for each in instances]
    return Card(
        string(row.get("key")),
        whole(row.get("size_bytes")),
        max(running, default=0),
        string(part(row, "quantization").get("name")),
        trained=whole(row.get("max_context_length")),
        tools=flag(able.get("trained_for_tool_use")),
        thinking=bool(able["reasoning"]) if "reasoning" in able else None,
        parameters=string(row.get("params_string")),
        digest=lmstudio_digest(row),
        loaded=bool(instances),
    )


def _openai_cards(listing: Any, *, loaded: bool) -> list[Card]:
    return [_openai_card(row, loaded) for row in rows(listing, "data")]


def _openai_card(row: Row, loaded: bool) -> Card:
    meta = part(row, "meta")
    return Card(
        string(row.get("id")),
        whole(meta.get("size")),
        whole(meta.get("n_ctx")) or whole(row.get("max_model_len")),
        string(meta.get("ftype")),
        trained=whole(meta.get("n_ctx_train")),
        parameters=in_billions(whole(meta.get("n_params"))),
        digest=vllm_digest(row) if "max_model_len" in row else "",
        loaded=loaded,
    )


async def _look(endpoint: Endpoint, path: str) -> Row:
    """The object at a path; empty when the server refuses. Raises ModelError only when nobody is there."""
    try:
        return plain(await endpoint.get(path))
    except UnreachableError:
        raise
    except ModelError:
        return {}
