"""The stand-in servers: their cache, their script, their bad days, and the command."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.features.demo.standin import Server
from kith.features.demo.standin.engine import (
    OPENING,
    Behaviour,
    Engine,
    Scripted,
    estimate,
    load_script,
    read_reply,
)
from kith.features.demo.standin.http import Request
from kith.features.demo.standin.server import _behaviour, _parser
from standin_client import HI, LLAMA, OLLAMA, Client, chat, visit

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
            await client.get("/api/version", timeout=httpx2.Timeout(60, read=0.1))

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
            pieces = response.aiter_raw()
            await anext(pieces)
            assert (await client.get("/slots")).json()[0]["is_processing"]
            assert not server.disconnected.is_set()
        await asyncio.wait_for(server.disconnected.wait(), 60)
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


@pytest.mark.parametrize(
    ("cut", "error"),
    [("close", httpx2.RemoteProtocolError), ("reset", httpx2.ReadError), ("hang", httpx2.ReadTimeout)],
)
def test_an_answer_may_break_off_in_several_ways(cut: str, error: type[Exception]) -> None:
    async def talk(client: Client, server: Server) -> int:
        heard = 0
        with pytest.raises(error):
            async with client.stream(
                "POST", LLAMA, json={"messages": HI, "stream": True}, timeout=httpx2.Timeout(60, read=0.2)
            ) as response:
                async for piece in response.aiter_raw():
                    heard += len(piece)
        return heard

    assert visit(["one two three"], talk, "llama-server", cut_after=300, cut=cut) in (300, 0)


def test_a_stream_may_end_as_if_all_were_said() -> None:
    response = chat(["one two three"], "ollama", cut="end", cut_after=100)
    assert (response.status_code, len(response.content)) == (200, 100)


def test_a_stream_may_come_in_pieces_of_any_size() -> None:
    async def talk(client: Client, server: Server) -> list[bytes]:
        body = {"model": "standin", "messages": HI}
        async with client.stream("POST", OLLAMA, json=body) as response:
            return [piece async for piece in response.aiter_bytes()]

    pieces = visit(["ä" * 50], talk, chunk=7)
    assert max(len(piece) for piece in pieces) == 7
    with pytest.raises(UnicodeDecodeError):
        [piece.decode() for piece in pieces]


def test_broken_arguments_are_sent_as_they_are() -> None:
    script = [{"calls": [{"name": "f", "raw": "{broken"}]}]
    message = chat(script, "llama-server").json()["choices"][0]["message"]
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": "{broken"}
    call = json.loads(chat(script, "ollama").text.splitlines()[0])["message"]["tool_calls"][0]
    assert call["function"]["arguments"] == "{broken"


# --- the command line ------------------------------------------------------------------------


@contextmanager
def started(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A stand-in in a process of its own."""
    command = [sys.executable, "-m", "kith.features.demo.standin", *arguments]
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
        with httpx2.Client(trust_env=False, verify=False) as client:
            answer = client.post(url + LLAMA, json={"messages": HI}).json()
        assert answer["choices"][0]["message"]["content"] == "ok"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert json.loads(log.read_text()) == {"path": LLAMA, "body": {"messages": HI}}


def test_flags_set_its_behaviour() -> None:
    given = ["--script", "x", "--ignore-truncate", "--router", "a,b", "--slots", "2", "--cut", "reset"]
    how = Behaviour(**_behaviour(_parser().parse_args(given)))
    assert (how.heeds_truncate, how.router, how.slots, how.cut) == (False, ("a", "b"), 2, "reset")
    assert Behaviour(**_behaviour(_parser().parse_args(["--script", "x"]))) == Behaviour()
