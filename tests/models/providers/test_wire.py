"""Streams cut anywhere, refusals in words, addresses, patience, and leaving early."""

import asyncio
import itertools
import json
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.errors import ModelError, NoModelError, UsageError
from kith.core.events import Event
from kith.core.model import Prompt
from kith.core.values import say
from kith.features.demo.standin import serve
from kith.models.providers.faults import (
    IN_STREAM,
    GarbledReplyError,
    MissingModelError,
    UnreachableError,
    fault,
    nearest,
    no_such_model,
    retry_after,
)
from kith.models.providers.ollama import Ollama
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint, is_loopback, read_events, read_lines
from waiting import soon

URL = "http://127.0.0.1:9"
PROMPT = Prompt("", (say("hi"),))


def quiet(event: object) -> None:
    pass


async def cut(data: bytes, places: list[int]) -> AsyncIterator[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    for start, end in itertools.pairwise(edges):
        yield data[start:end]


async def collect(items: AsyncIterator[str]) -> list[str]:
    return [item async for item in items]


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n\ufeff", exclude_categories=["Cs"]))),
    st.sampled_from(["\n", "\r\n"]),
    st.lists(st.integers(0, 10_000), max_size=20),
)
def test_lines_are_whole_wherever_the_chunks_are_cut(lines: list[str], end: str, places: list[int]) -> None:
    data = "".join(line + end for line in lines).encode()
    assert asyncio.run(collect(read_lines(cut(data, places)))) == lines


def test_a_last_line_without_an_end_counts() -> None:
    assert asyncio.run(collect(read_lines(cut(b"one\ntwo", [5])))) == ["one", "two"]


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(ModelError, match="a line of more than 1,000 bytes"):
        asyncio.run(collect(read_lines(cut(b"x" * 5000, list(range(0, 5000, 100))), longest=1000)))


def test_events_skip_comments_and_other_fields_and_join_data() -> None:
    data = b": ping\n\nevent: x\nid: 1\ndata: one\n\n:\ndata:two\ndata: three\n\ndata: [DONE]"
    assert asyncio.run(collect(read_events(read_lines(cut(data, [3, 20]))))) == [
        "one",
        "two\nthree",
        "[DONE]",
    ]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:11434", True),
        ("http://127.8.9.1", True),
        ("http://localhost:8080", True),
        ("http://[::1]:8080", True),
        ("http://0.0.0.0:8080", False),
        ("http://localhost.example.com", False),
        ("http://127.0.0.1@example.com", False),
        ("http://example.com#@127.0.0.1", False),
        ("http://127.0.0.1\\@example.com", False),
        ("http://192.168.0.7:11434", False),
        ("http://[::1", False),
        ("", False),
    ],
)
def test_only_what_is_certainly_this_machine_is_loopback(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://host", "http://", "http://h:x", "http://h:99999"]
)
def test_an_address_that_is_none_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="address"):
        Endpoint(url)


def test_a_trailing_v1_is_left_out_and_the_key_is_not_shown() -> None:
    endpoint = Endpoint("http://127.0.0.1:1234/v1/", key="secret")
    assert endpoint.url == "http://127.0.0.1:1234"
    assert "secret" not in repr(endpoint)


LLAMA = {
    "error": {
        "code": 400,
        "message": "request (5030 tokens) exceeds the available context size (4096 tokens), try ...",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 5030,
        "n_ctx": 4096,
    }
}


@pytest.mark.parametrize(
    "body",
    [
        LLAMA,
        {"error": json.dumps(LLAMA)},
        {"error": {"message": json.dumps({"error": json.dumps(LLAMA)})}},
        {"error": {"message": LLAMA["error"]["message"]}},
    ],
)
def test_an_overflow_names_both_sizes(body: object) -> None:
    error = fault(URL, 400, json.dumps(body))
    assert error.overflow and not error.retryable
    assert (error.tokens, error.window) == (5030, 4096)


def test_an_overflow_of_another_server_names_what_is_sure() -> None:
    words = (
        "This model's maximum context length is 4096 tokens. However, you requested 1000 output tokens ..."
    )
    error = fault(URL, 400, json.dumps({"message": words}))
    assert error.overflow and (error.tokens, error.window) == (0, 4096)


@pytest.mark.parametrize(
    ("status", "body", "retryable", "words"),
    [
        (503, '{"error":{"message":"Loading model"}}', True, "503 (Service Unavailable): Loading model"),
        (529, '{"error":{"message":"Overloaded"}}', True, "529: Overloaded"),
        (429, '{"error":"slow down"}', True, "429 (Too Many Requests): slow down"),
        (400, '{"detail":"no tools here"}', False, "400 (Bad Request): no tools here"),
        (500, "boom", True, "500 (Internal Server Error): boom"),
        (401, '{"error":{"message":"Invalid API Key"}}', False, "refused the key (401): Invalid API Key"),
        (IN_STREAM, '{"error":"runner died"}', True, "failed in the middle of its reply: runner died"),
        (200, '{"error":"Unexpected endpoint"}', False, "answered 200 (OK): Unexpected endpoint"),
        (200, '{"type":"message","content":[]}', False, "sent a whole reply where kith asked for a stream"),
        (200, "<html>nginx</html>", False, "answered with a web page"),
        (502, "<html>nginx</html>", True, "answered 502 (Bad Gateway)"),
        (418, "", False, "418 (I'm a Teapot)"),
    ],
)
def test_refusals_keep_the_servers_words(status: int, body: str, retryable: bool, words: str) -> None:
    error = fault(URL, status, body)
    assert words in str(error) and URL in str(error)
    assert error.retryable is retryable and not error.overflow


def test_a_missing_model_and_a_garbled_call_are_told_apart() -> None:
    assert isinstance(
        fault(URL, 404, '{"error":"model \\"q\\" not found, try pulling it first"}'), MissingModelError
    )
    assert isinstance(fault(URL, 400, '{"error":{"message":"model \'q\' not found"}}'), MissingModelError)
    assert isinstance(fault(URL, 404, '{"message":"The model `q` does not exist."}'), MissingModelError)
    assert not isinstance(fault(URL, 404, '{"error":{"message":"File Not Found"}}'), MissingModelError)
    garbled = "The model produced output that does not match the expected peg-native format"
    assert isinstance(fault(URL, 500, json.dumps({"error": {"message": garbled}})), GarbledReplyError)


@given(st.integers(200, 599), st.text(max_size=200))
def test_any_refusal_becomes_one_line(status: int, body: str) -> None:
    assert "\n" not in str(fault(URL, status, body))


def test_a_missing_model_is_named_with_its_nearest() -> None:
    there = ["qwen2.5-coder:7b", "qwen3:8b", "gemma3:4b"]
    error = no_such_model(URL, "qwen3", there)
    assert isinstance(error, NoModelError)
    assert "has no model 'qwen3'; did you mean qwen3:8b" in str(error)
    assert nearest("QWEN3:8b", there)[0] == "qwen3:8b"
    assert "it has gemma3:4b." in str(no_such_model(URL, "zzzz", ["gemma3:4b"]))
    assert "no other" in str(no_such_model(URL, "zzzz", []))


NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_a_number_or_a_date_or_ignored(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOW) == seconds


def test_nobody_listening_is_retryable_and_names_the_address() -> None:
    with socket.socket() as taken:  # bound, not listening: nobody else can take the port meanwhile
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(UnreachableError, match=url) as caught:
            asyncio.run(Ollama("m", Endpoint(url))(PROMPT, quiet))
    assert caught.value.retryable


def test_a_web_page_is_not_a_model_server() -> None:
    async def ask() -> None:
        async with serve(["hi"], html=True) as server:
            await Ollama("standin", Endpoint(server.url))(PROMPT, quiet)

    with pytest.raises(ModelError, match="web page"):
        asyncio.run(ask())


@pytest.mark.parametrize("dialect", ["ollama", "llama-server"])
def test_leaving_a_silent_server_closes_the_connection(dialect: str) -> None:
    async def ask() -> None:
        async with serve(["hi"], dialect, silent=True) as server:  # type: ignore[arg-type]
            endpoint = Endpoint(server.url)
            model = Ollama("m", endpoint) if dialect == "ollama" else OpenAILike("m", endpoint)
            task = asyncio.create_task(model(PROMPT, quiet))
            await soon(lambda: server.requests)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled()
            await asyncio.wait_for(server.disconnected.wait(), 60)
            await endpoint.close()

    asyncio.run(ask())


def test_leaving_in_the_middle_of_a_stream_closes_the_connection() -> None:
    async def ask() -> None:
        async with serve(["one two three"], pause=0.2) as server:
            heard = asyncio.Event()
            call = Ollama("standin", Endpoint(server.url))(PROMPT, lambda event: heard.set())
            task = asyncio.create_task(call)
            await heard.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.wait_for(server.disconnected.wait(), 60)

    asyncio.run(ask())


def test_silence_beyond_the_limit_is_a_hang_and_is_not_retried() -> None:
    async def ask() -> None:
        async with serve(["hi"], silent=True) as server:
            await Ollama("m", Endpoint(server.url, stall_s=0.1))(PROMPT, quiet)

    with pytest.raises(ModelError, match="nothing") as caught:
        asyncio.run(ask())
    assert not caught.value.retryable


def test_pings_count_as_life() -> None:
    async def ask() -> str:
        async with serve([{"text": "hi", "delay": 1.5}], "llama-server", ping=0.05) as server:
            model = OpenAILike("m", Endpoint(server.url, quiet_s=1.0))
            text = (await model(PROMPT, quiet)).message.text
            assert "GET /health" not in server.visits  # nobody had to ask
            return text

    assert asyncio.run(ask()) == "hi"


def test_an_answer_may_take_long_when_it_goes_on() -> None:
    now = 0.0

    def hear(event: Event) -> None:
        nonlocal now
        now += 2  # a word takes two seconds

    async def sleep(seconds: float) -> None:
        end = now + seconds
        while now < end:
            await asyncio.sleep(0)

    async def ask() -> str:
        async with serve(["one two three four five six"]) as server:
            endpoint = Endpoint(server.url, stall_s=3, clock=lambda: now, sleep=sleep)
            return (await Ollama("standin", endpoint)(PROMPT, hear)).message.text

    assert asyncio.run(ask()) == "one two three four five six"
    assert now > 6


def test_an_endpoint_works_in_one_event_loop_after_another() -> None:
    endpoint = Endpoint("http://127.0.0.1:1")

    async def ask() -> str:
        async with serve(["hi"]) as server:
            endpoint.url = server.url
            reply = await Ollama("standin", endpoint)(PROMPT, quiet)
            await endpoint.close()
            return reply.message.text

    assert [asyncio.run(ask()), asyncio.run(ask())] == ["hi", "hi"]


@pytest.mark.parametrize(
    ("url", "key", "header"),
    [
        ("http://me:s%40crets@127.0.0.1:1", "", "Basic bWU6c0BjcmV0cw=="),
        ("http://127.0.0.1:1", "the-key", "Bearer the-key"),
        ("http://me@127.0.0.1:1/v1", "the-key", "Bearer the-key"),
        ("http://127.0.0.1:1", "", None),
    ],
)
def test_a_key_goes_into_a_header_and_never_stays_in_the_address(
    url: str, key: str, header: str | None
) -> None:
    heard: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        heard.append(request)
        return httpx2.Response(500, json={})

    endpoint = Endpoint(url, key, transport=httpx2.MockTransport(answer))
    with pytest.raises(ModelError) as caught:
        asyncio.run(endpoint.get("/props"))
    assert (heard[0].headers.get("authorization"), str(heard[0].url)) == (header, "http://127.0.0.1:1/props")
    assert "crets" not in f"{endpoint!r} {caught.value}"
