"""The stand-in servers: the real servers' formats, their errors, their cache, and their bad days."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.models.standin import Server, serve
from kith.models.standin_engine import Behaviour, Engine
from kith.models.standin_http import Request
from kith.models.standin_script import Scripted, load_script, read_reply
from kith.models.standin_tokens import OPENING, estimate, render_message

OLLAMA, LLAMA = "/api/chat", "/v1/chat/completions"
HI = [{"role": "user", "content": "hi"}]
READ_CALL = {"name": "read_file", "args": {"path": "sub/ä.py", "line": 3}}

Client = httpx2.AsyncClient
T = TypeVar("T")


def visit(script: Any, talk: Callable[[Client, Server], Awaitable[T]], *args: Any, **behaviour: Any) -> T:
    """Talk to a stand-in that runs only so long."""

    async def run() -> T:
        async with (
            serve(script, *args, **behaviour) as server,
            httpx2.AsyncClient(base_url=server.url, trust_env=False, timeout=10) as client,
        ):
            return await talk(client, server)

    return asyncio.run(run())


def chat(script: Any, dialect: str, body: dict[str, Any] | None = None, **behaviour: Any) -> httpx2.Response:
    """The answer to one chat."""
    path = OLLAMA if dialect == "ollama" else LLAMA

    async def talk(client: Client, server: Server) -> httpx2.Response:
        return await client.post(path, json={"model": "standin", "messages": HI, **(body or {})})

    return visit(script, talk, dialect, **behaviour)


def lines(response: httpx2.Response) -> list[dict[str, Any]]:
    """The objects of an NDJSON answer."""
    return [json.loads(line) for line in response.text.splitlines()]


def events(response: httpx2.Response) -> list[dict[str, Any]]:
    """The objects of an event stream, which must end with [DONE]."""
    *blocks, done, rest = response.text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    return [json.loads(block.removeprefix("data: ")) for block in blocks if not block.startswith(":")]


# --- Ollama ----------------------------------------------------------------------------------


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
        assert shown["capabilities"] == ["completion", "tools", "thinking"]
        assert (await client.post("/api/show", json={"model": "q"})).status_code == 404
        loaded = await client.post(OLLAMA, json={"model": "coder:7b"})
        assert loaded.json()["done_reason"] == "load"
        assert (await client.get("/props")).status_code == 404

    visit([], talk, model="coder:7b", trained=4096)


# --- llama-server ----------------------------------------------------------------------------


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
    lines_ = lines(chat([{"text": "I am", "error": {"status": 200, "text": "boom"}}], "ollama"))
    assert lines_[-1] == {"error": "boom"}


def test_llama_server_loads_for_a_while() -> None:
    async def talk(client: Client, server: Server) -> None:
        early = await client.get("/health")
        words = {"code": 503, "message": "Loading model", "type": "unavailable_error"}
        assert (early.status_code, early.json()) == (503, {"error": words})
        while (late := await client.get("/health")).status_code == 503:
            await asyncio.sleep(0.02)
        assert late.json() == {"status": "ok"}

    visit([], talk, "llama-server", loading=0.1)


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


# --- the cache -------------------------------------------------------------------------------


def test_only_what_was_appended_is_computed() -> None:
    async def talk(client: Client, server: Server) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief. " * 50}, *HI]
        timings = []
        for turn in range(4):
            if turn == 3:
                messages[0] = {"role": "system", "content": "It is noon. " + messages[0]["content"]}
            answer = (await client.post(LLAMA, json={"messages": messages})).json()
            timings.append(answer["timings"])
            messages += [answer["choices"][0]["message"], {"role": "user", "content": f"go on {turn}"}]
        return timings

    call = {"name": "f", "args": {"a": [1, "ä"]}}
    first, second, third, changed = visit([{"text": "done", "calls": [call]}] * 4, talk, "llama-server")
    for former, later in ((first, second), (second, third)):
        former_total = former["cache_n"] + former["prompt_n"] + former["predicted_n"]
        assert abs(later["cache_n"] - former_total) <= 2
        assert later["prompt_n"] < 20
    assert changed["cache_n"] < 10 < 100 < changed["prompt_n"]


@given(st.lists(st.text(), min_size=2, max_size=6))
def test_counts_add_up(prompts: list[str]) -> None:
    engine = Engine([], Behaviour())
    for prompt in (OPENING + each for each in prompts):
        counts = engine.count(prompt, Scripted("ok"))
        assert counts.prompt == estimate(prompt) == counts.cached + counts.new
        assert counts.new >= 1
        assert engine.count(prompt, Scripted("ok")).new == 1


# --- the script ------------------------------------------------------------------------------


def test_a_function_answers_what_it_is_asked() -> None:
    def echo(request: Request) -> str:
        return f"you said {request['messages'][-1]['content']}"

    assert chat(echo, "llama-server").json()["choices"][0]["message"]["content"] == "you said hi"


def test_a_function_that_fails_fails_the_block() -> None:
    def refuse(request: Request) -> str:
        raise AssertionError("not what I expected")

    with pytest.raises(AssertionError, match="not what I expected"):
        chat(refuse, "ollama")


@pytest.mark.parametrize("dialect", ["ollama", "llama-server"])
def test_the_end_of_the_script_is_an_error(dialect: str) -> None:
    response = chat([], dialect)
    assert response.status_code == 500
    assert "no more replies" in response.text


def test_a_reply_may_expect_something() -> None:
    assert chat([{"text": "ok", "expect": "^h"}], "ollama").status_code == 200
    response = chat([{"text": "ok", "expect": "bye"}], "ollama")
    assert response.json() == {"error": "the script expects 'bye', but got 'hi'"}


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        ("broken", 500, "broken"),
        ({"text": "busy", "retryable": True, "after_s": 2}, 503, "busy"),
        ({"overflow": True}, 400, "exceeds the available context size"),
        ({"status": 529, "body": {"error": "overloaded"}}, 529, "overloaded"),
    ],
)
def test_errors_may_be_given_in_several_ways(error: Any, status: int, words: str) -> None:
    response = chat([{"error": error}], "ollama")
    assert (response.status_code, words in response.json()["error"]) == (status, True)
    assert response.headers.get("retry-after") == ("2" if status == 503 else None)


def test_usage_may_be_told() -> None:
    usage = {"input": 900, "output": 7, "cached": 800}
    timings = chat([{"text": "ok", "usage": usage}], "llama-server").json()["timings"]
    assert [timings[key] for key in ("cache_n", "prompt_n", "predicted_n")] == [800, 100, 7]


def test_a_slip_in_a_script_is_found() -> None:
    with pytest.raises(ValueError, match="has no tekst"):
        read_reply({"tekst": "hi"})


def test_scripts_come_from_files(tmp_path: Path) -> None:
    replies = [{"text": "one"}, {"text": "two"}]
    for name, text in {
        "a.json": json.dumps(replies),
        "b.json": json.dumps({"replies": replies}),
        "c.jsonl": "".join(json.dumps(reply) + "\n" for reply in replies),
    }.items():
        (tmp_path / name).write_text(text)
        assert load_script(tmp_path / name) == replies


# --- bad days --------------------------------------------------------------------------------


def test_requests_are_kept_byte_for_byte() -> None:
    async def talk(client: Client, server: Server) -> list[Request]:
        for raw in (
            b'{"messages": [], "model":"standin"}',
            b'{"messages":[],  "model":"standin"}',
            b"not JSON",
        ):
            await client.post(OLLAMA, content=raw, headers={"x-extra": "1"})
        return server.requests

    first, second, third = visit([], talk)
    assert first.body == second.body and first.raw != second.raw
    assert (third.raw, third.body, third.headers["x-extra"]) == (b"not JSON", None, "1")


def test_the_first_requests_may_fail() -> None:
    async def talk(client: Client, server: Server) -> None:
        body = {"model": "standin", "messages": HI, "stream": False}
        for _ in range(2):
            early = await client.post(OLLAMA, json=body)
            assert (early.status_code, early.headers["retry-after"], early.text) == (429, "7", "slow down")
        assert (await client.post(OLLAMA, json=body)).json()["message"]["content"] == "ok"

    visit(["ok"], talk, fail_first=(429, {"Retry-After": "7"}, "slow down", 2))


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_may_be_cut(stream: bool) -> None:
    async def talk(client: Client, server: Server) -> bytes:
        assert (await client.get("/props")).json()  # only chats are cut
        heard = b""
        with pytest.raises(httpx2.RemoteProtocolError):
            async with client.stream("POST", LLAMA, json={"messages": HI, "stream": stream}) as response:
                async for piece in response.aiter_raw():
                    heard += piece
        return heard

    assert len(visit(["one two three"], talk, "llama-server", cut_after=100)) == 100


def test_a_web_page_is_no_model() -> None:
    response = chat(["never"], "ollama", html=True)
    assert response.headers["content-type"].startswith("text/html") and "<html>" in response.text


def test_silence_lasts() -> None:
    async def talk(client: Client, server: Server) -> None:
        with pytest.raises(httpx2.ReadTimeout):
            await client.get("/api/version", timeout=0.1)

    visit([], talk, silent=True)


def test_a_delay_is_before_the_first_byte_and_a_pause_between_pieces() -> None:
    began = time.monotonic()
    chat(["one"], "ollama", delay_first_byte=0.15)
    assert time.monotonic() - began >= 0.15
    began = time.monotonic()
    chat(["one two three"], "ollama", pause=0.05)
    assert time.monotonic() - began >= 0.15


def test_a_client_that_leaves_is_noticed_and_frees_the_slot() -> None:
    async def talk(client: Client, server: Server) -> None:
        async with client.stream("POST", LLAMA, json={"messages": HI, "stream": True}) as response:
            await anext(response.aiter_raw())
            assert (await client.get("/slots")).json()[0]["is_processing"]
            assert not server.disconnected.is_set()
        await asyncio.wait_for(server.disconnected.wait(), 2)
        assert not (await client.get("/slots")).json()[0]["is_processing"]

    visit([{"text": "word " * 1000}], talk, "llama-server", pause=0.05)


def test_a_client_that_stays_is_not_missed() -> None:
    async def talk(client: Client, server: Server) -> bool:
        await client.post(OLLAMA, json={"model": "standin", "messages": HI})
        return server.disconnected.is_set()

    assert visit(["ok"], talk) is False


def test_one_slot_serves_one_chat_at_a_time() -> None:
    async def talk(client: Client, server: Server) -> float:
        began = time.monotonic()
        body = {"model": "standin", "messages": HI}
        await asyncio.gather(*(client.post(OLLAMA, json=body) for _ in range(3)))
        return time.monotonic() - began

    assert visit([{"text": "ok", "delay": 0.08}] * 3, talk) >= 0.24


# --- the command line ------------------------------------------------------------------------


@contextmanager
def started(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A stand-in in a process of its own."""
    command = [sys.executable, "-m", "kith.models.standin", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def test_it_runs_as_a_command(tmp_path: Path) -> None:
    script, log = tmp_path / "script.json", tmp_path / "log.jsonl"
    script.write_text(json.dumps([{"text": "ok"}]))
    with started("--dialect", "llama-server", "--script", str(script), "--log", str(log)) as (url, process):
        assert url.startswith("http://127.0.0.1:")
        with httpx2.Client(trust_env=False) as client:
            answer = client.post(url + LLAMA, json={"messages": HI}).json()
        assert answer["choices"][0]["message"]["content"] == "ok"
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
    assert json.loads(log.read_text()) == {"path": LLAMA, "body": {"messages": HI}}
