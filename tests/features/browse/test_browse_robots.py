"""robots.txt is asked once and respected."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from kith.core.hosts import parse_host
from kith.features.browse.address import parse_address
from kith.features.browse.cache import Cache
from kith.features.browse.faults import PageError
from kith.features.browse.fetching import Reach
from kith.features.browse.robots import check_robots


@contextmanager
def robots(status: int, text: str = "") -> Iterator[tuple[str, list[str]]]:
    """A server with this robots.txt; gives its place, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *args: object) -> None:
            """A test's own output is enough."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", asked
        server.shutdown()


def allows(place: str, path: str, cache: Cache) -> bool:
    reach = Reach((parse_host(place),), lambda address: False)
    try:
        asyncio.run(check_robots(parse_address(f"http://{place}{path}"), reach, cache))
    except PageError as error:
        assert error.why == "robots"
        return False
    return True


def test_rules_hold_and_are_asked_for_once(tmp_path: Path) -> None:
    kith = "User-agent: Kith\nDisallow: /private\nAllow: /private/ok$\nDisallow: /*.pdf$"
    text = f"User-agent: *\nDisallow: /\n\n{kith}"
    cache = Cache(tmp_path)
    with robots(200, text) as (place, asked):
        found = [
            allows(place, path, cache) for path in ("/", "/private/x", "/private/ok", "/a.pdf", "/a.pdf?x")
        ]
    assert found == [True, False, True, False, True]
    assert asked == ["/robots.txt"]


@pytest.mark.parametrize(
    ("status", "allowed"), [(404, True), (403, True), (200, True), (503, False), (301, True)]
)
def test_without_rules_all_is_allowed_unless_the_server_fails(
    tmp_path: Path, status: int, allowed: bool
) -> None:
    with robots(status) as (place, _):
        assert allows(place, "/x", Cache(tmp_path)) == allowed


def test_rules_against_everybody_hold_for_kith(tmp_path: Path) -> None:
    with robots(200, "User-agent: *\nDisallow: /") as (place, _):
        assert not allows(place, "/x", Cache(tmp_path))
        assert allows(place, "/robots.txt", Cache(tmp_path))
