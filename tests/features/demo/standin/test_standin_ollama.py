"""The stand-in for Ollama: its format, its silent truncation, its refusals, its probes."""

import json
from typing import Any

import pytest

from kith.features.demo.standin import Server
from kith.features.demo.standin.engine import OPENING, estimate, render_message
from standin_client import HI, OLLAMA, READ_CALL, Client, chat, lines, visit


def test_ollama_streams_lines_of_json() -> None:
    script = [{"thinking": "let me", "text": "I read it.", "calls": [READ_CALL]}]
    response = chat(script, "ollama")
    assert response.headers["content-type"] == "application/x-ndjson"
    *pieces, last = lines(response)
    assert all(list(piece) == ["model", "created_at", "message", "done"] for piece in pieces)
    messages = [piece["message"] for piece in pieces]
    assert messages[:2] == [
        {"role": "assistant", "content": "", "thinking": "let"},
        {"role": "assistant", "content": "", "thinking": " me"},
    ]
    assert "".join(message["content"] for message in messages) == "I read it."
    (call,) = messages[-1]["tool_calls"]
    assert call["function"] == {"index": 0, "name": "read_file", "arguments": READ_CALL["args"]}
    assert (last["done"], last["done_reason"], last["message"]["content"]) == (True, "stop", "")


def test_ollama_counts_nanoseconds_and_hides_the_cache() -> None:
    async def talk(client: Client, server: Server) -> list[dict[str, Any]]:
        body = {"model": "standin", "messages": HI, "stream": False}
        return [(await client.post(OLLAMA, json=body)).json() for _ in range(2)]

    first, second = visit(["one", "one"], talk)
    assert first["message"] == {"role": "assistant", "content": "one"}
    assert first["prompt_eval_count"] == second["prompt_eval_count"] > 1
    # One token is always computed again: a thousand tokens take a second.
    assert second["prompt_eval_duration"] == 1_000_000 < first["prompt_eval_duration"]
    assert first["load_duration"] > 1_000_000_000 > second["load_duration"]
    parts = ("load_duration", "prompt_eval_duration", "eval_duration")
    assert first["total_duration"] == sum(first[part] for part in parts)


def test_ollama_loads_anew_when_the_window_changes() -> None:
    async def talk(client: Client, server: Server) -> None:
        assert (await client.get("/api/ps")).json() == {"models": []}
        for window, shift in ((4096, False), (4096, True), (2048, True)):
            body = {"model": "standin:latest", "messages": HI, "shift": shift, "options": {"num_ctx": window}}
            last = lines(await client.post(OLLAMA, json=body))[-1]
            assert last["load_duration"] > 1_000_000_000
            assert last["prompt_eval_duration"] > 1_000_000  # nothing was cached
            (running,) = (await client.get("/api/ps")).json()["models"]
            assert running["context_length"] == window

    visit(["one", "two", "three"], talk)


def test_ollama_runs_no_more_than_its_machine_can() -> None:
    async def talk(client: Client, server: Server) -> int:
        await client.post(OLLAMA, json={"model": "standin", "options": {"num_ctx": 16_384}})
        (running,) = (await client.get("/api/ps")).json()["models"]
        return int(running["context_length"])

    assert visit([], talk, ceiling=4096) == 4096


def test_ollama_cuts_a_long_prompt_and_says_nothing() -> None:
    long = [{"role": "user", "content": "word " * 2000} for _ in range(3)]
    last = lines(chat(["ok"], "ollama", {"messages": long}, window=3000))[-1]
    assert last["prompt_eval_count"] == estimate(render_message(long[0]) + OPENING)
    last = lines(chat(["ok"], "ollama", {"messages": long}, window=1000))[-1]
    assert last["prompt_eval_count"] == 1000 - (1000 - 4) // 2


def test_ollama_refuses_a_long_prompt_when_it_may_not_cut() -> None:
    body = {"messages": [{"role": "user", "content": "word " * 2000}], "truncate": False}
    response = chat(["never"], "ollama", body, window=1000)
    assert response.status_code == 400
    inner = json.loads(response.json()["error"])["error"]
    assert (inner["type"], inner["n_ctx"]) == ("exceed_context_size_error", 1000)
    assert inner["n_prompt_tokens"] > 2000


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"model": "q"}, 404, 'model "q" not found, try pulling it first'),
        ({"tools": [{}]}, 400, "registry.ollama.ai/library/standin:latest does not support tools"),
        ({"think": True}, 400, '"standin" does not support thinking'),
    ],
)
def test_ollama_refuses_in_its_own_words(body: dict[str, Any], status: int, words: str) -> None:
    response = chat(["never"], "ollama", body, capabilities=("completion",))
    assert (response.status_code, response.json()) == (status, {"error": words})


def test_ollama_answers_its_probes() -> None:
    async def talk(client: Client, server: Server) -> None:
        assert (await client.get("/")).text == "Ollama is running"
        assert (await client.get("/api/version")).json()["version"]
        (row,) = (await client.get("/api/tags")).json()["models"]
        assert (row["name"], row["details"]["quantization_level"]) == ("coder:7b", "Q4_K_M")
        shown = (await client.post("/api/show", json={"model": "coder:7b"})).json()
        assert shown["model_info"]["qwen2.context_length"] == 4096
        assert shown["model_info"]["qwen2.attention.head_count_kv"] == 4
        assert shown["capabilities"] == ["completion", "tools", "thinking"]
        assert (await client.post("/api/show", json={"model": "q"})).status_code == 404
        loaded = await client.post(OLLAMA, json={"model": "coder:7b"})
        assert loaded.json()["done_reason"] == "load"
        assert (await client.get("/props")).status_code == 404

    visit([], talk, model="coder:7b", trained=4096)


def test_an_old_ollama_cuts_even_when_it_may_not() -> None:
    body = {"messages": [{"role": "user", "content": "word " * 2000}], "truncate": False, "shift": False}
    last = lines(chat(["ok"], "ollama", body, window=1000, heeds_truncate=False))[-1]
    assert last["prompt_eval_count"] == 1000 - (1000 - 4) // 2


def test_an_old_ollama_does_not_tell_its_window() -> None:
    async def talk(client: Client, server: Server) -> dict[str, Any]:
        await client.post(OLLAMA, json={"model": "standin"})
        (running,) = (await client.get("/api/ps")).json()["models"]
        return dict(running)

    assert "context_length" not in visit([], talk, tells_window=False)


def test_a_request_for_one_token_takes_no_reply_from_the_script() -> None:
    async def talk(client: Client, server: Server) -> list[dict[str, Any]]:
        body: dict[str, Any] = {"model": "standin", "messages": HI, "stream": False}
        warm = await client.post(OLLAMA, json={**body, "options": {"num_predict": 1}})
        return [warm.json(), (await client.post(OLLAMA, json=body)).json()]

    warm, real = visit(["hello"], talk)
    assert (warm["message"]["content"], warm["done_reason"]) == ("", "length")
    assert real["message"]["content"] == "hello"
    assert real["prompt_eval_duration"] == 1_000_000  # all but one token were there


def pulled(response: Any) -> list[Any]:
    return [(each.get("status", each.get("error")), each.get("completed")) for each in lines(response)]


def test_ollama_pulls_with_progress_and_has_the_model_then() -> None:
    async def talk(client: Client, server: Server) -> list[Any]:
        said = pulled(await client.post("/api/pull", json={"model": "coder:7b"}))
        (_, row) = (await client.get("/api/tags")).json()["models"]
        loaded = await client.post(OLLAMA, json={"model": "coder:7b"})
        assert row["name"] == "coder:7b" and loaded.json()["done_reason"] == "load"
        return said

    first, *layer, whole, verify, write, done = visit([], talk, pull_size=1000)
    assert (first, verify[0], write[0], done[0]) == (
        ("pulling manifest", None),
        "verifying sha256 digest",
        "writing manifest",
        "success",
    )
    assert [completed for _, completed in (*layer, whole)] == [None, 250, 500, 750, 1000]
    assert len({status for status, _ in (*layer, whole)}) == 1


def test_a_pull_that_was_left_goes_on_where_it_was() -> None:
    async def talk(client: Client, server: Server) -> list[Any]:
        body = {"model": "coder:7b", "stream": True}
        async with client.stream("POST", "/api/pull", json=body) as response:
            heard = response.aiter_lines()
            for _ in range(3):
                await anext(heard)
        await server.disconnected.wait()
        return pulled(await client.post("/api/pull", json=body))

    assert visit([], talk, pull_size=1000, pause=0.03)[1][1] == 250


def test_a_pull_may_fail_under_200() -> None:
    async def talk(client: Client, server: Server) -> list[Any]:
        return pulled(await client.post("/api/pull", json={"model": "nope"}))

    words = "pull model manifest: file does not exist"
    assert visit([], talk, pull_error=words) == [("pulling manifest", None), (words, None)]
