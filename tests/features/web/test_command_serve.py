"""`kith serve` as a process: what it says, how it ends, what it leaves for `kith client`."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from api_client import Api
from begetter import Begotten
from kith.features.web.tokens import ServerNote, read_note
from outside import Kith, StandIn
from serving import Serving
from waiting import until

Start = Callable[..., Serving]
EDIT = {
    "calls": [
        {
            "name": "edit",
            "args": {"path": "utils.py", "old": "(len(numbers) + 1)", "new": "max(len(numbers), 1)"},
        }
    ]
}


@pytest.fixture
def kith(repository: Path) -> Kith:
    return Kith(repository)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_even_while_somebody_watches(serve: Serving, tmp_path: Path, how: signal.Signals) -> None:
    api = Api(serve, tmp_path)
    id = api.begin(["Hello."])
    with serve.client.stream("GET", f"/api/sessions/{id}/events") as stream:
        next(stream.iter_lines())
        said = serve.end(how)
    assert serve.process.returncode == 0
    assert said.rstrip().endswith("Work in progress goes on by itself.")
    assert "Traceback" not in said


def test_the_first_lines_say_what_is_needed(serve: Serving, repository: Path) -> None:
    said = serve.stop()
    assert str(repository) in said and said.count(serve.token) == 1 and "Ctrl-C" in said


def test_a_qr_code_stands_above_them(start_serving: Start) -> None:
    serving = start_serving("--qr", "--allowed-host", "box.example")
    assert serving.said.count("█") > 200


def test_its_note_is_for_its_user_alone(serve: Serving) -> None:
    place = serve.state / f"serve-{serve.port}.json"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert json.loads(place.read_text())["pid"] == serve.process.pid
    serve.stop()
    assert not place.exists(), "a port that was any comes never again"


def test_a_note_that_others_could_have_read_is_none(tmp_path: Path) -> None:
    ServerNote("http://127.0.0.1:1", "t", 1, 1).write(tmp_path)
    assert read_note(tmp_path, 1)
    (tmp_path / "serve-1.json").chmod(0o644)
    assert read_note(tmp_path, 1) is None


def test_a_taken_port_is_one_sentence(serve: Serving, kith: Kith) -> None:
    done = kith("serve", "--port", str(serve.port), code=75)
    assert f"Port {serve.port} is taken" in done.stderr and "--port" in done.stderr
    assert done.stderr.count("\n") == 1 and not done.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--host", "0.0.0.0"], "choose a token"),
        (["--host", "0.0.0.0", "--token", "short"], "could be guessed"),
        (["--host", "0.0.0.0", "--token", "with blanks " * 4], "consists of"),
        (["--host", "example.org"], "an address of this machine"),
        (["--host", "192.0.2.1", "--token", "x" * 32], "cannot be used"),
        (["--port", "65536"], "from 0 to 65535"),
        (["nowhere"], "no folder"),
    ],
)
def test_what_cannot_be_is_one_sentence(kith: Kith, words: list[str], sentence: str) -> None:
    done = kith("serve", *words, code=2)
    assert sentence in done.stderr and done.stderr.count("\n") == 1


def test_the_network_is_served_only_by_name_and_it_is_said(start_serving: Start) -> None:
    serve = start_serving(
        "--host", "0.0.0.0", "--allowed-host", "kith.example.org", "--allowed-host", "http://box.lan"
    )

    def get(host: str, origin: str, **more: str) -> int:
        return serve.client.get("/api/no-such", headers={"Host": host, "Origin": origin, **more}).status_code

    assert get("kith.example.org", "https://kith.example.org") == 404
    assert get("kith.example.org", "http://kith.example.org") == 403, "its pages come through TLS"
    assert get("box.lan:80", "http://box.lan:80") == 404
    assert get("192.168.1.5:81", "http://192.168.1.5:81") == 404, "an address of its own"
    assert get("evil.test", "http://evil.test") == 421
    assert get("evil.test", "http://evil.test", **{"X-Forwarded-Host": "kith.example.org"}) == 421
    came = serve.client.get(f"/?token={serve.token}", headers={"Host": "kith.example.org"})
    assert "; Secure" in came.headers["set-cookie"]
    assert "; Secure" not in serve.client.get(f"/?token={serve.token}").headers["set-cookie"]
    assert "nothing is encrypted" in serve.stop()


@pytest.mark.slow
def test_a_restart_on_its_port_keeps_the_token_unless_a_new_one_is_wanted(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KITH_SERVE_TOKEN", raising=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = Serving(repository).start(port)
    first = serve.token
    assert len(first) >= 22 and serve.restart().token == first
    serve.stop()
    serve.options = ("--new-token",)
    assert serve.start(port).token != first
    serve.stop()


@pytest.mark.slow
def test_two_servers_do_not_fight_for_a_cookie(start_serving: Start) -> None:
    one, two = start_serving(), start_serving()
    cookies = [
        each.client.get(f"/?token={each.token}").headers["set-cookie"].partition("=") for each in (one, two)
    ]
    assert cookies[0][0] != cookies[1][0]
    assert cookies[0][2].split(";")[0] != cookies[1][2].split(";")[0], "one's cookie is nothing to the other"


@pytest.mark.slow
def test_without_its_packages_it_says_what_to_install(repository: Path) -> None:
    code = "import sys; sys.modules['uvicorn'] = None; from kith.cli import main; main(['serve'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True)
    assert "pip install 'kith-agent[web]'" in done.stderr and "Traceback" not in done.stderr


# --- kith client ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_model_of_the_server_is_asked_unless_a_task_names_one(
    start_serving: Start, kith: Kith, tmp_path: Path
) -> None:
    script = tmp_path / "script.json"
    script.write_text('["By the model of the server."]')
    serve = start_serving("-m", f"replay/{script}")
    assert kith("client", "run", "what", "is", "it?").stdout.strip() == "By the model of the server."
    other = Api(serve, tmp_path).script(["By another one."])
    assert kith("client", "run", "-m", other, "what", "is", "it?").stdout.strip() == "By another one."


@pytest.mark.slow
def test_sampling_of_a_task_reaches_the_model_and_is_checked(
    start_serving: Start, stand_in: StandIn, kith: Kith
) -> None:
    server = stand_in(["Here."], "vllm")
    start_serving()
    kith("client", "run", "--temperature", "0.25", "--top-k", "7", "hello")
    body = server.requests[-1].body
    assert (body["temperature"], body["top_k"]) == (0.25, 7)
    assert "temperature" in kith("client", "run", "--temperature", "9", "hello", code=2).stderr
    assert "many" in kith("client", "run", "--top-k", "many", "hello", code=2).stderr


@pytest.mark.slow
def test_a_task_from_the_command_line_to_the_receipt(
    serve: Serving, kith: Kith, tmp_path: Path, sandbox: None
) -> None:
    model = Api(serve, tmp_path).script([EDIT, "Mended."])
    done = kith("client", "run", "--yes", "-m", model, "Mend", "mean()")
    assert done.stdout.strip() == "Mended." and "1 file changed" in done.stderr
    assert "max(len(numbers), 1)" in (kith.folder / "utils.py").read_text()
    rows = kith("client", "sessions").stdout
    assert "Mend mean()" in rows and "done" in rows
    id = rows.split()[0]
    again = kith("client", "watch", id)
    assert again.stdout.strip() == "Mended."
    assert json.loads(kith("client", "get", f"sessions/{id}").stdout)["status"] == "done"


@pytest.mark.slow
def test_a_question_is_answered_by_another_command(
    serve: Serving, kith: Kith, tmp_path: Path, sandbox: None
) -> None:
    api = Api(serve, tmp_path)
    model = api.script([EDIT, "Mended."])
    words = ["client", "run", "-m", model, "Mend mean()"]
    watching = Begotten(words, kith.folder, serve.environ, tmp_path / "watched.txt")
    until = time.monotonic() + 60
    while not (told := re.search(r"kith client answer (\w+) yes", watching.out.read_text())):
        assert time.monotonic() < until, watching.out.read_text()
        time.sleep(0.05)
    id = told[1]
    kith("client", "answer", id, "no")
    assert watching.wait(60) == 3
    assert "waits for no answer" in kith("client", "answer", id, "yes", code=2).stderr


@pytest.mark.slow
def test_a_session_is_stopped(serve: Serving, kith: Kith, tmp_path: Path) -> None:
    api = Api(serve, tmp_path)
    id = api.begin([{"text": "Too late.", "delay": 600}])
    api.until(lambda: api.get(f"sessions/{id}")["position"] != "0")
    kith("client", "stop", id)
    assert kith("client", "watch", id, code=None).returncode != 0
    assert api.get(f"sessions/{id}")["status"] == "interrupted"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["dance"], "there are: client run"),
        (["run"], "TASK"),
        (["watch"], "ID"),
        (["watch", "nothing"], "no such session"),
        (["answer", "x"], "CHOICE"),
        (["sessions", "--url", "nonsense"], "no address of a server"),
        (["sessions", "--url", "http://127.0.0.1:1", "--token", ""], "wants its token"),
    ],
)
def test_what_the_client_cannot_do_is_one_sentence(
    start_serving: Start, kith: Kith, words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sentence == "no such session":
        start_serving()
    monkeypatch.delenv("KITH_SERVE_TOKEN", raising=False)
    done = kith("client", *words, code=2)
    assert sentence in done.stderr and done.stderr.count("\n") == 1


def test_without_a_server_the_client_says_how_to_start_one(kith: Kith) -> None:
    assert "start one with `kith serve`" in kith("client", "sessions", code=2).stderr


class Squatter(BaseHTTPRequestHandler):
    """Somebody else's program on the port: it answers everything, and keeps what it was told."""

    heard: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.heard.append(f"{self.requestline}\n{self.headers}")
        body = json.dumps({"port": self.server.server_port, "proof": "0" * 64, "sessions": []}).encode()  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@pytest.mark.slow
def test_a_squatter_on_the_port_gets_nothing(kith: Kith, home: Path) -> None:
    token, state = "the-token-that-a-squatter-would-like", home / ".local/state/kith"
    with HTTPServer(("127.0.0.1", 0), Squatter) as squatter:
        threading.Thread(target=squatter.serve_forever, args=(0.01,)).start()
        url = f"http://127.0.0.1:{squatter.server_port}"
        ServerNote(url, token, squatter.server_port, os.getpid()).write(state)
        for words in (["sessions"], ["run", "words of mine"], ["sessions", "--url", url, "--token", token]):
            assert "nothing was sent to it" in kith("client", *words, code=2).stderr
        squatter.shutdown()
    said = "".join(Squatter.heard)
    assert "/api/hello" in said and token not in said and "words of mine" not in said
    assert said.count("GET") == 3


@pytest.mark.slow
def test_the_page_is_opened_in_a_browser_if_asked(
    start_serving: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    serve = start_serving("--open")
    until(lambda: seen.exists() and seen.read_text())
    assert seen.read_text().startswith(serve.url)
