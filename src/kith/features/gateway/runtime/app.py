"""The runtime's routes: roles, the model itself in OpenAI's form, health and figures."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, FastAPI, Request, Response

from kith import __version__
from kith.core.errors import KithError
from kith.core.model import Emit
from kith.core.run import new_id
from kith.core.values import Message, Reply, Text
from kith.features.gateway.answering.listing import Offered
from kith.features.gateway.answering.request import ChatRequest
from kith.features.gateway.answering.roles import list_roles, words_of
from kith.features.gateway.completions import BODY, SESSION, model_row
from kith.features.gateway.openai.bodies import MalformedError, flag_of, read_body, text_of
from kith.features.gateway.openai.messages import read_messages
from kith.features.gateway.openai.replies import Chunks, RawResponse, plain_json, refusal
from kith.features.gateway.openai.requests import read_request, read_sampling
from kith.features.gateway.openai.responses import ReplyResponse, documented, plain_response
from kith.features.gateway.runtime.served_model import ROLE, ServedModel
from kith.features.gateway.runtime.voice import RoleVoice, problem_of
from kith.features.web.problems import tell_problems

_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
_ROLE_BODY: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "input": {"type": "string", "description": "what the role is asked; in place of messages"},
        "messages": BODY["properties"]["messages"],
        "stream": {"type": "boolean"},
        "max_tokens": {"type": "integer", "minimum": 1},
    },
}

router = APIRouter()


def make_app(served: ServedModel) -> FastAPI:
    """The application behind the door."""
    about = f"kith {__version__}"
    app = FastAPI(
        title="kith runtime",
        version="1",
        description=about,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.served = served
    tell_problems(app)
    app.include_router(router)
    return app


async def _served(request: Request) -> ServedModel:
    served: ServedModel = request.app.state.served
    return served


Here = Annotated[ServedModel, Depends(_served)]


@router.get("/roles")
async def roles(served: Here) -> dict[str, Any]:
    """The roles that can be played, with their words, and the tools that a client of theirs may offer."""
    found = list_roles(served.settings).values()
    rows = [
        {
            "name": each.name,
            "purpose": each.purpose,
            "tools": each.tools,
            "words": words_of(each, served.window),
        }
        for each in found
    ]
    return {"roles": rows}


@router.post("/roles/{name}", response_class=Response, openapi_extra=documented("Ask in a role", _ROLE_BODY))
async def play(name: str, request: Request, served: Here) -> Response:
    """Ask the model in a role; with `stream`, events: pieces, then the end (or an error)."""
    try:
        served.check_role(name)
        body = read_body(await request.body())
        asked, stream = _read_role(body), flag_of(body, "stream")
    except (KithError, MalformedError) as error:
        return plain_response(problem_of(error))
    session = new_id()

    async def work(listen: Emit) -> Reply:
        return await served.ask(asked, name, listen, session)

    return ReplyResponse(work, RoleVoice(name, session), stream=stream, headers={SESSION: session})


def _read_role(body: Mapping[str, Any]) -> ChatRequest:
    """What a role is asked. Raises MalformedError."""
    if body.get("messages") is not None:
        system, messages = read_messages(body)
    else:
        system, messages = "", (Message("user", (Text(text_of(body, "input")),), "person"),)
    return ChatRequest(ROLE, messages, system, sampling=read_sampling(body))


@router.post("/v1/chat/completions", response_class=Response, openapi_extra=documented("Ask", BODY))
async def complete(request: Request, served: Here) -> Response:
    """Ask the model, or `role/NAME`, in the form of OpenAI's chat completions."""
    try:
        asked = read_request(read_body(await request.body()))
        role = served.role_in(asked.request.model)
    except (KithError, MalformedError) as error:
        return plain_response(refusal(error))
    session = new_id()

    async def work(listen: Emit) -> Reply:
        return await served.ask(asked.request, role, listen, session)

    voice = Chunks(f"chatcmpl-{session}", asked.request.model, asked.counts)
    return ReplyResponse(work, voice, stream=asked.stream, headers={SESSION: session})


@router.get("/v1/models")
async def models(served: Here) -> dict[str, Any]:
    """The model, once it is there, and each role as if it were one."""
    names = [served.name, *(f"{ROLE}{name}" for name in list_roles(served.settings))]
    rows = [model_row(Offered(name, "kith", served.window)) for name in filter(None, names)]
    return {"object": "list", "data": rows}


@router.get("/metrics", response_class=Response)
async def metrics(served: Here) -> Response:
    """The figures, in Prometheus' text format."""
    return Response(served.counts.text(), media_type=_METRICS)


def with_health(
    inside: "Callable[..., Awaitable[None]]", served: ServedModel
) -> "Callable[..., Awaitable[None]]":
    """The application with /health before its door: whoever watches over servers has no token."""

    async def entrance(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != "/health" or scope["method"] not in ("GET", "HEAD"):
            return await inside(scope, receive, send)
        queue = served.queue
        state = {
            "status": served.state,
            "running": queue.running,
            "waiting": queue.waiting,
            "room": queue.room,
        }
        status = 503 if served.state == "loading" else 200
        await plain_response(RawResponse(status, plain_json(state)))(scope, receive, send)

    return entrance
