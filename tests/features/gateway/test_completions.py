"""Other programs ask models through `kith serve`, as they would ask OpenAI."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from kith.core.events import Called, Event, RunEnded, RunStarted, ToolBegan
from kith.features.web.app import make_app
from kith.features.web.desk import open_desk
from kith.memory.log import Log
from outside import Kith, StandIn
from waiting import until

CHAT, MODELS = "/v1/chat/completions", "/v1/models"
HELLO = [{"role": "user", "content": "Say hello."}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a town.",
        "parameters": {
            "type": "object",
            "properties": {"town": {"type": "string"}},
            "required": ["town"],
            "additionalProperties": False,
        },
    },
}
CALL = {"calls": [{"name": "weather", "args": {"town": "Ulm"}}]}


class Inside:
    """A client of the server's application, in this process; the door has tests of its own."""

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        transport = httpx2.ASGITransport(app=make_app(open_desk([folder], {})))
        self.client = httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=60)

    def get(self, path: str) -> httpx2.Response:
        return self.loop.run_until_complete(self.client.get(path))

    def post(self, path: str, **what: Any) -> httpx2.Response:
        return self.loop.run_until_complete(self.client.post(path, **what))


Start = Callable[[], Inside]
Asking = Callable[..., Inside]


@pytest.fixture
def start(repository: Path) -> Iterator[Start]:
    """Starts a server's application, with the settings as they are then."""
    started: list[Inside] = []

    def begin() -> Inside:
        started.append(Inside(repository))
        return started[-1]

    yield begin
    for each in started:
        each.loop.run_until_complete(each.client.aclose())
        each.loop.close()


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts these replies into the model's place."""

    def write(*replies: Any) -> None:
        script = tmp_path / "replies.json"
        script.write_text(json.dumps(list(replies)))
        monkeypatch.setenv("KITH_MODEL", f"replay/{script}")

    return write


@pytest.fixture
def asking(start: Start, play: Callable[..., None]) -> Asking:
    """A client of a server whose model plays these replies."""

    def begin(*replies: Any) -> Inside:
        play(*replies)
        return start()

    return begin


def events(text: str) -> list[Any]:
    """The data of a stream of events; the end mark is the word DONE."""
    lines = (line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: "))
    return ["DONE" if line == "[DONE]" else json.loads(line) for line in lines]


def logged(home: Path, session: str) -> list[Event]:
    log = Log(home / ".local" / "state" / "kith" / "log.sqlite3")
    return [record.event for record in log.events(session)]


def ending(home: Path, session: str) -> RunEnded:
    """How a session ended, waited for."""
    return until(lambda: [event for event in logged(home, session) if isinstance(event, RunEnded)])[0]


def test_a_question_is_answered_and_measured(asking: Asking, home: Path) -> None:
    client = asking(
        {"text": "Hello.", "thinking": "A greeting.", "usage": {"input": 9, "output": 3, "cached": 4}}
    )
    answer = client.post(CHAT, json={"model": "route", "messages": HELLO, "frequency_penalty": 1})
    assert answer.status_code == 200
    told = answer.json()
    assert told["object"] == "chat.completion" and told["model"] == "replay/replies"
    (choice,) = told["choices"]
    assert choice["finish_reason"] == "stop"
    assert choice["message"] == {"role": "assistant", "content": "Hello.", "reasoning_content": "A greeting."}
    assert told["usage"] == {
        "prompt_tokens": 9,
        "completion_tokens": 3,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    happened = logged(home, answer.headers["x-kith-session"])
    (began,) = [event for event in happened if isinstance(event, RunStarted)]
    (call,) = [event for event in happened if isinstance(event, Called)]
    assert (began.options.kind, began.task) == ("endpoint", "Say hello.")
    assert (call.purpose, call.usage.input, call.usage.output) == ("endpoint", 9, 3)


def test_a_reply_streams_in_pieces(asking: Asking) -> None:
    client = asking("One two three.")
    body = {"model": "route", "messages": HELLO, "stream": True, "stream_options": {"include_usage": True}}
    answer = client.post(CHAT, json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    *chunks, usage, done = events(answer.text)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas) == "One two three."
    assert len([delta for delta in deltas if delta.get("content")]) == 3
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks][-2:] == [None, "stop"]
    assert usage["choices"] == [] and usage["usage"]["total_tokens"] > 0
    assert chunks[0]["model"] == "route" and usage["model"] == chunks[-1]["model"] == "replay/replies"
    assert done == "DONE"
    assert len({chunk["id"] for chunk in (*chunks, usage)}) == 1


def test_tools_are_the_askers_and_are_never_run_here(asking: Asking, home: Path) -> None:
    client = asking(CALL, {"text": "It is 12 degrees.", "expect": "12 degrees in Ulm"})
    body = {"model": "route", "messages": [*HELLO], "tools": [WEATHER]}
    answer = client.post(CHAT, json=body)
    (choice,) = answer.json()["choices"]
    assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] is None
    (call,) = choice["message"]["tool_calls"]
    assert call["type"] == "function"
    assert json.loads(call["function"]["arguments"]) == {"town": "Ulm"}
    assert not any(isinstance(each, ToolBegan) for each in logged(home, answer.headers["x-kith-session"]))
    result = {"role": "tool", "tool_call_id": call["id"], "content": "12 degrees in Ulm"}
    again = client.post(CHAT, json={**body, "messages": [*HELLO, choice["message"], result]})
    assert again.json()["choices"][0]["message"]["content"] == "It is 12 degrees."


def test_a_call_streams_whole(asking: Asking) -> None:
    client = asking({"text": "I look.", **CALL})
    answer = client.post(CHAT, json={"model": "route", "messages": HELLO, "tools": [WEATHER], "stream": True})
    chunks = [each["choices"][0] for each in events(answer.text)[:-1]]
    (call,) = [call for chunk in chunks for call in chunk["delta"].get("tool_calls", ())]
    assert (call["index"], call["function"]["name"]) == (0, "weather")
    assert json.loads(call["function"]["arguments"]) == {"town": "Ulm"}
    assert chunks[-1]["finish_reason"] == "tool_calls"


def test_what_is_wished_reaches_the_model(start: Start, stand_in: StandIn) -> None:
    server = stand_in(['{"town": "Ulm"}', '{"name": "weather", "arguments": {"town": "Ulm"}}'], "vllm")
    client = start()
    schema = WEATHER["function"]["parameters"]  # type: ignore[index]
    wishes = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["END"], "max_completion_tokens": 55}
    shaped = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema, "strict": True}}
    said = [{"role": "system", "content": "Be brief."}, *HELLO]
    body = {"model": "openai/standin", "messages": said, "response_format": shaped, **wishes}
    assert client.post(CHAT, json=body).json()["choices"][0]["message"]["content"] == '{"town": "Ulm"}'
    sent = server.requests[0].body
    assert sent["response_format"]["json_schema"]["schema"] == schema
    assert sent["messages"] == said
    names = {"max_completion_tokens": "max_tokens"}
    assert {names.get(key, key): sent[names.get(key, key)] for key in wishes} == {
        names.get(key, key): value for key, value in wishes.items()
    }
    must = {"model": "openai/standin", "messages": HELLO, "tools": [WEATHER], "tool_choice": "required"}
    (choice,) = client.post(CHAT, json=must).json()["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "weather"
    looks = [visit for visit in server.visits if visit == "GET /v1/models"]
    assert len(looks) < 5, "the model is looked at once, and kept open"


def test_the_list_has_what_can_be_asked(start: Start, stand_in: StandIn) -> None:
    stand_in(["Hello."], "vllm")
    first, *others = start().get(MODELS).json()["data"]
    assert (first["id"], first["object"], first["owned_by"]) == ("route", "model", "kith")
    (found,) = [each for each in others if each["id"] == "openai/standin"]
    assert found["owned_by"] == "vLLM" and found["max_model_len"] > 0


def test_a_model_that_is_not_there_is_said_and_strangers_open_no_files(asking: Asking) -> None:
    client = asking("Hello.")
    names = ("no-such-model", "ollama/", "replay//etc/passwd", "file//etc/weights.gguf", "~/weights.gguf")
    for number, model in enumerate(names):
        answer = client.post(CHAT, json={"model": model, "messages": HELLO, "stream": bool(number % 2)})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (404, "model_not_found")
        assert error["type"] == "invalid_request_error" and error["message"]
        assert ("is a file" in error["message"]) == (number > 1)


def test_nonsense_is_refused_in_openais_shape(asking: Asking) -> None:
    client = asking()
    deep = "[" * 50_000
    bodies = [
        *("", "[]", "null", "{", deep, '{"model": NaN}', '{"model": 1e999}', '{"n": ' + "9" * 5000 + "}"),
        *('{"model": "route"}', '{"model": "route", "messages": []}', '{"messages": [{}]}'),
        *(json.dumps({"model": "route", "messages": each}) for each in ("x", [1], [{"role": "robot"}])),
        *(json.dumps({"model": each, "messages": HELLO}) for each in (None, 1, "", "\u0000", ["route"])),
        *(json.dumps({"model": "route", "messages": HELLO, **each}) for each in _WRONG),
    ]
    for body in bodies:
        answer = client.post(CHAT, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 400, body[:80]
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    lone = client.post(
        CHAT,
        content='{"model": "\\ud800", "messages": [{"role": "user", "content": "\\udfff"}]}',
        headers={"content-type": "application/json"},
    )
    assert lone.status_code in (400, 404)


_WRONG: list[dict[str, Any]] = [
    {"temperature": "hot"},
    {"temperature": 3},
    {"top_p": True},
    {"max_tokens": 0},
    {"max_tokens": 1.5},
    {"seed": 1 << 70},
    {"stop": 5},
    {"stop": [5]},
    {"n": 2},
    {"stream": "yes"},
    {"stream_options": []},
    {"tools": {}},
    {"tools": [{"type": "web_search"}]},
    {"tools": [{"type": "function", "function": {"name": "two words"}}]},
    {"tools": [{"type": "function", "function": {"name": "a", "parameters": {"properties": []}}}]},
    {"tools": [{"type": "function", "function": {"name": "a", "parameters": {"required": "x"}}}]},
    {"tools": [{"type": "function", "function": {"name": "a", "parameters": {"type": "array"}}}]},
    {"tools": [WEATHER, WEATHER]},
    {"tool_choice": "required"},
    {"tool_choice": {"type": "function", "function": {"name": "other"}}, "tools": [WEATHER]},
    {"response_format": {"type": "xml"}},
    {"response_format": {"type": "json_schema"}},
    {"messages": [{"role": "tool", "tool_call_id": "none", "content": "x"}]},
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
    {"messages": [{"role": "user", "content": None}]},
    {"messages": [{"role": "assistant", "tool_calls": [{"id": "a"}]}]},
]


def test_a_prompt_that_does_not_fit_is_said_as_programs_know_it(start: Start, stand_in: StandIn) -> None:
    stand_in(["Hello."], "vllm", window=300)
    body = {"model": "openai/standin", "messages": [{"role": "user", "content": "word " * 2000}]}
    answer = start().post(CHAT, json=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "context_length_exceeded" and "maximum context length" in error["message"]


@pytest.mark.slow
def test_a_failure_is_told_before_or_within_the_stream(start: Start, stand_in: StandIn) -> None:
    broken = {"text": "One two", "error": {"status": 200, "text": "out of memory"}}
    stand_in([{"error": {"status": 400, "text": "no"}}, broken, "One two three", broken, "Four"], "vllm")
    client = start()
    body = {"model": "openai/standin", "messages": HELLO, "stream": True}
    refused = client.post(CHAT, json=body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (502, "model_failed")
    # What goes on as it had begun is one reply for whoever reads it; what does not is none.
    assert _words(events(client.post(CHAT, json=body).text)) == "One two three"
    *pieces, error, done = events(client.post(CHAT, json=body).text)
    assert _words(pieces) == "One two" and done == "DONE"
    assert "gave a different text" in error["error"]["message"]


def _words(chunks: list[Any]) -> str:
    choices = [chunk["choices"][0] for chunk in chunks if chunk != "DONE"]
    return "".join(choice["delta"].get("content", "") for choice in choices)


@pytest.mark.slow
def test_the_cloud_is_asked_only_where_it_was_agreed(
    start: Start, stand_in: StandIn, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = stand_in(["Hello."] * 3, "vllm")
    monkeypatch.delenv("OPENAI_BASE_URL")
    config = home / ".config" / "kith"
    config.mkdir(parents=True)
    endpoint = f'[endpoints.far]\nkind = "vllm"\nurl = "{server.url}"\ncloud = true\n'
    (config / "config.toml").write_text(endpoint)
    body = {"model": "far/standin", "messages": HELLO}
    refused = start().post(CHAT, json=body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "consent_missing")
    assert "in the cloud" in refused.json()["error"]["message"] and server.requests == []
    (config / "config.toml").write_text(f'cloud = "allow"\n{endpoint}')
    (config / "prices.toml").write_text('["vllm/standin"]\ninput = 10\noutput = 50\n')
    answered = start().post(CHAT, json=body)
    assert answered.status_code == 200 and len(server.requests) == 1
    (call,) = [e for e in logged(home, answered.headers["x-kith-session"]) if isinstance(e, Called)]
    assert call.usd and call.usd > 0
    (config / "config.toml").write_text(f'cloud = "allow"\nmax_day_usd = 0.000001\n{endpoint}')
    spent = start().post(CHAT, json=body)
    assert (spent.status_code, spent.json()["error"]["code"]) == (429, "limit_reached")
    assert len(server.requests) == 1


@pytest.mark.slow
def test_who_is_down_is_passed_over(start: Start, stand_in: StandIn, home: Path) -> None:
    stand_in(["Hello from the second."], "vllm")
    config = home / ".config" / "kith"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[route]\nlocal = ["ollama/gone", "openai/standin"]\n')
    answer = start().post(CHAT, json={"model": "route", "messages": HELLO})
    assert answer.json()["choices"][0]["message"]["content"] == "Hello from the second."
    assert answer.json()["model"] == "vllm/standin"


@pytest.mark.slow
def test_a_client_that_leaves_ends_the_call(
    start_serving: Callable[..., Any], play: Callable[..., None], home: Path
) -> None:
    play({"text": "Too late.", "delay": 600}, {"text": "Too late.", "delay": 600}, "In time.")
    client = start_serving().client
    for stream in (True, False):
        body = {"model": "route", "messages": HELLO, "stream": stream}
        with pytest.raises(httpx2.TimeoutException):
            client.post(CHAT, json=body, timeout=httpx2.Timeout(60, read=3))
    sessions = Log(home / ".local" / "state" / "kith" / "log.sqlite3").of_kind("endpoint")
    assert [ending(home, session).status for session in sessions] == ["interrupted"] * 2
    calls = [event for session in sessions for event in logged(home, session) if isinstance(event, Called)]
    assert [call.error for call in calls] == ["cancelled"] * 2
    with client.stream("POST", CHAT, json={"model": "route", "messages": HELLO, "stream": True}) as answer:
        assert _words(events("".join(answer.iter_text()))) == "In time."


@pytest.mark.slow
def test_why_a_model_was_chosen_is_said_and_a_project_has_its_own_sessions_only(
    start: Start, stand_in: StandIn, kith: Kith, home: Path
) -> None:
    stand_in(["Hello."], "vllm")
    config = home / ".config" / "kith"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[route]\nlocal = ["openai/standin"]\n')
    answer = start().post(CHAT, json={"model": "route", "messages": HELLO})
    assert "there is no other model" in kith("why", answer.headers["x-kith-session"]).stdout
    assert kith("sessions").stdout == "" and "Say hello." in kith("sessions", "--all").stdout
