"""The stand-in for llama-server: its chat byte for byte, its probes, and its router of several models."""

import asyncio
import time
from typing import Any

from kith.features.demo.standin.engine import BYTES_PER_TOKEN, Engine, Route, Scripted, estimate
from kith.features.demo.standin.http import Request, Response, json_response
from kith.features.demo.standin.openai_chat import CHAT_PATHS, Speech, chat, refuse, render

__all__ = ["CHAT_PATHS", "overflow_body", "respond"]

_NO_ROUTE = {"message": "File Not Found", "type": "not_found_error", "code": 404}
_TEMPLATE = "{{ messages }}"
_THINKING_TEMPLATE = "{% if enable_thinking %}<think>{% endif %}{{ messages }}"


def overflow_body(tokens: int, window: int, answer: int = 0) -> dict[str, Any]:
    """Build the error for a prompt that does not fit."""
    words = (
        f"request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"
    )
    kind = "exceed_context_size_error"
    return {
        "error": {"code": 400, "message": words, "type": kind, "n_prompt_tokens": tokens, "n_ctx": window}
    }


_SPEECH = Speech(overflow_body)


async def respond(engine: Engine, request: Request) -> Response:
    """Answer one request as llama-server would."""
    if engine.loading:
        return refuse(503)
    route = _ROUTES.get((request.method, request.path))
    if engine.behaviour.router:
        route = _ROUTER.get((request.method, request.path), route)
    if route is None:
        return json_response({"error": _NO_ROUTE}, 404)
    return await route(engine, request)


def _window(engine: Engine) -> int:
    """Return the window of one slot."""
    return engine.behaviour.window // engine.behaviour.slots


# --- probes ----------------------------------------------------------------------------------


async def _health(engine: Engine, request: Request) -> Response:
    return json_response({"status": "ok"})


async def _props(engine: Engine, request: Request) -> Response:
    about = engine.behaviour
    tools, thinks = "tools" in about.capabilities, "thinking" in about.capabilities
    model = request.query.get("model") if about.router else about.model
    return json_response(
        {
            "default_generation_settings": {
                "params": {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "max_tokens": -1},
                "n_ctx": _window(engine),
            },
            "total_slots": about.slots,
            "model_alias": model,
            "model_ftype": "Q4_K_M",
            "model_path": f"/models/{model}.gguf",
            "modalities": {"vision": "vision" in about.capabilities, "video": False, "audio": False},
            "endpoint_slots": True,
            "endpoint_props": False,
            "endpoint_metrics": False,
            "chat_template": _THINKING_TEMPLATE if thinks else _TEMPLATE,
            "chat_template_caps": {
                "supports_object_arguments": True,
                "supports_parallel_tool_calls": tools,
                "supports_preserve_reasoning": thinks,
                "supports_reasoning_effort": False,
                "supports_string_content": True,
                "supports_system_role": True,
                "supports_tool_calls": tools,
                "supports_tools": tools,
                "supports_typed_content": False,
            },
            "bos_token": "<|endoftext|>",
            "eos_token": "<|im_end|>",
            "build_info": "b0-standin",
            "is_sleeping": False,
        }
    )


async def _models(engine: Engine, request: Request) -> Response:
    about = engine.behaviour
    return json_response(
        {
            "models": [{"name": about.model, "model": about.model, "capabilities": ["completion"]}],
            "object": "list",
            "data": [{**_entry(about.model), "meta": _meta(engine)}],
        }
    )


def _entry(name: str) -> dict[str, Any]:
    stamp = {"created": int(time.time()), "owned_by": "llamacpp"}
    return {"id": name, "aliases": [name], "tags": [], "object": "model", **stamp}


def _meta(engine: Engine) -> dict[str, Any]:
    window = {"n_ctx": _window(engine), "n_ctx_train": engine.behaviour.trained}
    size = {"n_embd": 3584, "n_params": 7_615_616_512, "size": 4_677_120_000, "ftype": "Q4_K_M"}
    return {"vocab_type": 2, "n_vocab": 151_936, **window, **size}


async def _slots(engine: Engine, request: Request) -> Response:
    each = {"n_ctx": _window(engine), "speculative": False}
    numbers = range(engine.behaviour.slots)
    return json_response([{"id": n, **each, "is_processing": n in engine.busy} for n in numbers])


async def _tokenize(engine: Engine, request: Request) -> Response:
    text = str((request.body or {}).get("content", "")).encode()
    starts = range(0, len(text), BYTES_PER_TOKEN)
    return json_response({"tokens": [int.from_bytes(text[at : at + BYTES_PER_TOKEN]) for at in starts]})


async def _apply_template(engine: Engine, request: Request) -> Response:
    return json_response({"prompt": render(engine, request.body)})


async def _completion(engine: Engine, request: Request) -> Response:
    """The older endpoint, for reading only: a prompt goes into the cache, and nothing is answered."""
    if request.body.get("n_predict") != 0:
        return refuse(501, "the stand-in answers chats only")
    prompt = str(request.body.get("prompt", ""))
    async with engine.slot(prompt) as slot:
        counts = engine.count(prompt, Scripted(), slot)
    return json_response({"content": "", "stop": True, "tokens_evaluated": counts.prompt})


async def _input_tokens(engine: Engine, request: Request) -> Response:
    count = estimate(render(engine, request.body))
    return json_response({"input_tokens": count, "object": "response.input_tokens"})


async def _chat(engine: Engine, request: Request) -> Response:
    return await chat(engine, request, _window(engine), _SPEECH)


# --- the router ------------------------------------------------------------------------------


async def _router_props(engine: Engine, request: Request) -> Response:
    if request.query.get("model"):
        return await _unready(engine, request.query["model"]) or await _props(engine, request)
    about = engine.behaviour
    nothing = {"params": None, "n_ctx": 0}
    return json_response(
        {
            "role": "router",
            "max_instances": 4,
            "models_autoload": about.autoload,
            "model_alias": "llama-server",
            "model_path": "none",
            "default_generation_settings": nothing,
            "build_info": "b0-standin",
        }
    )


async def _router_models(engine: Engine, request: Request) -> Response:
    return json_response(
        {"data": [_router_entry(engine, name) for name in engine.behaviour.router], "object": "list"}
    )


def _router_entry(engine: Engine, name: str) -> dict[str, Any]:
    state = _state(engine, name)
    status: dict[str, Any] = {"value": state, "args": ["llama-server", "--alias", name]}
    if state == "unloaded" and name in engine.ready_at:
        status |= {"failed": True, "exit_code": 1}
    meta = {"meta": _meta(engine)} if state == "loaded" else {}
    return {**_entry(name), "status": status, **meta}


def _state(engine: Engine, name: str) -> str:
    ready_at = engine.ready_at.get(name)
    if ready_at is None:
        return "unloaded"
    if time.monotonic() < ready_at:
        return "loading"
    return "unloaded" if engine.behaviour.unloadable else "loaded"


async def _router_load(engine: Engine, request: Request) -> Response:
    name = str((request.body or {}).get("model", ""))
    if name not in engine.behaviour.router:
        return refuse(404, "model is not found")
    if _state(engine, name) != "unloaded":
        return refuse(400, "model is already running")
    engine.ready_at[name] = time.monotonic() + engine.behaviour.loading
    return json_response({"success": True})


async def _router_unload(engine: Engine, request: Request) -> Response:
    if engine.ready_at.pop(str((request.body or {}).get("model", "")), None) is None:
        return refuse(400, "model is not running")
    return json_response({"success": True})


async def _unready(engine: Engine, name: str) -> Response | None:
    """The refusal of a model that is not there or not loaded; a first question loads it, if it may."""
    if name not in engine.behaviour.router:
        return refuse(400, f"model '{name}' not found")
    if _state(engine, name) == "unloaded":
        if not engine.behaviour.autoload:
            return refuse(400, "model is not loaded")
        engine.ready_at[name] = time.monotonic() + engine.behaviour.loading
    await asyncio.sleep(max(0.0, engine.ready_at[name] - time.monotonic()))
    return refuse(500, f"model name={name} failed to load") if engine.behaviour.unloadable else None


async def _routed(engine: Engine, request: Request) -> Response:
    """Hand a question on to the model that it names."""
    body = request.body if isinstance(request.body, dict) else {}
    unready = await _unready(engine, str(body.get("model", "")))
    return unready or await _ROUTES[request.method, request.path](engine, request)


_ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/health"): _health,
    ("GET", "/props"): _props,
    ("GET", "/v1/models"): _models,
    ("GET", "/models"): _models,
    ("GET", "/slots"): _slots,
    ("POST", "/tokenize"): _tokenize,
    ("POST", "/apply-template"): _apply_template,
    ("POST", "/completion"): _completion,
    ("POST", "/v1/chat/completions/input_tokens"): _input_tokens,
    **{("POST", path): _chat for path in CHAT_PATHS},
}
_ROUTER: dict[tuple[str, str], Route] = {
    ("GET", "/props"): _router_props,
    ("GET", "/v1/models"): _router_models,
    ("GET", "/models"): _router_models,
    ("POST", "/models/load"): _router_load,
    ("POST", "/models/unload"): _router_unload,
    **{key: _routed for key in _ROUTES if key[0] == "POST"},
}
