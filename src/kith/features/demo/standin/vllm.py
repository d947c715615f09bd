"""The stand-in for vLLM: its window, its refusals, and its word for reasoning."""

import time
from typing import Any

from kith.features.demo.standin.engine import Engine, Route
from kith.features.demo.standin.http import Request, Response, json_response
from kith.features.demo.standin.openai_chat import CHAT_PATHS, Speech, chat

__all__ = ["CHAT_PATHS", "respond"]


async def respond(engine: Engine, request: Request) -> Response:
    """Answer one request as vLLM would."""
    route = _ROUTES.get((request.method, request.path))
    return await route(engine, request) if route else json_response({"detail": "Not Found"}, 404)


def _error(status: int, kind: str, words: str) -> dict[str, Any]:
    return {"error": {"message": words, "type": kind, "param": None, "code": status}}


def _overflow(tokens: int, window: int, answer: int) -> dict[str, Any]:
    words = (
        f"This model's maximum context length is {window} tokens. However, you requested {answer} output "
        f"tokens and your prompt contains {tokens} input tokens. Please reduce the length of the input."
    )
    return _error(400, "BadRequestError", words)


_SPEECH = Speech(_overflow, reasoning="reasoning", counts=False, reads_arguments=False)


async def _health(engine: Engine, request: Request) -> Response:
    return Response(200, b"", "text/plain")


async def _version(engine: Engine, request: Request) -> Response:
    return json_response({"version": "0.20.0"})


async def _models(engine: Engine, request: Request) -> Response:
    about = engine.behaviour
    model = {"id": about.model, "object": "model", "created": int(time.time()), "owned_by": "vllm"}
    row = {**model, "root": f"/models/{about.model}", "parent": None, "max_model_len": about.window}
    return json_response({"object": "list", "data": [row]})


async def _chat(engine: Engine, request: Request) -> Response:
    body = request.body if isinstance(request.body, dict) else {}
    name = body.get("model")
    if name != engine.behaviour.model:
        return json_response(_error(404, "NotFoundError", f"The model `{name}` does not exist."), 404)
    if body.get("tools") and "tools" not in engine.behaviour.capabilities:
        words = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
        return json_response(_error(400, "BadRequestError", words), 400)
    return await chat(engine, request, engine.behaviour.window, _SPEECH)


_ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/health"): _health,
    ("GET", "/version"): _version,
    ("GET", "/v1/models"): _models,
    ("POST", CHAT_PATHS[0]): _chat,
}
