"""List a server's models, and digest their weights."""

import hashlib
import json
from collections.abc import Awaitable, Callable

from kith.core.errors import ModelError, NoModelError
from kith.models.providers.answers import Row, part, rows, whole
from kith.models.providers.faults import no_such_model
from kith.models.providers.wire import Endpoint

# The names of a server's models. Raises ModelError.
ListNames = Callable[[Endpoint], Awaitable[tuple[str, ...]]]


async def list_names(endpoint: Endpoint) -> tuple[str, ...]:
    """The names of the models of a server with OpenAI's protocol. Raises ModelError."""
    return tuple(str(row.get("id", "")) for row in rows(await endpoint.get("/v1/models"), "data"))


async def missing(endpoint: Endpoint, model: str, names: ListNames = list_names) -> NoModelError:
    """The error for a model that is not there, with the names of those that are."""
    try:
        there = await names(endpoint)
    except ModelError:
        there = ()
    return no_such_model(endpoint.url, model, there)


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
