"""A proxy that leads to the hosts that a command may reach, and remembers what it let through and refused."""

import asyncio
import socket
from contextlib import suppress
from typing import Final

from kith.core.hosts import Host, is_address, show_place
from kith.core.loops import leave
from kith.core.values import Reached
from kith.trees.network.addresses import is_near, is_public
from kith.trees.network.heads import MOST_BYTES, Head, parse_head
from kith.trees.network.relay import Streams, Tally, relay
from kith.trees.network.upstream import Upstream, connect_through, find_upstream

HEAD_SECONDS: Final = 30.0
CONNECT_SECONDS: Final = 10.0  # to find a name's addresses, and then for each of them
_MOST_ADDRESSES: Final = 4
_MOST_CONNECTIONS: Final = 128
_MOST_PLACES: Final = 50
_MOST_WORDS: Final = 200  # a refusal may quote the command
_OTHERS: Final = "other hosts"
_REASONS: Final = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway", 503: "Service Unavailable"}


class _Refused(Exception):
    """A request that is answered with a status and one sentence."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Proxy:
    """Leads to the `asked` hosts, and to the person's `own`, as long as the block around it lasts.

    An address that stands in either may be any. A name leads to public addresses only, so that nobody can
    point it into the network around this machine; one of the person's own that has a port may lead there.
    """

    def __init__(self, asked: tuple[Host, ...], own: tuple[Host, ...] = ()) -> None:
        self._hosts, self._own = (*asked, *own), own
        self._tallies: dict[str, Tally] = {}
        self._tasks = set[asyncio.Task[None]]()
        self._server: asyncio.Server | None = None

    def reached(self) -> tuple[Reached, ...]:
        """Every place that was asked for, in the order of the first time, up to a number."""
        return tuple(
            Reached(place, each.sent, each.received, each.refused[:_MOST_WORDS])
            for place, each in self._tallies.items()
        )

    async def listen(self, listener: socket.socket) -> None:
        """Serve what comes to a socket that is bound, whatever namespace it was made in."""
        self._server = await asyncio.start_server(self._serve, sock=listener, limit=MOST_BYTES)

    async def close(self) -> None:
        """End every connection."""
        if self._server:
            self._server.close()
        await leave(*self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._answer((reader, writer))
        except (OSError, EOFError):
            return  # one of the two went away
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, client: Streams) -> None:
        """One connection from the command: one request, and nothing after it."""
        place = ""
        try:
            if len(self._tasks) > _MOST_CONNECTIONS:
                raise _Refused(503, "too many connections at once")
            head = await _read_head(client[0])
            place = show_place(head.name, head.port)
            server = await self._reach(head)
            try:
                await relay(head, client, server, self._tally(place))
            finally:
                server[1].close()
        except _Refused as refusal:
            self._tally(place).refused = str(refusal)
            client[1].write(_answer_to(refusal, place))
            await client[1].drain()

    def _tally(self, place: str) -> Tally:
        if place not in self._tallies and len(self._tallies) >= _MOST_PLACES:
            place = _OTHERS
        return self._tallies.setdefault(place, Tally())

    async def _reach(self, head: Head) -> Streams:
        """A connection to where a request wants to go, if it may."""
        if not any(host.includes(head.name, head.port) for host in self._hosts):
            raise _Refused(403, "not allowed")
        if is_address(head.name):
            return await _connect([head.name], head.port)
        near = any(host.port and host.includes(head.name, head.port) for host in self._own)
        upstream = None if near else find_upstream(head.name, head.port)
        if upstream:
            return await _pass_on(upstream, head)
        found = await _resolve(head.name, head.port)
        good = [each for each in found if is_public(each) or (near and is_near(each))]
        if not good:
            how = f"--net {show_place(head.name, head.port)}"
            raise _Refused(403, f"leads into a private network; the person can allow that with {how}")
        return await _connect(good[:_MOST_ADDRESSES], head.port)


async def _read_head(reader: asyncio.StreamReader) -> Head:
    try:
        async with asyncio.timeout(HEAD_SECONDS):
            return parse_head(await reader.readuntil(b"\r\n\r\n"))
    except (ValueError, asyncio.LimitOverrunError) as error:
        raise _Refused(400, f"not understood: {error}") from error


async def _resolve(name: str, port: int) -> list[str]:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        raise _Refused(502, "the name is not known") from error
    return list(dict.fromkeys(str(each[4][0]) for each in found))


async def _connect(addresses: list[str], port: int) -> Streams:
    """A connection to the first of the addresses that answers: the very ones that were looked at."""
    for address in addresses:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_connection(address, port)
    raise _Refused(502, "does not answer")


async def _pass_on(upstream: Upstream, head: Head) -> Streams:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await connect_through(upstream, head.name, head.port)
    except (OSError, EOFError, asyncio.LimitOverrunError) as error:
        raise _Refused(502, "the proxy of this network does not lead there") from error


def _answer_to(refusal: _Refused, place: str) -> bytes:
    words = f"kith: {place or 'this request'}: {refusal}"[: 2 * _MOST_WORDS].encode() + b"\n"
    head = f"HTTP/1.1 {refusal.status} {_REASONS[refusal.status]}\r\nContent-Type: text/plain\r\n"
    return f"{head}Content-Length: {len(words)}\r\nConnection: close\r\n\r\n".encode() + words
