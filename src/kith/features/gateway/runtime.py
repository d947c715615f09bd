"""The runtime: one model, loaded once and asked by many; its routes, and the uvicorn process around them."""

import asyncio
import math
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from json import loads
from types import FrameType
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from msgspec import Struct
from msgspec.structs import replace

from kith import __version__
from kith.agent.project import Project
from kith.core.errors import KithError, NoModelError
from kith.core.events import Delta, Event, Notice
from kith.core.model import Emit
from kith.core.run import new_id
from kith.core.values import Message, Reply, Text, Thinking
from kith.features.gateway.answering import ChatRequest, answer, in_role, list_roles, words_of
from kith.features.gateway.completions import BODY, SESSION, model_row
from kith.features.gateway.open_models import OfferedModel, OpenModels
from kith.features.gateway.openai_replies import (
    Chunks,
    ReplyResponse,
    documented,
    json_response,
    plain_json,
    refusal,
)
from kith.features.gateway.openai_requests import (
    MalformedError,
    flag_of,
    read_body,
    read_messages,
    read_request,
    read_sampling,
    text_of,
)
from kith.features.gateway.request_queue import RequestQueue, RuntimeCounts
from kith.features.web.guard import Door, guard
from kith.features.web.listen import ListenAddress
from kith.features.web.problems import PROBLEM, problem_text, tell_problems
from kith.features.web.server import HttpServer
from kith.settings import Settings
from kith.view.lines import wrapped
from kith.view.printing import printable

# The model that the runtime serves: loaded once, asked by many, in a role or without one.

ROLE: Final = "role/"  # before a role's name, in a model's place
_PLAIN: Final = "none"  # as it is counted where no role is played


@dataclass(slots=True)
class ServedModel:
    """`asked_as` is the model as the person named it, `name` as it is listed once it is there.

    `parallel`: answers at once, 0 for as many as its server has slots. `longest`: tokens of one answer.
    """

    project: Project
    asked_as: str
    parallel: int
    longest: int
    queue: RequestQueue
    name: str = ""
    window: int = 0
    models: OpenModels = field(default_factory=lambda: OpenModels(idle_s=math.inf))
    counts: RuntimeCounts = field(init=False)

    def __post_init__(self) -> None:
        self.counts = RuntimeCounts(self.queue)

    @property
    def settings(self) -> Settings:
        return self.project.settings

    @property
    def state(self) -> str:
        """The state: loading, busy (a new request would wait), or ok."""
        if not self.name:
            return "loading"
        return "busy" if self.queue.running >= self.queue.parallel else "ok"

    async def load(self, tell: Callable[[Event], None]) -> None:
        """Open the model, and let the first requests in. Raises NoModelError, ModelError."""
        held = await self.models.take(self.project, self.asked_as, tell)
        self.models.give_back(held)
        facts = held.opened.facts
        self.name, self.window = facts.name, held.opened.window
        self.queue.open(self.parallel or facts.slots)

    async def ask(self, request: ChatRequest, role: str, listen: Emit, session: str) -> Reply:
        """The reply to a request, once it is its turn. Raises TurnedAwayError, and what `answer` raises."""
        with self.counts.request(role or _PLAIN, listen) as hear:
            async with self.queue.turn():
                self._check_name(request.model)
                asked = in_role(request, list_roles(self.settings)[role], self.window) if role else request
                longest = min(asked.sampling.max_tokens or self.longest, self.longest)
                sampling = replace(asked.sampling, max_tokens=longest)
                asked = replace(asked, model=self.asked_as, sampling=sampling)
                return await answer(self.project, self.models, asked, hear, session)

    def role_in(self, model: str) -> str:
        """The role named in a model's place; "" for none. Raises NoModelError for an unknown one."""
        role = model.removeprefix(ROLE) if model.startswith(ROLE) else ""
        if model.startswith(ROLE):
            self.check_role(role)
        return role

    def check_role(self, name: str) -> None:
        """Raises NoModelError for a role that is not there."""
        there = list_roles(self.settings)
        if name not in there:
            raise NoModelError(f"There is no role {name!r:.60} here; there are: {', '.join(there)}.")

    def _check_name(self, model: str) -> None:
        if model not in (self.name, self.asked_as) and not model.startswith(ROLE):
            raise NoModelError(f"There is no model {model!r:.60} here; it is {self.name}, or {ROLE}NAME.")

    async def close(self) -> None:
        """Let go of the model."""
        await asyncio.shield(self.models.close())


# The runtime: its routes, answers in a role, and the uvicorn process around them.

# How an answer in a role is told: one object, or events of which each is a piece of it.


class RoleVoice(Struct, frozen=True):
    """The answers of one role, in one session."""

    role: str
    session: str

    def whole(self, reply: Reply) -> Response:
        return json_response(self._all(reply))

    def opening(self) -> bytes:
        return b""

    def piece(self, delta: Delta) -> bytes:
        return _event("piece", {"thinking" if delta.kind == "thinking" else "text": delta.text})

    def ending(self, reply: Reply, rest: str) -> bytes:
        left = _event("piece", {"text": rest}) if rest else b""
        return left + _event("end", self._all(reply))

    def failure(self, error: Exception) -> bytes:
        return _event("error", loads(bytes(problem_of(error).body)))

    def refusal(self, error: Exception) -> Response:
        return problem_of(error)

    def _all(self, reply: Reply) -> dict[str, Any]:
        usage, parts = reply.usage, reply.message.parts
        return {
            "role": self.role,
            "model": reply.model,
            "text": "".join(part.text for part in parts if isinstance(part, Text)),
            "thinking": "".join(part.text for part in parts if isinstance(part, Thinking)),
            "stop": reply.stop,
            "usage": {"input": usage.input, "output": usage.output, "cached": usage.cached},
            "seconds": round(reply.timing.total_s, 3),
            "session": self.session,
        }


def problem_of(error: Exception) -> Response:
    """An error as a problem (RFC 9457), with the code that OpenAI's programs get for it."""
    told = refusal(error)
    said = loads(bytes(told.body))["error"]
    wait = {name: value for name, value in told.headers.items() if name == "retry-after"}
    text = problem_text(told.status_code, said["message"], code=said["code"])
    return Response(text, told.status_code, wait, PROBLEM)


def _event(name: str, value: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: ".encode() + plain_json(value) + b"\n\n"


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
        return problem_of(error)
    session = new_id()

    async def work(listen: Emit) -> Reply:
        return await served.ask(asked, name, listen, session)

    return ReplyResponse(work, RoleVoice(name, session), stream=stream, headers={SESSION: session})


def _read_role(body: Mapping[str, Any]) -> ChatRequest:
    """Read a request to a role. Raises MalformedError."""
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
        return refusal(error)
    session = new_id()

    async def work(listen: Emit) -> Reply:
        return await served.ask(asked.request, role, listen, session)

    voice = Chunks(f"chatcmpl-{session}", asked.request.model, asked.counts)
    return ReplyResponse(work, voice, stream=asked.stream, headers={SESSION: session})


@router.get("/v1/models")
async def models(served: Here) -> dict[str, Any]:
    """The model, once it is there, and each role as if it were one."""
    names = [served.name, *(f"{ROLE}{name}" for name in list_roles(served.settings))]
    rows = [model_row(OfferedModel(name, "kith", served.window)) for name in filter(None, names)]
    return {"object": "list", "data": rows}


@router.get("/metrics", response_class=Response)
async def metrics(served: Here) -> Response:
    """The figures, in Prometheus' text format."""
    return Response(served.counts.text(), media_type=_METRICS)


def with_health(
    inside: "Callable[..., Awaitable[None]]", served: ServedModel
) -> "Callable[..., Awaitable[None]]":
    """The application with /health outside authentication: monitoring has no token."""

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
        await json_response(state, status)(scope, receive, send)

    return entrance


# The runtime's process: uvicorn around the door, ended by a signal only when the answers in progress
# are.


class _Server(HttpServer):
    """A server that turns away who waits when it is told to end."""

    served: ServedModel

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.served.queue.close()


async def run_runtime(served: ServedModel, listener: socket.socket, place: ListenAddress, token: str) -> None:
    """Serve until SIGINT or SIGTERM. Raises what keeps the model from being loaded."""
    app = guard(make_app(served), Door(token, place.port, place.host, place.names))
    server = _Server(with_health(app, served))
    server.served = served
    loading = asyncio.create_task(_load(served, server))
    try:
        await server.serve(sockets=[listener])
    finally:
        loading.cancel()
        await asyncio.gather(loading, return_exceptions=True)
        await served.close()
    if not loading.cancelled():
        loading.result()


async def _load(served: ServedModel, server: HttpServer) -> None:
    """Load the model; without one there is nothing to serve."""
    try:
        await served.load(_tell)
    except BaseException:
        served.queue.close()
        server.should_exit = True
        raise
    _say(f"{served.name} is ready; {served.queue.parallel} at once, and {served.queue.room} may wait.")


def _tell(event: Event) -> None:
    if isinstance(event, Notice):
        _say(event.text)


def _say(text: str) -> None:
    print(wrapped(printable(text), sys.stderr), file=sys.stderr, flush=True)
