"""Which models a server has, and what names their weights."""

import hashlib
import json

from kith.core.errors import ModelError, NoModelError
from kith.core.values import ServerKind
from kith.models.providers.answers import Row, part, rows, whole
from kith.models.providers.faults import no_such_model
from kith.models.providers.wire import Endpoint


async def missing(kind: ServerKind, endpoint: Endpoint, model: str) -> NoModelError:
    """The error for a model that is not there, with the names of those that are."""
    try:
        there = await names(kind, endpoint)
    except ModelError:
        there = ()
    return no_such_model(endpoint.url, model, there)


async def names(kind: ServerKind, endpoint: Endpoint) -> tuple[str, ...]:
    """The names of a server's models, Ollama's stubs of models in a cloud left out. Raises ModelError."""
    if kind == "ollama":
        found = rows(await endpoint.get("/api/tags"), "models")
        return tuple(str(row.get("name", "")) for row in found if not row.get("remote_host"))
    if kind == "gemini":
        found = rows(await endpoint.get("/v1beta/models", pageSize="1000"), "models")
        talking = (row for row in found if "generateContent" in (row.get("supportedGenerationMethods") or ()))
        return tuple(str(row.get("name", "")).removeprefix("models/") for row in talking)
    if kind == "anthropic":
        found = rows(await endpoint.get("/v1/models", limit="1000"), "data")
        return tuple(str(row.get("id", "")) for row in found)
    return tuple(str(row.get("id", "")) for row in rows(await endpoint.get("/v1/models"), "data"))


# --- digests: the same name from a server's list as from its facts -------------------------------


def llama_digest(props: Row, row: Row) -> str:
    """Of a llama-server: from /props the file's name, from the model's row in /v1/models its sizes."""
    path, meta = str(props.get("model_path") or row.get("id") or ""), part(row, "meta")
    return _digest(
        path.replace("\\", "/").rpartition("/")[2], whole(meta.get("size")), whole(meta.get("n_params"))
    )


def lmstudio_digest(row: Row) -> str:
    """Of LM Studio: from the model's row in its list, in the present API or in the one before."""
    quantisation = part(row, "quantization").get("name") or row.get("quantization")
    return _digest(row.get("key") or row.get("id"), quantisation, whole(row.get("size_bytes")))


def vllm_digest(row: Row) -> str:
    """Of vLLM: from the model's row in /v1/models."""
    return _digest(row.get("root") or row.get("id"))


def _digest(*traits: object) -> str:
    """SHA-256 in hex of what tells one model from another."""
    return hashlib.sha256(json.dumps(traits, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()
