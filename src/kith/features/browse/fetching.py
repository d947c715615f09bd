"""Fetch one page: only from hosts that were agreed to, within limits of time and size."""

import asyncio
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from kith import __version__
from kith.core.hosts import Host
from kith.features.browse.address import Address, follow, is_closed
from kith.features.browse.faults import PageError
from kith.trees.network import Proxy

AGENT: Final = "kith"  # the name that robots.txt may speak of
_HOPS: Final = 5
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_PACKED: Final = ("gzip", "x-gzip", "deflate")
_HEADERS: Final = {
    "User-Agent": f"{AGENT}/{__version__}",
    "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.5",
    "Accept-Encoding": "gzip",
}


class Reach(Struct, frozen=True):
    """Limits of one fetch: hosts, time and size.

    `own` are the person's hosts, which may be in a private network. `agreed` tells if a redirect may be
    followed to another host.
    """

    own: tuple[Host, ...]
    agreed: Callable[[Address], bool]
    seconds: float = 30.0
    most: int = 5_000_000  # bytes, after unpacking


class Response(Struct, frozen=True):
    """A server's answer; `cut`: the body is longer. `location`: where a redirect leads."""

    address: Address
    status: int
    kind: str  # the media type, in lower case
    charset: str
    body: bytes = b""
    cut: bool = False
    location: str = ""
    stored: bool = True  # False: the server wants no copy to be kept


Wanted = Callable[[Response], bool]
Allowed = Callable[[Address], Awaitable[None]]


def everything(response: Response) -> bool:
    """Want the body, whatever it is."""
    return True


async def fetch(address: Address, reach: Reach, allowed: Allowed, wanted: Wanted) -> Response:
    """Fetch a page, and follow its redirects as far as they are agreed to.

    `allowed` is awaited for each address, and raises for one that must not be asked. `wanted` says by the
    head of an answer if its body is read. Raises PageError.
    """
    async with within(reach):
        return await _follow(address, reach, allowed, wanted)


@asynccontextmanager
async def within(reach: Reach) -> AsyncIterator[None]:
    """Bound all that is done in this block, however slowly a server speaks. Raises PageError."""
    try:
        async with asyncio.timeout(reach.seconds):
            yield
    except TimeoutError:
        raise PageError("slow", f"{reach.seconds:g}") from None


async def _follow(address: Address, reach: Reach, allowed: Allowed, wanted: Wanted) -> Response:
    for _ in range(_HOPS + 1):
        await allowed(address)
        response = await ask(address, reach, wanted)
        if not response.location:
            return response
        address = _next(address, response.location, reach)
    raise PageError("circles", str(_HOPS))


def _next(address: Address, location: str, reach: Reach) -> Address:
    """The address that a redirect leads to, if it may be followed. Raises PageError."""
    try:
        there = follow(address, location)
    except ValueError:
        raise PageError("address", location[:200]) from None
    if is_closed(there, reach.own):
        raise PageError("private", there.origin)
    weaker = address.scheme == "https" and there.scheme == "http"
    if weaker or not (there.place == address.place or reach.agreed(there)):
        raise PageError("moved", str(there))
    return there


async def ask(
    address: Address, reach: Reach, wanted: Wanted = everything, headers: Mapping[str, str] | None = None
) -> Response:
    """Send one request; redirects are not followed. Raises PageError.

    The connection is made by the proxy that leads commands out, to the address that it looked at.
    """
    if is_closed(address, reach.own):
        raise PageError("private", address.origin)
    import httpx2

    verify = httpx2.create_ssl_context() if address.scheme == "https" else False
    async with _way_out(address, reach) as (proxy, url):
        try:
            async with (
                httpx2.AsyncClient(
                    proxy=url,
                    trust_env=False,
                    follow_redirects=False,
                    verify=verify,
                    timeout=reach.seconds,
                    headers={**_HEADERS, **(headers or {})},
                ) as client,
                client.stream("GET", str(address)) as answer,
            ):
                _check_refused(proxy)
                head = _head(address, answer.status_code, answer.headers)
                if head.location or not wanted(head):
                    return head
                body = _Body(answer.headers.get("content-encoding", ""), reach.most)
                async for chunk in answer.aiter_raw():
                    if not body.take(chunk):
                        break
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            _check_refused(proxy)
            raise PageError("broken", str(error)[:200]) from error
    return Response(
        address, head.status, head.kind, head.charset, bytes(body.data), body.cut, stored=head.stored
    )


@asynccontextmanager
async def _way_out(address: Address, reach: Reach) -> AsyncIterator[tuple[Proxy, str]]:
    """The proxy that leads commands to their hosts, to this one place, and its address."""
    proxy = Proxy((address.place,), reach.own)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        port = listener.getsockname()[1]
        await proxy.listen(listener)
        try:
            yield proxy, f"http://127.0.0.1:{port}"
        finally:
            await proxy.close()


def _check_refused(proxy: Proxy) -> None:
    """Raise PageError if the proxy let nothing through."""
    for place in proxy.inside():
        raise PageError("private", place)
    for each in proxy.reached():
        if each.refused:
            raise PageError("broken", f"{each.place}: {each.refused}")


def _head(address: Address, status: int, headers: Mapping[str, str]) -> Response:
    kind, _, rest = headers.get("content-type", "").partition(";")
    charset = next(
        (
            value.strip(" \"'")
            for name, _, value in (each.partition("=") for each in rest.split(";"))
            if name.strip().lower() == "charset"
        ),
        "",
    )
    location = headers.get("location", "") if status in _REDIRECTS else ""
    stored = "no-store" not in headers.get("cache-control", "").lower()
    return Response(address, status, kind.strip().lower(), charset, location=location, stored=stored)


class _Body:
    """A body while it comes in, unpacked no further than it may grow."""

    def __init__(self, coding: str, most: int) -> None:
        coding = coding.strip().lower()
        if coding not in ("", "identity", *_PACKED):
            raise PageError("coding", coding[:40])
        self.data, self.cut = bytearray(), False
        self._most = most
        self._unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32) if coding in _PACKED else None

    def take(self, chunk: bytes) -> bool:
        """Add a piece; False when there is room for no more. Raises PageError."""
        room = self._most - len(self.data)
        if self._unpacking:
            try:
                chunk = self._unpacking.decompress(chunk, room + 1)
            except zlib.error as error:
                raise PageError("broken", str(error)) from error
        self.data += chunk[:room]
        self.cut = len(chunk) > room
        return not self.cut
