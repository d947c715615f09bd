"""The stand-in for Ollama: its native chat over lines of JSON, its silent truncation, and its probes."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from kith.features.demo.standin.engine import (
    Counts,
    Engine,
    Route,
    Scripted,
    estimate,
    make_id,
    render_prompt,
    split_words,
)
from kith.features.demo.standin.http import Request, Response, json_bytes, json_response
from kith.features.demo.standin.llama import overflow_body

CHAT_PATHS = ("/api/chat",)
LOAD_S = 1.5  # loading the model, as reported
LOADED_S = 0.01  # finding it loaded, as reported
PULL_STEPS = 4  # lines of progress of one pull
NUM_KEEP = 4  # tokens that the hard cut leaves at the front

_LINES = "application/x-ndjson"
_WORDS = {
    500: "llama runner process has terminated: exit status 2",
    503: "server busy, please try again.  maximum pending requests exceeded",
}


async def respond(engine: Engine, request: Request) -> Response:
    """Answer one request as Ollama would."""
    route = _ROUTES.get((request.method, request.path))
    if route is None:
        return Response(404, b"404 page not found", "text/plain")
    return await route(engine, request)


def refuse(status: int, words: str) -> Response:
    return json_response({"error": words}, status)


# --- probes ----------------------------------------------------------------------------------


async def _root(engine: Engine, request: Request) -> Response:
    return Response(200, b"Ollama is running", "text/plain; charset=utf-8")


async def _version(engine: Engine, request: Request) -> Response:
    return json_response({"version": "0.20.0"})


async def _tags(engine: Engine, request: Request) -> Response:
    stamp = {"modified_at": _now(), "capabilities": list(engine.behaviour.capabilities)}
    return json_response({"models": [{**_card(name), **stamp} for name in _installed(engine)]})


async def _show(engine: Engine, request: Request) -> Response:
    about = engine.behaviour
    if not _has(engine, request):
        return _not_found(engine, request)
    return json_response(
        {
            "parameters": "temperature                    0.7",
            "template": "{{ .Prompt }}",
            "details": _card(about.model)["details"],
            "model_info": {
                "general.architecture": "qwen2",
                "general.parameter_count": 7_615_616_512,
                "qwen2.context_length": about.trained,
                "qwen2.embedding_length": 3584,
                "qwen2.block_count": 28,
                "qwen2.attention.head_count": 28,
                "qwen2.attention.head_count_kv": 4,
                "qwen2.attention.key_length": 128,
                "qwen2.attention.value_length": 128,
            },
            "capabilities": list(about.capabilities),
            "modified_at": _now(),
        }
    )


async def _ps(engine: Engine, request: Request) -> Response:
    if not engine.runs:
        return json_response({"models": []})
    name, size, _ = engine.runs
    card = _card(name)
    window = {"context_length": size} if engine.behaviour.tells_window else {}
    return json_response({"models": [{**card, "expires_at": _now(), "size_vram": card["size"], **window}]})


def _card(model: str) -> dict[str, Any]:
    name = _full(model)
    details = {"parent_model": "", "format": "gguf", "family": "qwen2", "families": ["qwen2"]}
    return {
        "name": name,
        "model": name,
        "size": 4_683_087_332,
        "digest": make_id(name, length=64),
        "details": {**details, "parameter_size": "7.6B", "quantization_level": "Q4_K_M"},
    }


def _installed(engine: Engine) -> list[str]:
    """The one model it has, and those that were pulled whole."""
    whole = engine.behaviour.pull_size
    pulled = [name for name, size in engine.pulled.items() if size >= whole]
    return list(dict.fromkeys(_full(name) for name in (engine.behaviour.model, *pulled)))


def _full(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def _has(engine: Engine, request: Request) -> bool:
    body = request.body if isinstance(request.body, dict) else {}
    return _full(str(body.get("model", ""))) in _installed(engine)


def _not_found(engine: Engine, request: Request) -> Response:
    name = request.body.get("model", "") if isinstance(request.body, dict) else ""
    return refuse(404, f'model "{name}" not found, try pulling it first')


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


# --- pull ------------------------------------------------------------------------------------


async def _pull(engine: Engine, request: Request) -> Response:
    """Get a model, as lines of progress; what a client that left had got already is not got again."""
    name = str((request.body or {}).get("model") or (request.body or {}).get("name") or "")
    if not name:
        return refuse(400, "invalid model name")
    if not request.body.get("stream", True):
        engine.pulled[name] = engine.behaviour.pull_size
        return json_response({"status": "success"})
    return Response(200, _pulling(engine, name), _LINES)


async def _pulling(engine: Engine, name: str) -> AsyncGenerator[bytes]:
    how, digest = engine.behaviour, make_id(_full(name), length=64)
    yield _line({"status": "pulling manifest"})
    if how.pull_error:
        yield _line({"error": how.pull_error})
        return
    layer = {"status": f"pulling {digest[:12]}", "digest": f"sha256:{digest}", "total": how.pull_size}
    while (got := engine.pulled.get(name, 0)) < how.pull_size:
        yield _line({**layer, "completed": got} if got else layer)
        await asyncio.sleep(how.pause)
        engine.pulled[name] = min(how.pull_size, got + -(-how.pull_size // PULL_STEPS))
    yield _line({**layer, "completed": how.pull_size})
    for status in ("verifying sha256 digest", "writing manifest", "success"):
        yield _line({"status": status})


# --- chat ------------------------------------------------------------------------------------


async def _chat(engine: Engine, request: Request) -> Response:
    if not _has(engine, request):
        return _not_found(engine, request)
    body = request.body
    lacking = _lacking(engine, body)
    if lacking:
        return refuse(400, lacking)
    messages, window = body.get("messages") or [], _window(engine, body)
    if not messages:
        return _load(engine, body, {"message": {"role": "assistant", "content": ""}})
    prompt = render_prompt(messages, body.get("tools"))
    may_cut = body.get("truncate", True) or not engine.behaviour.heeds_truncate
    if estimate(prompt) >= window and may_cut:
        prompt = cut_prompt(messages, body.get("tools"), window)
    if estimate(prompt) >= window:
        # llama-server's own refusal, handed on as text.
        return refuse(400, json_bytes(overflow_body(estimate(prompt), window)).decode())
    reply = engine.answer(request, (body.get("options") or {}).get("num_predict"))
    if reply.error and (reply.error.status != 200 or not body.get("stream", True)):
        return reply.error.response(_error_body)
    return await _generate(engine, body, prompt, reply)


def cut_prompt(messages: list[Mapping[str, Any]], tools: Any, window: int) -> str:
    """Truncate a prompt that is too long, with status 200 and without a warning.

    The oldest messages go first, except the system's and the last. If that is not enough, the middle of
    the text goes, so that about half of the window is filled.
    """
    kept = list(messages)
    while estimate(render_prompt(kept, tools)) >= window:
        oldest = next((at for at, each in enumerate(kept[:-1]) if each.get("role") != "system"), None)
        if oldest is None:
            break
        del kept[oldest]
    text = render_prompt(kept, tools)
    if estimate(text) < window:
        return text
    data, front = text.encode(), NUM_KEEP * 4
    half = (window - (window - NUM_KEEP) // 2) * 4
    return (data[:front] + data[front - half :]).decode("utf-8", "replace")


def _lacking(engine: Engine, body: Mapping[str, Any]) -> str:
    """Return the error for an ability that the model lacks; "" for none."""
    able, name = engine.behaviour.capabilities, body["model"]
    if body.get("tools") and "tools" not in able:
        return f"registry.ollama.ai/library/{_full(name)} does not support tools"
    if body.get("think") and "thinking" not in able:
        return f'"{name}" does not support thinking'
    return ""


def _window(engine: Engine, body: Mapping[str, Any]) -> int:
    about = engine.behaviour
    asked = int((body.get("options") or {}).get("num_ctx") or about.window)
    return min(asked, about.trained, about.ceiling)


def _reload(engine: Engine, body: Mapping[str, Any]) -> float:
    """Load the model if it is not loaded just so, which empties the cache; returns the seconds reported."""
    wanted = (_full(body["model"]), _window(engine, body), body.get("shift", True))
    if engine.runs == wanted:
        return LOADED_S
    engine.runs = wanted
    engine.forget()
    return LOAD_S


async def _generate_nothing(engine: Engine, request: Request) -> Response:
    """The older endpoint, for loading only: its prompts are not played."""
    if not _has(engine, request):
        return _not_found(engine, request)
    if request.body.get("prompt"):
        return refuse(400, "the stand-in answers chats only")
    await asyncio.sleep(engine.behaviour.delay_first_byte)
    return _load(engine, request.body, {"response": ""})


def _load(engine: Engine, body: Mapping[str, Any], nothing: Mapping[str, Any]) -> Response:
    """A request that says nothing loads the model, or unloads it."""
    if body.get("keep_alive") == 0:
        engine.runs, reason = (), "unload"
    else:
        _reload(engine, body)
        reason = "load"
    stamp = {"model": body["model"], "created_at": _now()}
    return json_response({**stamp, **nothing, "done": True, "done_reason": reason})


def _error_body(status: int, words: str) -> dict[str, str]:
    return {"error": words or _WORDS.get(status, "something went wrong")}


async def _generate(engine: Engine, body: Mapping[str, Any], prompt: str, reply: Scripted) -> Response:
    if body.get("stream", True):
        return Response(200, _stream(engine, body, prompt, reply), _LINES)
    async with engine.slot(prompt) as slot:
        load_s = _reload(engine, body)
        await asyncio.sleep(reply.delay)
        counts = engine.count(prompt, reply, slot)
        ending = _ending(body["model"], reply, counts, load_s)
        message = {"role": "assistant", "content": reply.text}
        thinking = {"thinking": reply.thinking} if reply.thinking else {}
        calls = {"tool_calls": _calls(reply, counts)} if reply.calls else {}
        return json_response({**ending, "message": {**message, **thinking, **calls}})


async def _stream(
    engine: Engine, body: Mapping[str, Any], prompt: str, reply: Scripted
) -> AsyncGenerator[bytes]:
    """One JSON object a line: thinking, text, calls, and the counts at the end."""
    async with engine.slot(prompt) as slot:
        load_s = _reload(engine, body)
        counts = engine.count(prompt, reply, slot)
        await asyncio.sleep(reply.delay)
        for message in _messages(reply, counts):
            await asyncio.sleep(engine.behaviour.pause)
            stamp = {"model": body["model"], "created_at": _now()}
            yield _line({**stamp, "message": {"role": "assistant", **message}, "done": False})
        if reply.error:
            yield _line(reply.error.told(_error_body, 500))
        else:
            yield _line(_ending(body["model"], reply, counts, load_s))


def _messages(reply: Scripted, counts: Counts) -> Iterator[dict[str, Any]]:
    yield from ({"content": "", "thinking": piece} for piece in split_words(reply.thinking))
    yield from ({"content": piece} for piece in split_words(reply.text))
    # Calls come whole, one a line; one that the token limit cut does not come at all.
    yield from ({"content": "", "tool_calls": [call]} for call in _calls(reply, counts))


def _calls(reply: Scripted, counts: Counts) -> list[dict[str, Any]]:
    whole = reply.calls[:-1] if reply.stop == "length" else reply.calls
    # Arguments that are text are no JSON: some versions hand them on as they are.
    return [
        {
            "id": "call_" + make_id(counts.number, index, length=8),
            "function": {"index": index, "name": name, "arguments": args},
        }
        for index, (name, args) in enumerate(whole)
    ]


def _ending(model: str, reply: Scripted, counts: Counts, load_s: float) -> dict[str, Any]:
    """The last object, in nanoseconds; the prompt's count includes what was cached, its time does not."""
    return {
        "model": model,
        "created_at": _now(),
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": "length" if reply.stop == "length" else "stop",
        "total_duration": round((load_s + counts.prefill_s + counts.decode_s) * 1e9),
        "load_duration": round(load_s * 1e9),
        "prompt_eval_count": counts.prompt,
        "prompt_eval_duration": round(counts.prefill_s * 1e9),
        "eval_count": counts.output,
        "eval_duration": round(counts.decode_s * 1e9),
    }


def _line(value: Any) -> bytes:
    return json_bytes(value) + b"\n"


_ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/"): _root,
    ("HEAD", "/"): _root,
    ("GET", "/api/version"): _version,
    ("GET", "/api/tags"): _tags,
    ("GET", "/api/ps"): _ps,
    ("POST", "/api/show"): _show,
    ("POST", "/api/pull"): _pull,
    ("POST", "/api/generate"): _generate_nothing,
    **{("POST", path): _chat for path in CHAT_PATHS},
}
