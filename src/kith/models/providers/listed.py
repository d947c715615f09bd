"""Which models a server has, for the person who named another one."""

from kith.core.errors import ModelError, NoModelError
from kith.models.providers.answers import rows
from kith.models.providers.faults import no_such_model
from kith.models.providers.sampling import Kind
from kith.models.providers.wire import Endpoint


async def missing(kind: Kind, endpoint: Endpoint, model: str) -> NoModelError:
    """The error for a model that is not there, with the names of those that are."""
    try:
        there = await names(kind, endpoint)
    except ModelError:
        there = ()
    return no_such_model(endpoint.url, model, there)


async def names(kind: Kind, endpoint: Endpoint) -> tuple[str, ...]:
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
