"""What the Models API of Anthropic, or of a server that speaks its protocol, tells of a model."""

from dataclasses import dataclass

from kith.core.errors import ModelError
from kith.models.providers.answers import Row, flag, part, plain, rows, string, whole
from kith.models.providers.faults import MissingModelError, NoRouteError
from kith.models.providers.listed import missing
from kith.models.providers.sampling import MAX_TOKENS
from kith.models.providers.wire import Endpoint

VERSION = "2026-10-21"
URL = "https://api.anthropic.com"
_REPLY = 16_384  # tokens; thoughts count too, and what is not used costs nothing


@dataclass(frozen=True, slots=True)
class About:
    """A model of the list. Sizes in tokens; 0 and None where nobody says.

    `id` is its own name, where it was asked for by another; `modes` are the types of `thinking` that it
    takes; `shapes`: replies can be held to a JSON Schema.
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


async def read_about(endpoint: Endpoint, model: str) -> About:
    """Look a model up. Raises ModelError, and NoModelError when it is not there.

    Source: https://platform.claude.com/docs/en/api/models/retrieve. A server without this endpoint
    (llama-server) at least has a list.
    """
    try:
        row = plain(await endpoint.get(f"/v1/models/{model}"))
    except MissingModelError as error:
        raise await missing("anthropic", endpoint, model) from error
    except NoRouteError:
        return await _listed(endpoint, model)
    able = part(row, "capabilities")
    types = part(part(able, "thinking"), "types")
    return About(
        string(row.get("id")) or model,
        whole(row.get("max_input_tokens")),
        whole(row.get("max_tokens")),
        frozenset(name for name in types if _is_supported(types, name)) if able else None,
        _is_supported(able, "structured_outputs"),
    )


async def _listed(endpoint: Endpoint, model: str) -> About:
    try:
        found = rows(await endpoint.get("/v1/models"), "data")
    except ModelError:
        return About(model)
    row = next((row for row in found if row.get("id") == model), found[0] if len(found) == 1 else {})
    return About(model, whole(part(row, "meta").get("n_ctx")) or whole(row.get("max_model_len")))


def _is_supported(able: Row, what: str) -> bool:
    return flag(part(able, what).get("supported")) is True
