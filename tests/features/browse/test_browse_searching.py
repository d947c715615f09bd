"""Search engines' answers, in the shape in which they were recorded."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Literal

import pytest

from hostile_web import RECORDED, hostile_web
from kith.features.browse.address import parse_address
from kith.features.browse.faults import PageError
from kith.features.browse.fetching import Reach
from kith.features.browse.searching import Engine, Found, Results, search

REACH = Reach((), lambda address: False, seconds=10)
BRAVE = {
    "type": "search",
    "query": {"original": "zlib", "more_results_available": True},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "zlib",
                "url": "https://docs.python.org/3/library/zlib.html",
                "is_source_local": False,
                "description": "<strong>zlib</strong> &amp; gzip",
                "language": "en",
            }
        ],
    },
}


@contextmanager
def engine(
    answer: bytes,
    status: int = 200,
    kind: Literal["searxng", "brave"] = "searxng",
    key: str = "",
    base: str = "",
) -> Iterator[tuple[Engine, list[Any]]]:
    """An engine on this machine that gives one answer, and the requests that it got."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            """A test's own output is enough."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield Engine(parse_address(f"http://127.0.0.1:{server.server_port}{base}"), kind, key), asked
        server.shutdown()


def ask(engine: Engine, query: str = "zlib max_length") -> Results:
    return asyncio.run(search(engine, query, REACH))


def test_a_searxng_of_the_person_s_own_network_is_asked() -> None:
    with hostile_web() as site:
        results = ask(Engine(parse_address(site.url)))
    assert [each.url for each in results.found] == [
        "https://docs.python.org/3/library/zlib.html",
        "https://example.org/blog?id=7",
        "https://peps.python.org/pep-0706/",  # and no javascript:
    ]
    snippet = "Decompressor objects support max_length: returns no more than so many bytes & keeps the rest."
    assert results.found[0].snippet == snippet
    assert results.silent == ("brave", "startpage")
    assert site.asked == ["/search?q=zlib+max_length&format=json"]


@pytest.mark.parametrize("base", ["/searx", "/searx/", "/searx/search"])
def test_an_engine_below_a_path(base: str) -> None:
    with engine(RECORDED.read_bytes(), base=base) as (place, asked):
        ask(place, "a&b  c#d" + "x" * 1_000)
    assert asked[0][0].startswith("/searx/search?q=a%26b+c%23dxxx") and len(asked[0][0]) < 500


def test_brave_gets_its_key_and_nobody_sees_it() -> None:
    with engine(json.dumps(BRAVE).encode(), kind="brave", key="key-of-mine") as (place, asked):
        results = ask(place)
    assert results.found == (Found("https://docs.python.org/3/library/zlib.html", "zlib", "zlib & gzip"),)
    path, headers = asked[0]
    assert path == "/res/v1/web/search?q=zlib+max_length&count=8"
    assert headers["x-subscription-token"] == "key-of-mine"
    assert "key-of-mine" not in f"{place!r}"


@pytest.mark.parametrize(
    ("answer", "status", "why"),
    [
        *(
            (b"<html>", 200, "kind"),
            (b"{}", 200, "kind"),
            (b'{"results": 3}', 200, "kind"),
            (b"[]", 200, "kind"),
        ),
        *((b"", 403, "status"), (b"", 302, "status"), (b"", 500, "status")),
        (b'{"results": [' + b'{"url": "https://a.org"},' * 100_000 + b"]}", 200, "status"),  # too long
    ],
)
def test_what_is_no_answer_of_an_engine(answer: bytes, status: int, why: str) -> None:
    with engine(answer, status) as (place, asked), pytest.raises(PageError) as caught:
        ask(place)
    assert caught.value.why == why
    assert len(asked) == 1  # a redirect would carry the key elsewhere


def test_no_results_and_odd_rows() -> None:
    rows = [{"url": None}, {}, {"title": "x"}, {"url": "https://a.org/", "title": None, "content": None}]
    with engine(json.dumps({"results": rows, "unresponsive_engines": ["x", [], [1, 2]]}).encode()) as (
        place,
        _,
    ):
        results = ask(place)
    assert results == Results((Found("https://a.org/"),), ("1",))
