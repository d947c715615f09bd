"""One page over real sockets: where it may come from, how far redirects lead, and when enough is enough."""

import asyncio
import resource
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hostile_web import Site, bomb, hostile_web
from kith.core.hosts import parse_host
from kith.features.browse.address import Address, parse_address
from kith.features.browse.faults import PageError
from kith.features.browse.fetching import Reach, Response, everything, fetch
from kith.features.browse.page import is_text


@pytest.fixture
def site() -> Iterator[Site]:
    with hostile_web() as site:
        yield site


def nobody(address: Address) -> bool:
    return False


def reach(
    *own: str, agreed: Callable[[Address], bool] = nobody, seconds: float = 20.0, most: int = 1_000_000
) -> Reach:
    return Reach(tuple(map(parse_host, own)), agreed, seconds, most)


async def fine(address: Address) -> None:
    """Any address may be asked."""


def get(url: str, reach: Reach, wanted: Callable[[Response], bool] = is_text) -> Response:
    return asyncio.run(fetch(parse_address(url), reach, fine, wanted))


def why(url: str, reach: Reach) -> str:
    with pytest.raises(PageError) as caught:
        get(url, reach)
    return caught.value.why


def test_a_page_comes_with_its_kind(site: Site) -> None:
    answer = get(f"{site.url}/page", reach(site.place))
    assert (answer.status, answer.kind, answer.charset) == (200, "text/html", "utf-8")
    assert answer.body.startswith(b"<html>") and not answer.cut
    assert site.agents.pop().startswith("kith/")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        *(("/to-metadata", "private"), ("/to-loopback", "private"), ("/to-file", "address")),
        *(("/to-other", "moved"), ("/to-name", "moved"), ("/to-circle", "circles")),
    ],
)
def test_redirects_stop_where_nobody_agreed(site: Site, path: str, reason: str) -> None:
    assert why(f"{site.url}{path}", reach(site.place)) == reason
    assert set(site.asked) == {path}


def test_redirects_are_followed_where_it_was_agreed(site: Site) -> None:
    assert str(get(f"{site.url}/to-page", reach(site.place)).address) == f"{site.url}/page"
    agreed: list[str] = []

    def agree(address: Address) -> bool:
        agreed.append(str(address))
        return True

    assert why(f"{site.url}/to-name", reach(site.place, agreed=agree)) == "private"
    assert agreed == ["http://localhost:1/"]


def test_a_private_address_is_never_asked(site: Site) -> None:
    assert why(f"{site.url}/page", reach()) == "private"
    assert why(f"http://localhost:{site.port}/page", reach()) == "private"
    assert why(f"http://localhost:{site.port}/page", reach("localhost")) == "private"  # a name needs its port
    assert site.asked == []
    assert get(f"http://localhost:{site.port}/page", reach(f"localhost:{site.port}")).status == 200


class Rebinding(asyncio.SelectorEventLoop):
    """An event loop whose names lead to one address at first, and to this machine later."""

    def __init__(self, first: str) -> None:
        super().__init__()
        self.addresses = [first]
        self.looked_up: list[str] = []
        self.connected: list[str] = []

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        if host != "rebinding.example":
            return await super().getaddrinfo(host, port, **options)
        self.looked_up.append(host)
        address = self.addresses.pop() if self.addresses else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    async def create_connection(
        self, factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        if host == PUBLIC:
            self.connected.append(host)
            raise ConnectionRefusedError
        return await super().create_connection(factory, host, port, **options)


PUBLIC = "93.184.216.34"


def ask_rebound(site: Site, first: str, *own: str) -> tuple[str, Rebinding]:
    """Why a page of such a name cannot be had, and what its event loop saw."""
    loop = Rebinding(first)
    url = f"http://rebinding.example:{site.port}/page"
    with pytest.raises(PageError) as caught:
        loop.run_until_complete(fetch(parse_address(url), reach(*own), fine, everything))
    loop.close()
    return caught.value.why, loop


@pytest.mark.parametrize("first", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "0.0.0.0", PUBLIC])
def test_a_name_that_changes_its_address_gains_nothing(site: Site, first: str) -> None:
    reason, loop = ask_rebound(site, first)
    assert reason == ("broken" if first == PUBLIC else "private")
    assert loop.connected == [PUBLIC] * (first == PUBLIC)  # the very address that was looked at
    assert len(loop.looked_up) == 1 and site.asked == []


def test_a_listed_name_never_leads_to_a_cloud_s_own_address(site: Site) -> None:
    assert ask_rebound(site, "169.254.169.254", f"rebinding.example:{site.port}")[0] == "private"
    assert site.asked == []


def test_a_bomb_and_a_flood_are_cut(site: Site) -> None:
    bomb()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for path in ("/bomb", "/huge"):
        answer = get(f"{site.url}{path}", reach(site.place, most=100_000))
        assert answer.cut and len(answer.body) == 100_000
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 260_000
    )  # kB; the server packs 200 MB


def test_a_slow_page_ends_in_time(site: Site) -> None:
    assert why(f"{site.url}/drip", reach(site.place, seconds=0.5)) == "slow"


def test_what_is_not_wanted_is_not_read(site: Site) -> None:
    for path in ("/image", "/missing"):
        answer = get(f"{site.url}{path}", reach(site.place))
        assert answer.body == b""


def test_a_packing_that_nobody_asked_for_is_refused() -> None:
    assert (
        why_of_answer(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: br\r\n\r\nx")
        == "coding"
    )


PACKED = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: text/plain\r\n\r\n"


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH\r\n", PACKED + b"plain"])
def test_what_is_no_answer_is_told(answer: bytes) -> None:
    assert why_of_answer(answer) == "broken"


def why_of_answer(answer: bytes) -> str:
    """Why a page cannot be had of a server that says only this."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async def ask() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            address = parse_address(f"http://127.0.0.1:{port}/")
            await fetch(address, reach(f"127.0.0.1:{port}"), fine, everything)

    with pytest.raises(PageError) as caught:
        asyncio.run(ask())
    return caught.value.why
