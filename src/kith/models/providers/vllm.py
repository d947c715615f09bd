"""What vLLM tells of the model it serves."""

from kith.models.providers.answers import rows, whole
from kith.models.providers.digests import vllm_digest
from kith.models.providers.facts import Facts
from kith.models.providers.listed import missing
from kith.models.providers.wire import Endpoint

SLOTS = 8  # it batches what comes together, and does not say how much it would take


async def vllm_facts(endpoint: Endpoint, model: str) -> Facts:
    """What runs. Raises ModelError, and NoModelError when the server does not have the model."""
    listed = rows(await endpoint.get("/v1/models"), "data")
    row = next((row for row in listed if row.get("id") == model), None)
    if row is None:
        raise await missing("vllm", endpoint, model)
    window = whole(row.get("max_model_len"))
    return Facts(
        name=model,
        server=endpoint.url,
        digest=vllm_digest(row),
        window=window,
        slots=SLOTS,
    )
