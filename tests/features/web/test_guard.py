"""The door of `kith serve`, tried by strangers: other names, other pages, other forms, no token."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from kith.features.web.tokens import ticket_for
from serving import Serving

TOKEN = "a-token-that-the-tests-of-the-door-use"
ENDINGS = ("/", "/api/sessions", "/api/no-such-thing", "/api/file?path=a", "/metrics", "/v1/models")


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One server for all these tests: none of them gets far enough to change anything."""
    base = tmp_path_factory.mktemp("door")
    folder = base / "project"
    folder.mkdir()
    (base / "secret").write_text("not for the API")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    places = {"HOME": base, "XDG_CONFIG_HOME": base / "c", "XDG_STATE_HOME": base / "s"}
    places |= {"XDG_DATA_HOME": base / "d", "XDG_CACHE_HOME": base / "k"}
    environ = {
        **os.environ,
        **{name: str(place) for name, place in places.items()},
        "KITH_SERVE_TOKEN": TOKEN,
    }
    serving = Serving(folder, environ=environ).start()
    yield serving
    serving.stop()


@pytest.fixture(scope="module")
def stranger(door: Serving) -> Iterator[httpx2.Client]:
    """Somebody without the token."""
    with httpx2.Client(base_url=door.url, timeout=60, verify=False) as client:
        yield client


@pytest.fixture(scope="module")
def browser(door: Serving) -> Iterator[httpx2.Client]:
    """A browser that has been let in."""
    with httpx2.Client(base_url=door.url, timeout=60, verify=False) as client:
        client.get(f"/?token={TOKEN}")
        yield client


def raw(door: Serving, request: str, wait: float = 60) -> tuple[int, str]:
    """What the server answers to these bytes: the first status, and all it said until it closed."""
    with socket.create_connection(("127.0.0.1", door.port), wait) as connection:
        connection.sendall(request.encode("latin-1"))
        connection.shutdown(socket.SHUT_WR)
        said = b""
        while data := connection.recv(65536):
            said += data
    return int(said.split()[1]), said.decode("latin-1")


# --- by which name ----------------------------------------------------------------------------------


def test_a_name_that_was_rebound_to_this_machine_is_not_ours(door, browser):
    port = door.port
    strange = (
        "evil.test",
        f"evil.test:{port}",
        "localhost.evil.test",
        "127.0.0.1.evil.test",
        "127.0.0.2",
        "",
    )
    for name in (*strange, "localhost@evil.test", "localhost:x", "localhost,evil.test"):
        for path in ENDINGS:
            answer = browser.get(path, headers={"Host": name})
            assert answer.status_code == 421, (name, path)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["detail"].endswith(".")


@pytest.mark.parametrize(
    "name", ["localhost", "127.0.0.1", "LocalHost:{port}", "[::1]:{port}", "localhost:9999"]
)
def test_the_names_of_this_machine_are_ours_at_any_port(door, browser, name):
    """A tunnel may end at another port."""
    assert browser.get("/api/no-such", headers={"Host": name.format(port=door.port)}).status_code == 404


def test_an_absolute_target_names_the_server_too(door):
    bearer = f"Authorization: Bearer {TOKEN}"
    asked = "GET http://{}/api/no-such HTTP/1.1\r\nHost: localhost\r\n{}\r\nConnection: close\r\n\r\n"
    assert raw(door, asked.format("evil.test", bearer))[0] == 421
    assert raw(door, asked.format("localhost", bearer))[0] == 404
    assert raw(door, asked.format("localhost@evil.test", bearer))[0] == 421


@pytest.mark.parametrize(
    "lines",
    [
        "Host: localhost\r\nHost: evil.test",
        "Host: localhost\r\nhost: localhost",
        "X: y",
        "Host: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked",
        "Host: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 4",
        "Host: localhost\r\nContent-Length: 4\r\nContent-Length: 5",
        "Host: localhost\r\nContent-Length: -4",
        "Host: localhost\r\nContent-Length: 4\r\nTransfer-Encoding : chunked",
        "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.test",
        "Host: localhost\r\nContent-Type: text/plain\r\nContent-Type: application/json",
        "Host: localhost\r\nX: a\rb",
    ],
)
def test_a_request_that_two_readers_may_take_differently_is_refused_and_the_line_cut(door, lines):
    request = (
        f"POST /api/sessions HTTP/1.1\r\n{lines}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n0\r\n\r\nGET /x"
    )
    status, said = raw(door, request)
    assert status == 400 and said.count("HTTP/1.1") == 1, said


# --- from which page --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS", "HEAD"])
def test_pages_of_others_get_nothing(door, browser, method):
    strange = ("https://evil.test", "http://localhost:3000", "null", f"https://localhost:{door.port}", "")
    for origin in (*strange, f"http://localhost:{door.port}"):  # browser asks for 127.0.0.1
        for path in ENDINGS:
            headers = {"Origin": origin, "Content-Type": "application/json"}
            headers["Access-Control-Request-Private-Network"] = "true"
            answer = browser.request(method, path, headers=headers)
            assert answer.status_code == 403, (origin, path)
            assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_what_a_browser_says_of_the_asking_page_counts(browser, site):
    assert browser.get("/", headers={"Sec-Fetch-Site": site}).status_code == 403


def test_a_person_reads_a_sentence(stranger):
    answer = stranger.get("/", headers={"Accept": "text/html,*/*", "Host": "evil.test"})
    assert answer.headers["content-type"].startswith("text/plain") and "{" not in answer.text


def test_its_own_page_may_ask(door, browser):
    for site in ("same-origin", "none"):
        answer = browser.get("/api/no-such", headers={"Origin": door.url, "Sec-Fetch-Site": site})
        assert answer.status_code == 404
        assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_only_json_changes_anything(browser, method):
    """What a form of another page can send is none."""
    forms = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
    for kind in (*forms, "", "application/jsonp", "text/plain; application/json"):
        answer = browser.request(method, "/api/sessions", headers={"Content-Type": kind}, content=b"{}")
        assert answer.status_code == 415, kind
    assert browser.request(method, "/api/sessions/x/cancel").status_code == 415


# --- with which token -------------------------------------------------------------------------------


def test_without_the_token_nobody_gets_in(door, stranger):
    wrong = ("", "Bearer", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", "Bearer ÿþ".encode("latin-1"))
    tries = [{"Authorization": each} for each in wrong]
    tries += [{"Cookie": f"kith-{door.port}={TOKEN}"}, {"Cookie": f"kith={TOKEN}; ;;=; x"}, {}]
    for headers in tries:
        for path in ENDINGS:
            answer = stranger.get(path, headers=headers)
            assert answer.status_code in (401, 429), (headers, path)
            assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.slow
def test_a_web_socket_needs_the_token_before_there_is_none(door):
    time.sleep(1.1)
    hands = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    asked = f"GET /ws HTTP/1.1\r\nHost: localhost\r\nSec-WebSocket-Version: 13\r\n{hands}"
    assert raw(door, f"{asked}\r\n")[0] == 401
    assert raw(door, f"{asked}Authorization: Bearer {TOKEN}\r\n\r\n")[0] == 404


@pytest.mark.slow
def test_guessing_is_slowed_and_the_person_still_gets_in(door, stranger, browser):
    time.sleep(1.1)
    guess = "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer guess\r\n"
    _, said = raw(door, f"{guess}\r\n" * 24 + f"{guess}Connection: close\r\n\r\n")
    codes = [int(code) for code in re.findall(r"HTTP/1.1 (\d+)", said)]
    assert codes[:10] == [401] * 10 and {*codes[10:]} <= {401, 429}
    assert 429 in codes, "a slow machine may need more than the second after which guesses are heard again"
    assert browser.get("/api/no-such").status_code == 404
    time.sleep(1.1)
    assert stranger.get("/").status_code == 401


def test_the_first_address_becomes_a_cookie_and_the_token_leaves_it(door):
    stranger = httpx2.Client(base_url=door.url, verify=False)
    came = stranger.get(f"/?token={TOKEN}&project=a%20b")
    assert came.status_code == 303 and came.headers["location"] == "/?project=a+b"
    assert came.headers["referrer-policy"] == "no-referrer" and came.headers["cache-control"] == "no-store"
    cookie = came.headers["set-cookie"]
    assert cookie.startswith(f"kith-{door.port}=") and TOKEN not in cookie
    assert "; HttpOnly" in cookie and "; SameSite=Strict" in cookie and "; Path=/" in cookie
    assert "Domain" not in cookie and "Max-Age" not in cookie
    assert stranger.get("/api/no-such").status_code == 404, "the cookie lets in"


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_what_another_user_has_seen_is_nothing_to_them(door, browser):
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    rest = "HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"

    def status_as(user: int, asked: str) -> int:
        read, write = os.pipe()
        if os.fork() == 0:
            os.setuid(user)
            with socket.create_connection(("127.0.0.1", door.port), 5) as connection:
                connection.sendall(asked.encode())
                os.write(write, connection.recv(12))
            os._exit(0)
        os.wait()
        return int(os.read(read, 12).split()[1])

    with_cookie = f"GET /api/no-such {rest}Cookie: {cookie}\r\n\r\n"
    with_ticket = f"GET /?token={ticket_for(TOKEN, door.port)} {rest}\r\n"  # on the browser's command line
    assert status_as(0, with_cookie) == 404 and status_as(0, with_ticket) == 303
    assert status_as(12345, with_cookie) in (401, 429) and status_as(12345, with_ticket) in (401, 429)


def test_the_first_address_leads_nowhere_else(door, stranger):
    for path in (
        "//evil.test/",
        "/\\evil.test/",
        "/%5cevil.test",
        "/%2f%2fevil.test/",
        "/%0d%0aLocation:%20x",
    ):
        asked = f"GET {path}?token={TOKEN} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        status, said = raw(door, asked)
        assert status == 400 and "location: " not in said.lower(), path
    with_token = stranger.get("/api/sessions", params={"token": TOKEN})
    assert with_token.status_code in (401, 429), "the API takes no token so"
    assert stranger.get("/?token=wrong").status_code in (401, 429)


@pytest.mark.parametrize(
    "path", ["/api", "/v1", "/v1/models", "/metrics", "/openapi.json", "/static/1/app.js"]
)
def test_a_token_in_the_address_of_the_api_becomes_no_cookie(stranger, path):
    answer = stranger.get(path, params={"token": TOKEN})
    assert answer.status_code in (401, 429) and "set-cookie" not in answer.headers


def test_health_is_all_that_strangers_may_know(stranger):
    answer = stranger.get("/api/health")
    assert answer.status_code == 200 and answer.json() == {"status": "ok"}
    assert stranger.post("/api/health").status_code in (401, 429)
    assert stranger.get("/metrics").status_code in (401, 429)


# --- in which form ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/api/x%0d%0aSet-Cookie:a=b",
        "/api/sessions/..%2f..%2fx",
        "/api/session/%2e%2e/%2e%2e/x",
        "/api/../../etc/passwd",
        "/static/..%5c..%5csecret",
        "/static/%2e%2e/%2e%2e/app.py",
        "/api/%00",
        "/api/./sessions",
    ],
)
def test_a_path_has_no_tricks(door, path):
    lines = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close"
    status, said = raw(door, f"GET {path} HTTP/1.1\r\n{lines}\r\n\r\n")
    assert status == 400 and "set-cookie" not in said.lower()


@pytest.mark.parametrize(
    "path", ["../../secret", "../secret", "/etc/passwd", "..%2fsecret", "a/../../secret"]
)
def test_no_file_outside_the_project_is_shown(browser, path):
    answer = browser.get("/api/file", params={"path": path})
    assert answer.status_code in (400, 403, 404, 422) and "not for the API" not in answer.text


def test_a_body_has_an_end(door, browser):
    big = b"x" * (1 << 20) + b"x"
    answer = browser.post("/api/sessions", headers={"Content-Type": "application/json"}, content=big)
    assert answer.status_code == 413
    pieces = (b"x" * 65536 for _ in range(64))
    answer = browser.post("/api/sessions", headers={"Content-Type": "application/json"}, content=pieces)
    assert answer.status_code == 413
    assert browser.get("/api/no-such").status_code == 404


def test_a_body_that_never_ends_costs_no_memory(door):
    head = f"POST /api/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    before = _memory(door)
    with socket.create_connection(("127.0.0.1", door.port), 10) as connection:
        connection.sendall(head.encode())
        piece = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
        for _ in range(100):
            connection.sendall(piece)
        connection.sendall(b"0\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")
    assert _memory(door) - before < 16_000, "kB"


def _memory(door: Serving) -> int:
    status = Path(f"/proc/{door.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


# --- what every answer carries ----------------------------------------------------------------------


def test_every_answer_forbids_what_pages_need_not(door, stranger, browser):
    answers = [
        browser.get("/"),
        browser.get("/api/no-such"),
        stranger.get("/"),
        stranger.get("/", headers={"Host": "x"}),
    ]
    answers += [
        browser.post("/api/sessions"),
        browser.get("/api/sessions"),
        httpx2.get(f"{door.url}/?token={TOKEN}"),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert (
            "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        )
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_the_server_proves_itself_without_telling_the_token(door, stranger):
    nonce = "0123456789abcdef"
    answer = stranger.get("/api/hello", params={"nonce": nonce})
    assert answer.json()["port"] == door.port and TOKEN not in answer.text
    assert answer.json()["proof"] != stranger.get("/api/hello", params={"nonce": nonce[::-1]}).json()["proof"]
    assert stranger.get("/api/hello", params={"nonce": "short"}).status_code == 400
