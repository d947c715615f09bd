"""`kith runtime`: a model in kith's roles over HTTP, and a kith that works with it from elsewhere."""

import json
import os
import re
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from begetter import Begotten
from outside import Kith, StandIn
from waiting import until

TOKEN = "a-token-that-the-tests-of-the-runtime-use"
HELLO = {"input": "Say hello."}


@dataclass
class Runtime:
    """`kith runtime` on a free port; `client` carries its token."""

    options: tuple[str, ...]
    url: str = ""
    process: Begotten = field(init=False)
    client: httpx2.Client = field(init=False)

    def start(self, folder: Path) -> "Runtime":
        words = ["runtime", "--port", "0", *self.options]
        out = Path(tempfile.mkstemp(prefix="runtime-", dir=folder)[1])
        self.process = Begotten(words, folder, {**os.environ, "KITH_RUNTIME_TOKEN": TOKEN}, out)
        while not (found := re.search(r"^http://\S+(?=\s)", self.said, re.M)):
            assert self.process.poll() is None, f"kith runtime did not start:\n{self.said}"
            time.sleep(0.01)
        self.url = found[0]
        self.client = httpx2.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60
        )
        return self

    @property
    def said(self) -> str:
        """All its lines."""
        return self.process.out.read_text()

    def ready(self) -> "Runtime":
        """Wait until the model is there."""
        while httpx2.get(f"{self.url}/health").status_code == 503:
            time.sleep(0.05)
        return self

    def ask(self, role: str = "worker", **body: Any) -> httpx2.Response:
        return self.client.post(f"/roles/{role}", json={**HELLO, **body})

    def until(self, **state: int | str) -> dict[str, Any]:
        """Its health, once it is so."""

        def reached() -> dict[str, Any]:
            found: dict[str, Any] = httpx2.get(f"{self.url}/health", timeout=60).json()
            return found if found.items() >= state.items() else {}

        return until(reached, f"it never was {state}")


Start = Callable[..., Runtime]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts `kith runtime` with options."""
    started: list[Runtime] = []

    def begin(*options: str) -> Runtime:
        started.append(Runtime(options).start(tmp_path))
        return started[-1]

    yield begin
    for each in started:
        each.process.kill()
        each.process.wait(60)
        each.client.close()


@pytest.fixture
def playing(start: Start, tmp_path: Path) -> Start:
    """Starts `kith runtime` with a script in the model's place."""

    def begin(*replies: Any, options: tuple[str, ...] = ()) -> Runtime:
        script = tmp_path / "replies.json"
        script.write_text(json.dumps(list(replies)))
        return start("-m", f"replay/{script}", *options).ready()

    return begin


def pieces(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream, by name."""
    return [(name, json.loads(data)) for name, data in re.findall(r"event: (\w+)\ndata: (.*)\n", text)]


def test_a_role_answers_whole_and_in_pieces(playing: Start) -> None:
    runtime = playing({"text": "One two.", "thinking": "Hm."}, "Three four five.", "Six.")
    listed = {each["name"]: each for each in runtime.client.get("/roles").json()["roles"]}
    assert listed["reviewer"]["purpose"] == "review" and listed["architect"]["words"]
    told = runtime.ask("reviewer").json()
    assert (told["role"], told["model"], told["text"]) == ("reviewer", "replay/replies", "One two.")
    assert (told["thinking"], told["stop"]) == ("Hm.", "end") and told["usage"]["output"] > 0
    *said, (name, end) = pieces(runtime.ask("reviewer", stream=True).text)
    assert [piece for _, piece in said] == [{"text": "Three"}, {"text": " four"}, {"text": " five."}]
    assert (name, end["text"]) == ("end", "Three four five.")
    history = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    more = runtime.client.post(
        "/roles/worker", json={"messages": [*history, {"role": "user", "content": "c"}]}
    )
    assert more.json()["text"] == "Six."


def test_the_words_of_a_role_come_first_and_a_limit_holds(start: Start, stand_in: StandIn) -> None:
    server = stand_in(["Hello."] * 3, "vllm")
    runtime = start("--max-tokens", "50").ready()
    assert runtime.ask("tester", max_tokens=900).status_code == 200
    said = [{"role": "system", "content": "Mine."}, {"role": "user", "content": "x"}]
    body = {"model": "role/tester", "messages": said, "max_tokens": 20, "stream": True}
    assert runtime.client.post("/v1/chat/completions", json=body).status_code == 200
    plain = {**body, "model": "vllm/standin"}
    assert runtime.client.post("/v1/chat/completions", json=plain).status_code == 200
    first, second, third = (request.body for request in server.requests)
    assert [each["max_tokens"] for each in (first, second, third)] == [50, 20, 20]
    words = first["messages"][0]["content"]
    assert words == next(
        each["words"] for each in runtime.client.get("/roles").json()["roles"] if each["name"] == "tester"
    )
    assert second["messages"][0]["content"] == f"{words}\n\nMine."
    assert third["messages"] == said
    models = [each["id"] for each in runtime.client.get("/v1/models").json()["data"]]
    assert models[0] == "vllm/standin" and "role/tester" in models


def test_strangers_and_nonsense_are_refused_and_anybody_sees_the_health(playing: Start) -> None:
    runtime = playing("Hello.")
    for path in ("/roles", "/v1/models", "/metrics"):
        assert httpx2.get(f"{runtime.url}{path}").status_code == 401
    for path in ("/", "/roles", "/v1/models"):
        assert "set-cookie" not in httpx2.get(f"{runtime.url}{path}?token={TOKEN}").headers
    assert httpx2.post(f"{runtime.url}/roles/worker", json=HELLO).status_code == 401
    evil = {"Authorization": f"Bearer {TOKEN}", "Origin": "https://evil.example"}
    assert httpx2.post(f"{runtime.url}/roles/worker", json=HELLO, headers=evil).status_code == 403
    assert httpx2.get(f"{runtime.url}/roles", headers={**evil, "Host": "evil.example"}).status_code == 421
    health = httpx2.get(f"{runtime.url}/health")
    assert health.json() == {"status": "ok", "running": 0, "waiting": 0, "room": 32}
    assert TOKEN not in runtime.said
    for name in ("robot", "..%2f..%2fetc%2fpasswd", "%00"):
        answer = runtime.client.post(f"/roles/{name}", json=HELLO)
        assert (
            answer.status_code in (400, 404) and answer.headers["content-type"] == "application/problem+json"
        )
    for body in (
        "",
        "[]",
        "{}",
        '{"input": 5}',
        '{"input": "x", "stream": 1}',
        '{"messages": []}',
        "[" * 9999,
    ):
        answer = runtime.client.post(
            "/roles/worker", content=body, headers={"content-type": "application/json"}
        )
        assert (answer.status_code, answer.json()["status"]) == (400, 400)
    body = {"model": "role/robot", "messages": [{"role": "user", "content": "x"}]}
    for model in ("role/robot", "another"):
        answer = runtime.client.post("/v1/chat/completions", json={**body, "model": model})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")


@pytest.mark.slow
def test_the_queue_is_bounded_and_told(playing: Start, tmp_path: Path) -> None:
    slow = {"text": "Slow.", "when": str(tmp_path / "refused")}
    runtime = playing(slow, "Quick.", options=("--queue", "1"))
    answers: list[httpx2.Response] = []
    asking = [threading.Thread(target=lambda: answers.append(runtime.ask())) for _ in range(2)]
    asking[0].start()
    runtime.until(status="busy", running=1)
    asking[1].start()
    runtime.until(waiting=1)
    refused = runtime.ask()
    assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
    (tmp_path / "refused").touch()
    for each in asking:
        each.join()
    assert sorted(each.json()["text"] for each in answers) == ["Quick.", "Slow."]
    figures = runtime.client.get("/metrics").text
    assert 'kith_runtime_requests_total{outcome="answered",role="worker"} 2.0' in figures
    assert 'kith_runtime_requests_total{outcome="refused",role="worker"} 1.0' in figures
    assert re.search(r'kith_runtime_tokens_total\{kind="written"\} [1-9]', figures)
    assert "kith_runtime_waiting 0.0" in figures and "kith_runtime_seconds_count" in figures


@pytest.mark.slow
def test_a_client_that_leaves_makes_room(playing: Start) -> None:
    runtime = playing({"text": "Slow.", "delay": 600}, "Quick.")
    place, body = urlsplit(runtime.url), json.dumps(HELLO)
    with socket.create_connection((place.hostname, place.port)) as client:
        lines = ("POST /roles/worker HTTP/1.1", f"Host: {place.netloc}", f"Authorization: Bearer {TOKEN}")
        head = "\r\n".join((*lines, "Content-Type: application/json", f"Content-Length: {len(body)}", "", ""))
        client.sendall((head + body).encode())
        runtime.until(running=1)
    runtime.until(running=0)
    assert runtime.ask().json()["text"] == "Quick."


@pytest.mark.slow
def test_an_end_lets_running_answers_end_and_sends_the_others_away(playing: Start, tmp_path: Path) -> None:
    runtime = playing({"text": "Slow but whole.", "when": str(tmp_path / "sent away")}, "Never.")
    answers: dict[str, httpx2.Response] = {}
    running = threading.Thread(target=lambda: answers.update(running=runtime.ask(stream=True)))
    waiting = threading.Thread(target=lambda: answers.update(waiting=runtime.ask()))
    running.start()
    runtime.until(running=1)
    waiting.start()
    runtime.until(waiting=1)
    runtime.process.send_signal(signal.SIGTERM)
    waiting.join()
    (tmp_path / "sent away").touch()
    running.join()
    assert pieces(answers["running"].text)[-1][1]["text"] == "Slow but whole."
    assert answers["waiting"].status_code == 503
    assert runtime.process.wait(60) == 0


@pytest.mark.slow
def test_requests_wait_for_a_model_that_loads(start: Start, stand_in: StandIn) -> None:
    stand_in(["Hello."], "llama-server", loading=1.5)
    runtime = start()
    assert httpx2.get(f"{runtime.url}/health").json()["status"] == "loading"
    assert runtime.ask().json()["text"] == "Hello."
    assert runtime.until(status="ok")


def test_without_a_model_it_ends_and_says_why(start: Start) -> None:
    runtime = start("-m", "ollama/none")
    assert runtime.process.wait(60) not in (0, 1)
    assert "kith:" in runtime.said


FIXED = {"name": "edit", "args": {"path": "utils.py", "old": "(len(numbers) + 1)", "new": "len(numbers)"}}


@pytest.mark.slow
def test_a_kith_elsewhere_works_with_it(
    playing: Start, kith: Kith, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = playing({"text": "I mend it.", "calls": [FIXED]}, "Mended.")
    config = home / ".config" / "kith"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(f'[endpoints.box]\nurl = "{runtime.url}"\nkey_env = "BOX_KEY"\n')
    monkeypatch.setenv("BOX_KEY", TOKEN)
    report = kith.run("-m", "box/role/worker", "--yes", "--check", "none", "mend mean")
    assert (report["status"], report["text"]) == ("done", "Mended.")
    assert "sum(numbers) / len(numbers)" in (kith.folder / "utils.py").read_text()
    figures = runtime.client.get("/metrics").text
    assert 'kith_runtime_requests_total{outcome="answered",role="worker"} 2.0' in figures
    listed = kith("models", "--names").stdout.split()
    assert "box/role/worker" in listed and "box/replay/replies" in listed


@pytest.mark.slow
def test_the_own_engine_answers_in_roles(
    start: Start, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_ENGINE_IDLE", "1")
    runtime = start("-m", str(tiny_gguf), "--window", "2048", "--max-tokens", "40").ready()
    told = runtime.ask("reviewer", max_tokens=8, temperature=0).json()
    assert (told["stop"], told["usage"]["output"]) == ("length", 8) and told["usage"]["input"] > 50
    *said, (name, end) = pieces(runtime.ask("reviewer", max_tokens=8, stream=True).text)
    assert name == "end" and "".join(piece.get("text", "") for _, piece in said) == end["text"]
    assert end["usage"]["cached"] > 50, "the words of the role are read once"
    schema = {
        "type": "object",
        "properties": {"good": {"type": "boolean"}},
        "required": ["good"],
        "additionalProperties": False,
    }
    shaped = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}}
    body = {
        "model": "role/reviewer",
        "messages": [{"role": "user", "content": "x"}],
        "response_format": shaped,
    }
    whole = None
    for _ in range(10):  # of a model that knows nothing some answers are mostly blanks, and cut
        (answer,) = runtime.client.post("/v1/chat/completions", json=body).json()["choices"]
        if answer["finish_reason"] == "stop":
            whole = json.loads(answer["message"]["content"])
            break
    assert whole and whole["good"] in (True, False)


@pytest.mark.slow
def test_an_answer_that_takes_too_long_is_ended(playing: Start) -> None:
    runtime = playing({"text": "Late.", "delay": 600}, options=("--max-seconds", "1"))
    assert runtime.ask().status_code >= 400
    assert runtime.until(running=0)
