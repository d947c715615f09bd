"""Servers that speak nearly OpenAI's protocol are asked as they want it, by configuration alone."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kith.models.providers.manner import Manner
from outside import Kith

ANSWER = {"choices": [{"index": 0, "delta": {"content": "It is blue."}, "finish_reason": "stop"}]}
CONFIG = """
[endpoints.almost]
url = "{url}"
path = "/api/v3"
headers = {{ "X-Title" = "kith" }}
headers_env = {{ "api-key" = "ALMOST_KEY", "x-unset" = "NOT_SET" }}
fields = {{ reasoning_effort = "low" }}
renames = {{ max_tokens = "max_completion_tokens", stream_options = "" }}
"""


@contextmanager
def almost(key: str) -> Iterator[tuple[str, list[Any]]]:
    """A server with its own path, header and names that refuses all else; yields its address and requests."""
    asked: list[Any] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(404 if self.path != "/api/v3/models" else 200, {"data": [{"id": "m"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append((self.path, dict(self.headers), body))
            if self.path != "/api/v3/chat/completions":
                self.answer(404, {})
            elif self.headers["api-key"] != key:
                self.answer(401, {"error": {"message": f"no such key: {self.headers['api-key']}"}})
            elif strange := {"max_tokens", "stream_options"} & set(body):
                self.answer(400, {"error": {"message": f"unknown fields {strange}"}})
            else:
                self.answer(200, f"data: {json.dumps(ANSWER)}\n\ndata: [DONE]\n\n")

        def answer(self, status: int, body: Any) -> None:
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            kind = "text/event-stream" if isinstance(body, str) else "application/json"
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()


@pytest.fixture
def user_file(home: Path) -> Path:
    file = home / ".config" / "kith" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def test_a_server_with_its_own_path_header_and_names_answers(
    kith: Kith, user_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with almost("the-right-key") as (url, asked):
        user_file.write_text(CONFIG.format(url=url))
        monkeypatch.setenv("ALMOST_KEY", "the-right-key")
        ran = kith("run", "--read-only", "-m", "almost/m", "Which colour?")
        listed = kith("models").stdout
    assert "It is blue." in ran.stdout and "almost/m" in listed
    _, headers, body = asked[-1]
    assert headers["X-Title"] == "kith" and "x-unset" not in headers
    assert body["reasoning_effort"] == "low" and body["max_completion_tokens"]


def test_a_header_that_is_refused_and_repeated_is_not_shown(
    kith: Kith, user_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with almost("the-right-key") as (url, _):
        user_file.write_text(CONFIG.format(url=url))
        monkeypatch.setenv("ALMOST_KEY", "the-wrong-key")
        ran = kith("run", "--read-only", "-m", "almost/m", "Which colour?", code=1)
    assert "no such key: ***" in ran.stderr


def test_the_usual_manner_changes_nothing() -> None:
    body = {"model": "m", "max_tokens": 5}
    assert Manner().request(body) == body
    assert Manner().place("/v1/models") == "/v1/models"
    assert Manner(path="/").place("/v1/models") == "/models"
    assert Manner(path="/x").place("/api/v1/models") == "/api/v1/models"
