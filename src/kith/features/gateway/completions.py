"""Models as programs made for OpenAI ask for them: /v1/chat/completions and /v1/models, on kith's terms."""

from typing import Any, Final

from fastapi import APIRouter, Request, Response

from kith.core.errors import KithError
from kith.core.model import Emit
from kith.core.run import new_id
from kith.core.values import Reply
from kith.features.gateway.answering import answer
from kith.features.gateway.open_models import OfferedModel, OpenModels, list_offered
from kith.features.gateway.openai_replies import (
    Chunks,
    ReplyResponse,
    documented,
    json_response,
    refusal,
)
from kith.features.gateway.openai_requests import MalformedError, read_body, read_request
from kith.features.web.api.dependencies import OneDesk
from kith.features.web.part import WebPart

SESSION: Final = "x-kith-session"
# What a stranger needs to know of the body; fields that are not understood are left out.
BODY: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["model", "messages"],
    "properties": {
        "model": {"type": "string", "description": "as after `kith -m`; `route`: kith chooses"},
        "messages": {"type": "array", "minItems": 1, "items": {"type": "object"}},
        "stream": {"type": "boolean"},
        "stream_options": {"type": "object", "properties": {"include_usage": {"type": "boolean"}}},
        "tools": {"type": "array", "items": {"type": "object"}},
        "tool_choice": {},
        "response_format": {"type": "object"},
        "max_completion_tokens": {"type": "integer", "minimum": 1},
        "max_tokens": {"type": "integer", "minimum": 1},
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "top_p": {"type": "number", "minimum": 0, "maximum": 1},
        "seed": {"type": "integer"},
        "stop": {},
    },
}

router = APIRouter(tags=["models"])


@router.post("/v1/chat/completions", response_class=Response, openapi_extra=documented("Ask a model", BODY))
async def complete(request: Request, desk: OneDesk) -> Response:
    """Ask a model, in the form of OpenAI's chat completions; the call is measured, and within the limits."""
    try:
        asked = read_request(read_body(await request.body()))
    except MalformedError as error:
        return refusal(error)
    models, id = _models(request), new_id()

    async def work(listen: Emit) -> Reply:
        return await answer(desk.first, models, asked.request, listen, id)

    voice = Chunks(f"chatcmpl-{id}", asked.request.model, asked.counts)
    return ReplyResponse(work, voice, stream=asked.stream, headers={SESSION: id})


@router.get("/v1/models", response_class=Response, summary="The models that can be asked")
async def models(desk: OneDesk) -> Response:
    """kith's own choice, `route`, and every model that is found now, as OpenAI lists models."""
    try:
        found = await list_offered(desk.first.settings, desk.log)
    except KithError as error:
        return refusal(error)
    rows = [model_row(each) for each in found]
    return json_response({"object": "list", "data": rows})


def model_row(offered: OfferedModel) -> dict[str, Any]:
    """A model as OpenAI lists it; `max_model_len`, its window, is vLLM's word for it."""
    window = offered.window or None
    return {
        "id": offered.name,
        "object": "model",
        "created": 0,
        "owned_by": offered.owner,
        "max_model_len": window,
    }


def _models(request: Request) -> OpenModels:
    """The models that this server keeps open."""
    state = request.app.state
    if not hasattr(state, "models"):
        state.models = OpenModels()
    found: OpenModels = state.models
    return found


PART: Final = WebPart(routes=(router,))
