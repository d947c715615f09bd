"""The stand-in for LM Studio: models that are loaded when first asked, and refusals with status 200."""

from typing import Any

from kith.features.demo.standin.engine import Engine, Route
from kith.features.demo.standin.http import Request, Response, json_response
from kith.features.demo.standin.openai_chat import CHAT_PATHS, Speech, chat

__all__ = ["CHAT_PATHS", "respond"]


async def respond(engine: Engine, request: Request) -> Response:
    """Answer one request as LM Studio would."""
    route = _ROUTES.get((request.method, request.path))
    if route is None:
        words = f"Unexpected endpoint or method. ({request.method} {request.path})"
        return json_response({"error": words})
    return await route(engine, request)


def _overflow(tokens: int, window: int, answer: int) -> dict[str, Any]:
    words = (
        f"The number of tokens to keep from the initial prompt ({tokens}) is greater than the context length "
        f"of {window} tokens: maximum context length is {window} tokens"
    )
    return {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": None}}


_SPEECH = Speech(_overflow, counts=False, reads_arguments=False)


async def _models(engine: Engine, request: Request) -> Response:
    about = engine.behaviour
    config = {"context_length": about.window, "flash_attention": True, "parallel": about.slots}
    loaded = [{"id": about.model, "config": config}] if about.model in engine.ready_at else []
    reasoning = {"reasoning": {"allowed_options": ["off", "on"], "default": "on"}}
    model = {
        "type": "llm",
        "publisher": "qwen",
        "key": about.model,
        "display_name": about.model,
        "architecture": "qwen3",
        "quantization": {"name": "Q4_K_M", "bits_per_weight": 4},
        "size_bytes": 4_677_120_000,
        "params_string": "8B",
        "loaded_instances": loaded,
        "max_context_length": about.trained,
        "format": "gguf",
        "capabilities": {
            "vision": "vision" in about.capabilities,
            "trained_for_tool_use": "tools" in about.capabilities,
            **(reasoning if "thinking" in about.capabilities else {}),
        },
    }
    return json_response({"models": [model]})


async def _load(engine: Engine, request: Request) -> Response:
    name = str((request.body or {}).get("model", ""))
    if name != engine.behaviour.model:
        return _not_found(name)
    engine.ready_at[name] = 0.0
    answer = {"type": "llm", "instance_id": name, "load_time_seconds": 1.5, "status": "loaded"}
    return json_response(answer)


async def _openai_models(engine: Engine, request: Request) -> Response:
    row = {"id": engine.behaviour.model, "object": "model", "owned_by": "organization_owner"}
    return json_response({"data": [row], "object": "list"})


async def _chat(engine: Engine, request: Request) -> Response:
    body = request.body if isinstance(request.body, dict) else {}
    name = str(body.get("model", ""))
    if name != engine.behaviour.model:
        return _not_found(name)
    engine.ready_at[name] = 0.0
    return await chat(engine, request, engine.behaviour.window, _SPEECH)


def _not_found(name: str) -> Response:
    words = f'Model "{name}" not found. Please specify a valid model.'
    error = {"message": words, "type": "invalid_request_error", "param": "model", "code": "model_not_found"}
    return json_response({"error": error}, 404)


_ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/api/v1/models"): _models,
    ("POST", "/api/v1/models/load"): _load,
    ("GET", "/v1/models"): _openai_models,
    ("POST", CHAT_PATHS[0]): _chat,
}
