"""The stand-in for llama-server: its format, its refusals, its patience, its probes."""

import asyncio
import json

import pytest

from kith.features.demo.standin import Server
from standin_client import HI, LLAMA, READ_CALL, Client, chat, events, lines, visit


def test_llama_server_streams_events_in_its_order() -> None:
    body = {"stream": True, "return_progress": True, "stream_options": {"include_usage": True}}
    response = chat([{"thinking": "let me", "text": "I am done."}], "llama-server", body)
    assert response.headers["content-type"] == "text/event-stream"
    chunks = events(response)
    assert [list(chunk)[6:] for chunk in chunks[:2]] == [["prompt_progress"]] * 2
    total = chunks[0]["prompt_progress"]["total"]
    assert chunks[0]["prompt_progress"] == {"total": total, "cache": 0, "processed": 0, "time_ms": 0}
    assert chunks[1]["prompt_progress"]["processed"] == total
    opening = {"finish_reason": None, "index": 0, "delta": {"role": "assistant", "content": None}}
    assert [chunk["choices"] for chunk in chunks[:3]] == [[opening]] * 3
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[3:-2]]
    assert deltas[:2] == [{"reasoning_content": "let"}, {"reasoning_content": " me"}]
    assert "".join(delta.get("content", "") for delta in deltas) == "I am done."
    assert chunks[-2]["choices"] == [{"finish_reason": "stop", "index": 0, "delta": {}}]
    assert "timings" not in chunks[-2]
    last = chunks[-1]
    assert last["choices"] == []
    assert last["usage"]["prompt_tokens"] == last["timings"]["prompt_n"] == total
    assert last["usage"]["completion_tokens"] == last["timings"]["predicted_n"]
    assert len({chunk["id"] for chunk in chunks}) == 1


def test_llama_server_puts_timings_on_the_last_chunk() -> None:
    last = events(chat(["ok"], "llama-server", {"stream": True}))[-1]
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["timings"]["cache_n"] == 0 and "usage" not in last


def test_llama_server_sends_calls_in_pieces() -> None:
    script = [{"calls": [READ_CALL, {"name": "list", "args": {}}]}]
    chunks = events(chat(script, "llama-server", {"stream": True}))
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    pieces = [piece for chunk in chunks for piece in chunk["choices"][0]["delta"].get("tool_calls", ())]
    first, *rest = [piece for piece in pieces if piece["index"] == 0]
    assert list(first) == ["index", "id", "type", "function"] and first["function"]["arguments"] == "{"
    assert rest and all(list(piece) == ["index", "function"] for piece in rest)
    text = "".join(piece["function"]["arguments"] for piece in (first, *rest))
    assert json.loads(text) == READ_CALL["args"]
    assert len({piece["id"] for piece in pieces if "id" in piece}) == 2


@pytest.mark.parametrize("stream", [False, True])
def test_llama_server_cuts_a_call_at_the_token_limit(stream: bool) -> None:
    response = chat([{"calls": [READ_CALL], "stop": "length"}], "llama-server", {"stream": stream})
    choices = [chunk["choices"][0] for chunk in (events(response) if stream else [response.json()])]
    assert choices[-1]["finish_reason"] == "length"
    said = [choice.get("delta") or choice.get("message") or {} for choice in choices]
    pieces = [piece for each in said for piece in each.get("tool_calls", ())]
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads("".join(piece["function"]["arguments"] for piece in pieces))


def test_llama_server_answers_whole_when_it_may_not_stream() -> None:
    whole = chat([{"thinking": "hm", "text": "ok", "calls": [READ_CALL]}], "llama-server").json()
    (choice,) = whole["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert (choice["message"]["content"], choice["message"]["reasoning_content"]) == ("ok", "hm")
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == READ_CALL["args"]
    assert whole["usage"]["total_tokens"] == sum(whole["timings"][key] for key in ("prompt_n", "predicted_n"))


def test_llama_server_refuses_a_long_prompt() -> None:
    body = {"messages": [{"role": "user", "content": "word " * 2000}], "stream": True}
    response = chat(["never"], "llama-server", body, window=1000)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["type"] == "exceed_context_size_error"
    assert error["message"] == (
        f"request ({error['n_prompt_tokens']} tokens) exceeds the available context size (1000 tokens), "
        "try increasing it"
    )


def test_llama_server_chokes_on_a_broken_call_in_the_history() -> None:
    broken = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"a":'}}]}
    response = chat(["never"], "llama-server", {"messages": [*HI, broken]})
    assert response.status_code == 500
    assert response.json()["error"]["message"].startswith("Failed to parse tool call arguments as JSON")


def test_llama_server_fails_before_or_inside_a_stream() -> None:
    before = chat([{"error": {"status": 500}}], "llama-server", {"stream": True})
    assert (before.status_code, before.json()["error"]["type"]) == (500, "server_error")
    assert before.json()["error"]["message"].endswith("the expected peg-native format")
    inside = chat([{"text": "I am", "error": {"status": 200}}], "llama-server", {"stream": True})
    *said, error, rest = inside.text.split("\n\n")
    assert (inside.status_code, rest, len(said)) == (200, "", 3)
    assert json.loads(error.removeprefix("data: ")) == before.json()
    last = lines(chat([{"text": "I am", "error": {"status": 200, "text": "boom"}}], "ollama"))[-1]
    assert last == {"error": "boom"}


def test_llama_server_loads_for_a_while() -> None:
    async def talk(client: Client, server: Server) -> None:
        early = await client.get("/health")
        words = {"code": 503, "message": "Loading model", "type": "unavailable_error"}
        assert (early.status_code, early.json()) == (503, {"error": words})
        while (late := await client.get("/health")).status_code == 503:
            await asyncio.sleep(0.02)
        assert late.json() == {"status": "ok"}

    visit([], talk, "llama-server", loading=1.0)


def test_llama_server_answers_its_probes() -> None:
    async def talk(client: Client, server: Server) -> None:
        props = (await client.get("/props")).json()
        assert (props["default_generation_settings"]["n_ctx"], props["total_slots"]) == (1234, 1)
        (row,) = (await client.get("/v1/models")).json()["data"]
        assert (row["id"], row["meta"]["n_ctx"], row["meta"]["n_ctx_train"]) == ("standin", 1234, 32_768)
        assert len((await client.post("/tokenize", json={"content": "12345678"})).json()["tokens"]) == 2
        counted = (await client.post(f"{LLAMA}/input_tokens", json={"messages": HI})).json()
        spent = (await client.post(LLAMA, json={"messages": HI})).json()["usage"]["prompt_tokens"]
        assert counted == {"input_tokens": spent, "object": "response.input_tokens"}
        assert (await client.get("/nope")).json()["error"]["type"] == "not_found_error"
        assert server.visits[:2] == ["GET /props", "GET /v1/models"]
        assert len(server.requests) == 1

    visit(["ok"], talk, "llama-server", window=1234)


def test_llama_server_pings_while_it_reads() -> None:
    response = chat([{"text": "ok", "delay": 0.2}], "llama-server", {"stream": True}, ping=0.05)
    assert response.text.startswith(":\n\n:\n\n")
    assert events(response)[-1]["timings"]["prompt_ms"] >= 200


# --- slots -----------------------------------------------------------------------------------


def test_slots_share_the_window_and_work_at_once() -> None:
    async def talk(client: Client, server: Server) -> None:
        props = (await client.get("/props")).json()
        assert (props["total_slots"], props["default_generation_settings"]["n_ctx"]) == (2, 2048)
        chats = [asyncio.create_task(client.post(LLAMA, json={"messages": HI})) for _ in range(2)]
        both = [(0, 2048, True), (1, 2048, True)]
        async with asyncio.timeout(60):
            while await slots(client) != both:
                await asyncio.sleep(0.01)
        for each in chats:
            each.cancel()

    async def slots(client: Client) -> list[tuple[int, int, bool]]:
        rows = (await client.get("/slots")).json()
        return [(row["id"], row["n_ctx"], row["is_processing"]) for row in rows]

    visit([{"text": "ok", "delay": 600}] * 2, talk, "llama-server", slots=2, window=4096)


def test_each_slot_has_a_cache_and_a_conversation_finds_its_own() -> None:
    async def talk(client: Client, server: Server) -> list[int]:
        cached = []
        for said in ("one " * 50, "two " * 50) * 2:
            body = {"messages": [{"role": "user", "content": said}]}
            cached.append((await client.post(LLAMA, json=body)).json()["timings"]["cache_n"])
        return cached

    two = visit(["ok"] * 4, talk, "llama-server", slots=2)
    one = visit(["ok"] * 4, talk, "llama-server")
    assert two[2] > 40 < two[3] and max(one) < 10


# --- templates -------------------------------------------------------------------------------


def test_a_template_may_drop_old_thinking() -> None:
    async def talk(client: Client, server: Server) -> str:
        thought = {"role": "assistant", "content": "b", "reasoning_content": "hm"}
        rendered = await client.post("/apply-template", json={"messages": [*HI, thought, *HI]})
        return str(rendered.json()["prompt"])

    assert "<think>hm</think>" in visit([], talk, "llama-server")
    assert "hm" not in visit([], talk, "llama-server", keeps_thinking=False)


# --- the router ------------------------------------------------------------------------------


def test_a_router_lists_loads_and_forgets_its_models() -> None:
    async def talk(client: Client, server: Server) -> None:
        props = (await client.get("/props")).json()
        assert (props["role"], props["default_generation_settings"]["n_ctx"]) == ("router", 0)

        async def states() -> list[str]:
            rows = (await client.get("/models")).json()["data"]
            assert [row["id"] for row in rows] == ["a", "b"]
            return [row["status"]["value"] for row in rows]

        assert await states() == ["unloaded", "unloaded"]
        assert (await client.post("/models/load", json={"model": "a"})).json() == {"success": True}
        assert await states() == ["loading", "unloaded"]
        again = await client.post("/models/load", json={"model": "a"})
        assert again.json()["error"]["message"] == "model is already running"
        answer = (await client.post(LLAMA, json={"model": "a", "messages": HI})).json()
        assert (answer["model"], await states()) == ("a", ["loaded", "unloaded"])
        assert (await client.get("/props?model=a")).json()["model_path"] == "/models/a.gguf"
        await client.post("/models/unload", json={"model": "a"})
        assert await states() == ["unloaded", "unloaded"]

    visit(["hi"], talk, "llama-server", router=("a", "b"), loading=1.0)


def test_a_router_refuses_what_it_lacks_or_may_not_load() -> None:
    async def talk(client: Client, server: Server) -> list[str]:
        answers = [await client.post(LLAMA, json={"model": name, "messages": HI}) for name in ("a", "nope")]
        assert [answer.status_code for answer in answers] == [400, 400]
        return [str(answer.json()["error"]["message"]) for answer in answers]

    words = visit([], talk, "llama-server", router=("a",), autoload=False)
    assert words == ["model is not loaded", "model 'nope' not found"]


def test_a_router_may_fail_to_load() -> None:
    async def talk(client: Client, server: Server) -> None:
        await client.post("/models/load", json={"model": "a"})
        (row,) = (await client.get("/models")).json()["data"]
        assert row["status"] | {"args": []} == {
            "value": "unloaded",
            "args": [],
            "failed": True,
            "exit_code": 1,
        }

    visit([], talk, "llama-server", router=("a",), unloadable=True)
