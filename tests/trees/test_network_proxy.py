"""The proxy, over real sockets on this machine: what it carries, what it counts, and whom it refuses."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from kith.core.hosts import parse_host
from kith.core.values import Reached
from kith.trees.network import Proxy

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(serve: Serve) -> AsyncIterator[int]:
    """A server on this machine; gives its port."""
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        yield listening.sockets[0].getsockname()[1]


@asynccontextmanager
async def proxied(*hosts: str, own: tuple[str, ...] = ()) -> AsyncIterator[tuple[Proxy, int]]:
    proxy = Proxy(tuple(map(parse_host, hosts)), tuple(map(parse_host, own)))
    listener = socket.create_server(("127.0.0.1", 0))
    await proxy.listen(listener)
    try:
        yield proxy, listener.getsockname()[1]
    finally:
        await proxy.close()


async def say(port: int, *pieces: bytes) -> bytes:
    """Send the pieces and read to the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
    answer = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    return answer


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Says hello first, then everything back."""
    writer.write(b"hello ")
    while chunk := await reader.read(100):
        writer.write(chunk)
    writer.close()


async def tell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers with what it got of one request: 200 bytes at the most, in a reply without a length."""
    got = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
    if b"Content-Length: 4" in got:
        got += await reader.readexactly(4)
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + got)
    await writer.drain()
    writer.close()


def connect(place: str) -> bytes:
    return f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode()


def test_a_tunnel_carries_both_ways_and_is_counted() -> None:
    async def test() -> None:
        async with server(echo) as port, proxied(f"127.0.0.1:{port}") as (proxy, door):
            reader, writer = await asyncio.open_connection("127.0.0.1", door)
            writer.write(connect(f"127.0.0.1:{port}"))
            opened = b"HTTP/1.1 200 Connection established\r\n\r\nhello "
            assert await reader.readexactly(len(opened)) == opened  # before the command said anything
            writer.write(b"x" * 300_000)
            writer.write_eof()
            assert len(await asyncio.wait_for(reader.read(), 60)) == 300_000
            assert proxy.reached() == (Reached(f"127.0.0.1:{port}", 300_000, 300_006),)

    asyncio.run(test())


def test_a_plain_request_is_one_and_no_second_follows_it() -> None:
    async def test() -> None:
        async with server(tell) as port, proxied(f"127.0.0.1:{port}") as (_, door):
            place = f"127.0.0.1:{port}"
            head = f"POST http://{place}/a HTTP/1.1\r\nHost: {place}\r\nContent-Length: 4\r\n\r\n"
            answer = await say(door, head.encode(), b"bodyGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n\r\nPOST /a HTTP/1.1\r\nHost: " + place.encode())
            assert answer.endswith(b"\r\n\r\nbody") and b"evil" not in answer

    asyncio.run(test())


@pytest.mark.parametrize(
    ("request_for", "why"),
    [
        ("evil.test:443", "not allowed"),
        ("allowed.test.evil.test:443", "not allowed"),
        ("127.0.0.1:22", "not allowed"),
        ("localhost:{port}", "not allowed"),
        ("[::1]:{port}", "not allowed"),
        ("[::ffff:127.0.0.2]:{port}", "not allowed"),
        ("127.1:{port}", "not understood: '127.1' is no name of a host"),
        ("0x7f000001:{port}", "not understood: '0x7f000001' is no name of a host"),
        ("allowed.test@127.0.0.1:{port}", "not understood: 'allowed.test@127.0.0.1' is no name of a host"),
    ],
)
def test_everything_else_is_refused_and_told(request_for: str, why: str) -> None:
    async def test() -> None:
        async with server(echo) as port, proxied(f"127.0.0.1:{port}", "allowed.test") as (proxy, door):
            answer = await say(door, connect(request_for.format(port=port)))
            assert answer.startswith((b"HTTP/1.1 403 Forbidden\r\n", b"HTTP/1.1 400 Bad Request\r\n"))
            assert why in answer.decode() and [each.refused for each in proxy.reached()] == [why]

    asyncio.run(test())


def test_a_name_leads_into_the_network_around_only_where_the_person_said_so() -> None:
    async def test() -> None:
        async with server(tell) as port:
            place = f"localhost:{port}"
            request = f"GET http://{place}/ HTTP/1.1\r\nHost: {place}\r\n\r\n".encode()
            async with proxied(place, own=("localhost",)) as (proxy, door):
                assert (await say(door, request)).startswith(b"HTTP/1.1 403 ")
                assert [each.refused for each in proxy.reached()] == [
                    f"leads into a private network; the person can allow that with --net {place}"
                ]
            async with proxied(own=(place,)) as (_, door):
                assert (await say(door, request)).startswith(b"HTTP/1.1 200 OK\r\n\r\nGET / HTTP/1.1\r\n")

    asyncio.run(test())


def hello(name: str) -> bytes:
    context, out = ssl.create_default_context(), ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return out.read()


@pytest.mark.parametrize(("name", "through"), [("localhost", True), ("evil.test", False)])
def test_a_tunnel_asks_for_the_name_that_it_was_opened_for(name: str, through: bool) -> None:
    got = bytearray()

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.extend(await reader.read(10_000))
        writer.close()

    async def test() -> None:
        async with server(keep) as port, proxied(own=(f"localhost:{port}",)) as (proxy, door):
            first = hello(name)
            answer = await say(door, connect(f"localhost:{port}"), first[:20], first[20:])
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert bytes(got) == (first if through else b"")
            refused = "" if through else "asks for evil.test in a tunnel to it"
            assert [each.refused for each in proxy.reached()] == [refused]

    asyncio.run(test())


@pytest.mark.parametrize("first", [b"\x15\x03\x01\x00\x02\x01\x5a", b"\x14\x03\x03\x00\x01\x01"])
def test_a_record_before_the_name_hides_no_name(first: bytes) -> None:
    got = bytearray()

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.extend(await reader.read(10_000))
        writer.close()

    async def test() -> None:
        async with server(keep) as port, proxied(own=(f"localhost:{port}",)) as (proxy, door):
            await say(door, connect(f"localhost:{port}"), first + hello("evil.test"))
            assert not got and proxy.reached()[0].refused

    asyncio.run(test())


def test_what_is_no_request_is_answered_and_nothing_waits_for_its_end() -> None:
    async def test() -> None:
        async with proxied("a.test") as (proxy, door):
            assert (await say(door, b"x" * 70_000)).startswith(b"HTTP/1.1 400 ")
            assert (await say(door, b"\x05\x01\x00\r\n\r\n")).startswith(b"HTTP/1.1 400 ")
            waiting, _ = await asyncio.open_connection("127.0.0.1", door)
            await asyncio.sleep(0.01)
            await proxy.close()
            assert await asyncio.wait_for(waiting.read(), 60) == b""

    asyncio.run(test())


def test_many_names_are_not_all_remembered() -> None:
    async def test() -> None:
        async with proxied("a.test") as (proxy, door):
            for number in range(60):
                await say(door, connect(f"x{number}.test:443"))
            reached = proxy.reached()
            assert (reached[0].place, reached[-1].place, len(reached)) == ("x0.test:443", "other hosts", 51)

    asyncio.run(test())


def test_where_a_network_demands_a_proxy_it_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = list[bytes]()

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" if b"a.test" in heads[-1] else b"HTTP/1.1 407 No\r\n\r\n")
        await echo(reader, writer)

    async def test() -> None:
        async with server(upstream) as port, proxied("a.test", "b.test", "localhost") as (proxy, door):
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:p%40ss@127.0.0.1:{port}")
            monkeypatch.setenv("NO_PROXY", "localhost")
            reader, writer = await asyncio.open_connection("127.0.0.1", door)
            writer.write(connect("a.test:443") + b"x")
            writer.write_eof()
            assert (await asyncio.wait_for(reader.read(), 60)).endswith(b"\r\n\r\nhello x")
            for place in ("b.test:443", "localhost:443", "d.test:443"):
                await say(door, connect(place))
            assert [bool(each.refused) for each in proxy.reached()] == [False, True, True, True]
            assert proxy.inside() == ("localhost:443",)

    asyncio.run(test())
    assert [head.split(b" ")[1] for head in heads] == [b"a.test:443", b"b.test:443"]
    assert b"Proxy-Authorization: Basic bWU6cEBzcw==\r\n" in heads[0]
