"""The one way out of a sandbox without a network: a proxy that leads to the hosts a command may reach."""

import asyncio
import base64
import ipaddress
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from kith.core.errors import TreeError
from kith.core.event_loop import leave
from kith.core.hosts import Host, is_address, parse_host, show_place
from kith.core.values import Reached
from kith.trees.environment import python_inside
from kith.trees.network_relay import MOST_BYTES, Head, Streams, Tally, parse_head, relay

# A proxy that leads to the hosts a command may reach, and remembers what it let through and refused.

# Which addresses are the public internet's, and which belong to this machine or to the network around
# it.

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Addresses of IPv4 as translators (NAT64) write them: the last 32 bits (RFC 6052).
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
# Not the internet's either, though some versions of `ipaddress` say so: for protocols and other clouds' own
# machines, old relays, translators of a network's own, documents, segments of routes (IANA's registries).
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "3fff::/20", "5f00::/16"),
    )
)
# Where clouds answer about their own machines, beside the link-local addresses.
_METADATA = (ipaddress.ip_address("fd00:ec2::254"), ipaddress.ip_address("168.63.129.16"))


def is_public(text: str) -> bool:
    """True if an address leads to the internet: not to this machine, nor into a private network."""
    address = _meant(text)
    if isinstance(address, ipaddress.IPv6Address) and (
        address.sixtofour or address.teredo or address.is_site_local
    ):
        return False  # what they lead to depends on who routes them
    closed = address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified
    special = address in _METADATA or any(address in network for network in _SPECIAL)
    return address.is_global and not closed and not address.is_reserved and not special


def is_near(text: str) -> bool:
    """True if an address is this machine's or a private network's: neither public nor a special one."""
    address = _meant(text)
    special = address.is_link_local or address.is_multicast or address.is_unspecified or address in _METADATA
    return not special and (address.is_loopback or address.is_private)


def _meant(text: str) -> _Address:
    """The address, without the clothes of IPv6 around one of IPv4."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address in _TRANSLATED:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address
    return address


# The proxy that a person's own network demands: what commands reach is then reached through it.

_VARIABLES = ("https_proxy", "all_proxy")  # as curl reads them: in lower case, or in capitals


class Upstream(Struct, frozen=True):
    """An HTTP proxy, and what it wants to hear of who asks ("" for nothing)."""

    host: str
    port: int
    credentials: str = ""


def find_upstream(name: str, port: int) -> Upstream | None:
    """The proxy for a host as kith's own environment names it; None for none, and for one of another kind."""
    named = (os.environ.get(each) or os.environ.get(each.upper()) for each in _VARIABLES)
    found = next(filter(None, named), "")
    if not found:
        return None
    from urllib.request import proxy_bypass

    if proxy_bypass(show_place(name, port)):  # what NO_PROXY says
        return None
    parts = urlsplit(found if "://" in found else f"http://{found}")
    if parts.scheme != "http" or not parts.hostname:
        return None
    who = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    credentials = base64.b64encode(who.encode()).decode() if parts.username else ""
    return Upstream(parts.hostname, parts.port or 80, credentials)


async def connect_through(upstream: Upstream, name: str, port: int) -> Streams:
    """A connection to a host behind a proxy. Raises OSError or EOFError when there is none."""
    reader, writer = await asyncio.open_connection(upstream.host, upstream.port)
    try:
        place = show_place(name, port)
        lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
        lines += [f"Proxy-Authorization: Basic {upstream.credentials}"] if upstream.credentials else []
        writer.write("\r\n".join([*lines, "", ""]).encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        if not answer.startswith((b"HTTP/1.1 2", b"HTTP/1.0 2")):
            raise ConnectionError("the proxy of this network refused")
    except BaseException:
        writer.close()
        raise
    return reader, writer


HEAD_SECONDS: Final = 30.0
CONNECT_SECONDS: Final = 10.0  # to find a name's addresses, and then for each of them
_MOST_ADDRESSES: Final = 4
_MOST_CONNECTIONS: Final = 128
_MOST_PLACES: Final = 50
_MOST_WORDS: Final = 200  # a refusal may quote the command
_OTHERS: Final = "other hosts"
_REASONS: Final = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway", 503: "Service Unavailable"}


class _RefusedRequest(Exception):
    """A request that is answered with a status and one sentence."""

    def __init__(self, status: int, why: str, inside: bool = False) -> None:
        super().__init__(why)
        self.status, self.inside = status, inside


class Proxy:
    """A proxy to the `asked` hosts, and to the person's `own`, while the block around it lasts.

    An address that is listed may be of any kind. A name leads to public addresses only, so that nobody can
    point it into the local network. One of the person's own with a port may lead there.
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

    def inside(self) -> tuple[str, ...]:
        """The places that were refused as their names lead into a private network."""
        return tuple(place for place, each in self._tallies.items() if each.inside)

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
        except (OSError, EOFError, asyncio.CancelledError):
            return  # one of the two went away, or the command ended: asyncio would print a cancellation
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, client: Streams) -> None:
        """One connection from the command: one request, and nothing after it."""
        place = ""
        try:
            if len(self._tasks) > _MOST_CONNECTIONS:
                raise _RefusedRequest(503, "too many connections at once")
            head = await _read_head(client[0])
            place = show_place(head.name, head.port)
            server = await self._reach(head)
            try:
                await relay(head, client, server, self._tally(place))
            finally:
                server[1].close()
        except _RefusedRequest as refusal:
            tally = self._tally(place)
            tally.refused, tally.inside = str(refusal), refusal.inside
            client[1].write(_answer_to(refusal, place))
            await client[1].drain()

    def _tally(self, place: str) -> Tally:
        if place not in self._tallies and len(self._tallies) >= _MOST_PLACES:
            place = _OTHERS
        return self._tallies.setdefault(place, Tally())

    async def _reach(self, head: Head) -> Streams:
        """A connection to where a request wants to go, if it may."""
        if not any(host.includes(head.name, head.port) for host in self._hosts):
            raise _RefusedRequest(403, "not allowed")
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
            words = f"leads into a private network; the person can allow that with {how}"
            raise _RefusedRequest(403, words, inside=True)
        return await _connect(good[:_MOST_ADDRESSES], head.port)


async def _read_head(reader: asyncio.StreamReader) -> Head:
    try:
        async with asyncio.timeout(HEAD_SECONDS):
            return parse_head(await reader.readuntil(b"\r\n\r\n"))
    except (ValueError, asyncio.LimitOverrunError) as error:
        raise _RefusedRequest(400, f"not understood: {error}") from error


async def _resolve(name: str, port: int) -> list[str]:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        raise _RefusedRequest(502, "the name is not known") from error
    return list(dict.fromkeys(str(each[4][0]) for each in found))


async def _connect(addresses: list[str], port: int) -> Streams:
    """A connection to the first of the addresses that answers: the very ones that were looked at."""
    for address in addresses:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_connection(address, port)
    raise _RefusedRequest(502, "does not answer")


async def _pass_on(upstream: Upstream, head: Head) -> Streams:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await connect_through(upstream, head.name, head.port)
    except (OSError, EOFError, asyncio.LimitOverrunError) as error:
        raise _RefusedRequest(502, "the proxy of this network does not lead there") from error


def _answer_to(refusal: _RefusedRequest, place: str) -> bytes:
    words = f"kith: {place or 'this request'}: {refusal}"[: 2 * _MOST_WORDS].encode() + b"\n"
    head = f"HTTP/1.1 {refusal.status} {_REASONS[refusal.status]}\r\nContent-Type: text/plain\r\n"
    return f"{head}Content-Length: {len(words)}\r\nConnection: close\r\n\r\n".encode() + words


# The one way out of a sandbox without a network: a listener in its namespace that kith's proxy answers.

PORT = 3128  # the usual one of proxies; in the sandbox nobody else listens
_ADDRESS = f"http://127.0.0.1:{PORT}"
# A socket belongs to the namespace in which it was made, whoever accepts on it: the sandbox makes it, and
# hands it out before the command begins. Another program in the place of this one would gain nothing: what
# comes through is led to the hosts and no further.
_OPENER = f"""
import _socket, os, sys
wire = _socket.socket(fileno=int(sys.argv[1]))
listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", {PORT}))
listener.listen(128)
given = listener.fileno().to_bytes(4, sys.byteorder)
wire.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, given)])
wire.close()
os.execv(sys.argv[2], sys.argv[2:])
"""
# Where programs look for certificates beside the system's own: the person's, handed on with their files.
_CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"),
    *("NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO"),
)


class Gateway:
    """The network access of a sandbox, and the hosts reached through it. Without hosts there is none."""

    def __init__(self, proxy: Proxy | None, wire: int, hosts: tuple[Host, ...] = ()) -> None:
        self._proxy, self._wire, self._hosts = proxy, wire, hosts

    @property
    def pass_fds(self) -> tuple[int, ...]:
        return (self._wire,) if self._proxy else ()

    @property
    def env(self) -> Mapping[str, str]:
        """The variables that lead programs to the proxy, and what certificates they should trust."""
        if not self._proxy:
            return {}
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), _ADDRESS)
        proxies["no_proxy"] = ",".join(_own_places(self._hosts))
        upper = {name.upper(): value for name, value in proxies.items()}
        return {**proxies, **upper, "NODE_USE_ENV_PROXY": "1", **_certificates()}

    @property
    def shown(self) -> tuple[tuple[Path, Path], ...]:
        """Files and folders with certificates, each to be shown at its own path."""
        return tuple((Path(path), Path(path)) for path in _certificates().values()) if self._proxy else ()

    def wrap(self, argv: Sequence[str]) -> list[str]:
        """`argv`, with what makes the listener in the sandbox in front of it."""
        if not self._proxy:
            return list(argv)
        return [python_inside(), "-I", "-S", "-c", _OPENER, str(self._wire), *argv]

    def reached(self) -> tuple[Reached, ...]:
        return self._proxy.reached() if self._proxy else ()


@asynccontextmanager
async def open_gateway(asked: Sequence[str], own: Sequence[str] = ()) -> AsyncIterator[Gateway]:
    """A gateway to the hosts that a command asked for, and to the person's own.

    Raises TreeError for what is no host.
    """
    try:
        hosts, owned = tuple(map(parse_host, asked)), tuple(map(parse_host, own))
    except ValueError as error:
        raise TreeError(str(error)) from error
    if not hosts and not owned:
        yield Gateway(None, -1)
        return
    proxy = Proxy(hosts, owned)
    outside, inside = socket.socketpair()
    with outside, inside:
        outside.setblocking(False)
        opening = asyncio.create_task(_listen(outside, proxy))
        try:
            yield Gateway(proxy, inside.fileno(), (*hosts, *owned))
        finally:
            await leave(opening)
            await proxy.close()


async def _listen(wire: socket.socket, proxy: Proxy) -> None:
    """Wait for the listener that the sandbox hands out, and serve it."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(wire, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(wire)
    for given in socket.recv_fds(wire, 1, 1, socket.MSG_CMSG_CLOEXEC)[1]:
        listener = socket.socket(fileno=given)
        if listener.family != socket.AF_INET or not listener.getsockopt(
            socket.SOL_SOCKET, socket.SO_ACCEPTCONN
        ):
            listener.close()
            continue
        await proxy.listen(listener)


def _own_places(hosts: tuple[Host, ...]) -> list[str]:
    """Return the sandbox's own loopback names, unless they are listed as hosts outside."""
    outside = {host.name for host in hosts}
    return [place for place in ("localhost", "127.0.0.1", "::1") if place not in outside]


def _certificates() -> dict[str, str]:
    found = {name: os.environ.get(name, "") for name in _CERTIFICATES}
    return {name: path for name, path in found.items() if Path(path).is_absolute() and Path(path).exists()}
