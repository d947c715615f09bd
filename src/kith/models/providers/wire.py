"""One model server: its address, connection and patience; every HTTP request to a model passes here."""

import asyncio
import importlib
import ipaddress
import json
import re
import socket
import time
from base64 import b64encode
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct, field

from kith.core.errors import ModelError, UsageError
from kith.core.structs import repr_without
from kith.models.providers.answers import read_json
from kith.models.providers.faults import (
    IN_STREAM,
    BrokenReplyError,
    LostReplyError,
    UnreachableError,
    fault,
    retry_after,
)
from kith.models.providers.manner import USUAL, Manner
from kith.models.providers.waiting import Clock, Sleep, Vigil

# Whether an address leads out of this machine and the network it stands in.


Lookup = Callable[[str], Awaitable[list[str]]]  # a host's name -> its addresses

# Addresses behind which there may be any IPv4 address: NAT64, 6to4, Teredo.
_THROUGH = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/32", "2002::/16", "2001::/32")))
# Names that no public name server answers: mDNS (RFC 6762), the special names of RFC 6761 and RFC 8375, and
# what routers and companies give out at home (ICANN keeps `internal` free for that).
_LOOKUP_S = 2.0
_HOME = (".local", ".localhost", ".home.arpa", ".internal", ".lan", ".home")
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)  # old ways to write an IPv4 address


def is_cloud(url: str) -> bool:
    """True for everything but loopback, private addresses, `.local` and its kin, and names without a dot.

    What cannot be read counts as outside.
    """
    try:
        host = (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return not (host.endswith(_HOME) or ("." not in host and host and not _NUMBER.fullmatch(host)))
    return _is_outside(address)


async def leads_out(url: str, lookup: Lookup | None = None) -> bool:
    """True if a name that looks local resolves to an address outside the person's own network.

    A name without an address is False: asking it fails anyway.
    """
    host = urlsplit(url).hostname or ""
    try:
        found = await asyncio.wait_for((lookup or _look_up)(host), _LOOKUP_S)
    except (OSError, UnicodeError, TimeoutError):
        return False
    return any(_is_outside(ipaddress.ip_address(each.partition("%")[0])) for each in found)


async def _look_up(host: str) -> list[str]:
    rows = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in rows]


def _is_outside(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global
    if address.ipv4_mapped:
        return address.ipv4_mapped.is_global
    return address.is_global or any(address in each for each in _THROUGH)


# One model server: its address, connection and patience; every HTTP request to a model passes here.


if TYPE_CHECKING:
    import ssl

    import httpx2


_LONGEST_ANSWER = 16 * 1024 * 1024  # bytes of an answer that is not a stream
_LONGEST_STREAM = 128 * 1024 * 1024  # bytes; twice the longest line
_SHORTEST_KEY = 4  # characters; anything shorter would blot out other words
_END = "[DONE]"  # OpenAI's end mark of a stream of events
_FAR_CONNECT_S = 10.0  # a machine elsewhere may be off, and then nothing ever comes back


async def load_http() -> None:
    """Load the HTTP library, which takes a while: in a thread, what else is under way goes on meanwhile."""
    await asyncio.to_thread(importlib.import_module, "httpx2")


class Endpoint(Struct):
    """A model server at `url` (its root: a trailing `/v1` is left out), with an optional key.

    A key is a bearer's, or `user:password`, or the whole value of the header `key_header`. A key in the
    address is removed from it, since addresses are shown and logged. `headers` are sent with every
    request, as are those of the server's `manner`. `cloud`: the address leads out of the person's own
    network; None: decided by the address.

    `Vigil` bounds the wait for a silent server, in seconds. After `quiet_s` without a byte it is probed,
    and must answer within `probe_s`. It counts as lost after `stall_s` without an answer, and after
    `look_s` where it was only asked about itself. `connect_s` limits a connection. None: on this machine
    as long as an answer, since only a busy server is slow to accept one; elsewhere 10 s. `transport`
    replaces the network in tests, `clock` and `sleep` the time.
    """

    url: str
    key: str = ""
    key_header: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    cloud: bool | None = None
    manner: Manner = USUAL
    stall_s: float = 600.0
    connect_s: float | None = None
    quiet_s: float = 30.0
    probe_s: float = 5.0
    look_s: float = 60.0
    clock: Clock = time.monotonic
    sleep: Sleep = asyncio.sleep
    transport: "httpx2.AsyncBaseTransport | None" = None
    _client: "httpx2.AsyncClient | None" = None
    _loop: asyncio.AbstractEventLoop | None = None
    __repr__ = repr_without("key", "headers", "manner", "clock", "sleep", "transport")

    def __post_init__(self) -> None:
        self.url = self.url.strip().rstrip("/").removesuffix("/v1").rstrip("/")
        parts = _split(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            shown = self.url.rpartition("@")[2].partition("?")[0]  # beside that there may be a key
            raise UsageError(
                f"{shown!r} is not the address of a model server; it should look like http://host:port"
            )
        if parts.query or parts.fragment:  # a key stands there, more often than not
            raise UsageError(
                f"the address of {parts.hostname} ends in a query; "
                "a key belongs into a variable, named by key_env"
            )
        if parts.username is not None:
            self.key = self.key or f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self.url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        self.key = self.key.strip()
        # An HTTP library would quote a header that cannot be sent, key and all.
        is_sent_as_it_is = self.key_header or ":" not in self.key
        if is_sent_as_it_is and not (self.key.isascii() and self.key.isprintable()):
            raise UsageError(f"the key for {self.url} has invalid characters; was it copied completely?")

    @property
    def is_cloud(self) -> bool:
        """True if requests leave this machine and its own network."""
        return is_cloud(self.url) if self.cloud is None else self.cloud

    @property
    def _patience(self) -> float:
        """Seconds that a connection may take."""
        if self.connect_s is not None:
            return self.connect_s
        # A closed port of this machine refuses at once.
        return self.stall_s if is_loopback(self.url) else _FAR_CONNECT_S

    async def get(self, path: str, **query: str) -> Any:
        """The JSON at a path. Raises ModelError."""
        return await self._ask("GET", path, None, query)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON answer to a JSON body. Raises ModelError."""
        return await self._ask("POST", path, body, {})

    @asynccontextmanager
    async def stream_lines(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[AsyncIterator[Any]]:
        """Post a body; the block reads the answer's lines as JSON objects, and closes the stream."""
        async with self._open("POST", path, body) as answer:
            yield self._objects(read_lines(answer), answer.vigil)

    @asynccontextmanager
    async def stream_events(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[AsyncIterator[Any]]:
        """Post a body; the block reads the answer's events as JSON objects, None for the end mark."""
        # A whole JSON answer where a stream was asked for is a refusal, whatever its status says (LM Studio).
        async with self._open("POST", path, body, refusals=("html", "application/json")) as answer:
            yield self._objects(read_events(read_lines(answer)), answer.vigil)

    def cut_short(self, heard: bool) -> ModelError:
        """A stream that ended without its end mark; if something was `heard`, it is asked once more only."""
        text = f"{self.url} broke off its reply before the end"
        return BrokenReplyError(text) if heard else ModelError(text, retryable=True)

    async def close(self) -> None:
        """Close what is open; the next request opens it again."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    async def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, str]
    ) -> Any:
        async with self._open(method, path, body, query) as answer:
            text = await _collect(answer)
        try:
            return read_json(text)
        except ValueError:
            raise ModelError(f"{self.url} answered {path} with something that is not JSON") from None

    @asynccontextmanager
    async def _open(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, str] | None = None,
        refusals: tuple[str, ...] = ("html",),
    ) -> AsyncIterator["_Answer"]:
        """A request that was accepted, as the bytes of its answer; what goes wrong becomes a ModelError.

        `refusals` are content types that mean no, even with status 200.
        """
        import httpx2

        client, response = self._opened(), None
        request = client.build_request(
            method,
            self.url + self.manner.place(path),
            params=query or None,
            headers=self._headers(),
            content=_encode(body),
        )
        # What a server says of itself takes no work: there is no prompt that could be read meanwhile.
        is_look = method == "GET"
        stall_s = min(self.look_s, self.stall_s) if is_look else self.stall_s
        vigil = Vigil(
            stall_s, min(self.quiet_s, stall_s), self.clock, self.sleep, self._is_alive, begun=is_look
        )
        limit = asyncio.timeout(None)
        watch = asyncio.create_task(vigil.keep(limit))
        try:
            async with limit:
                response = await client.send(request, stream=True)
                await self._check(response, refusals)
                yield _Answer(response, vigil)
        except httpx2.RequestError as error:
            heard = response is not None and response.num_bytes_downloaded > 0
            raise self._in_words(error, heard) from error
        except TimeoutError:
            if not limit.expired():
                raise
            words = "it seems to hang. If it is only slow, raise the setting `stall`"
            raise LostReplyError(f"{self.url} sent nothing for {stall_s:,.0f} s; {words}") from None
        finally:
            watch.cancel()
            if response is not None:
                await response.aclose()

    async def _is_alive(self) -> bool:
        """True if the server answers anything on a second connection, also an error.

        Only a gateway's report that its server is gone (502, 504) does not count.
        """
        import httpx2

        try:
            async with asyncio.timeout(min(self.probe_s, self.stall_s)):
                response = await self._opened().get(self.url + "/health", headers=self._headers())
        except (httpx2.HTTPError, TimeoutError):
            return False
        return response.status_code not in (502, 504)

    async def _check(self, response: "httpx2.Response", refusals: tuple[str, ...]) -> None:
        """Raise what a refusal says."""
        kind = response.headers.get("content-type", "")
        if not response.is_success or any(word in kind for word in refusals):
            text = self._hide_key(await _collect(response.aiter_bytes()))
            raise fault(
                self.url, response.status_code, text, retry_after(response.headers.get("retry-after"))
            )

    def _in_words(self, error: "httpx2.RequestError", heard: bool) -> ModelError:
        """A failed connection as what it means to the person."""
        import httpx2

        if isinstance(error, httpx2.ConnectTimeout):
            words = f"{self.url} accepted no connection within {self._patience:,g} s; is it running?"
            return UnreachableError(words, retryable=True)
        if isinstance(error, httpx2.ConnectError):
            why = f" ({error})" if self.url.startswith("https:") and str(error) else ""
            return UnreachableError(
                f"no model server answers at {self.url}{why}; is it running?", retryable=True
            )
        return self.cut_short(heard)

    async def _objects(self, texts: AsyncIterator[str], vigil: Vigil) -> AsyncIterator[Any]:
        """Each text as JSON, None for the end mark. Raises ModelError for an error among them."""
        async for text in texts:
            if not text.strip():
                continue
            if text.strip() == _END:
                yield None
                continue
            try:
                data = read_json(text)
            except ValueError:
                text = self._hide_key(text)
                raise self._unreadable(text, is_last=await anext(texts, None) is None) from None
            if not isinstance(data, dict):
                shown = self._hide_key(text)[:200]
                raise ModelError(f"{self.url} sent a line that is not an object: {shown!r}")
            if data.get("error"):
                raise fault(self.url, IN_STREAM, self._hide_key(text))
            # News of the prompt (llama-server's) come while it is read: nothing is answered yet.
            vigil.begun = vigil.begun or "prompt_progress" not in data
            yield data

    def _unreadable(self, text: str, is_last: bool) -> ModelError:
        """Explain a line that is not JSON: a web page, half an object, or nonsense."""
        start = text.lstrip()[:1]
        if start == "<":
            return fault(self.url, IN_STREAM, text)
        if start == "{" and is_last:
            return self.cut_short(heard=True)
        return ModelError(f"{self.url} sent a line that is not JSON: {text[:200]!r}")

    def _hide_key(self, text: str) -> str:
        """Some servers repeat the key that they refuse."""
        for secret in (self.key, *self.manner.headers.values()):
            text = text.replace(secret, "***") if len(secret) >= _SHORTEST_KEY else text
        return text

    def _opened(self) -> "httpx2.AsyncClient":
        """The one client, made at the first request, and again when another event loop asks."""
        import httpx2

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            here, outside = is_loopback(self.url), self.is_cloud
            # Plain HTTP has no certificates, and loading them takes longer than the rest of the start.
            is_plain = self.url.startswith("http:")
            verify: ssl.SSLContext | bool = False if is_plain else httpx2.create_ssl_context()
            self._client = httpx2.AsyncClient(
                transport=self.transport,
                # How long an answer may take is the vigil's affair.
                timeout=httpx2.Timeout(None, connect=self._patience),
                # Connecting to this machine is free; a kept connection may be stale when it is needed.
                limits=httpx2.Limits(max_keepalive_connections=0 if here else 4),
                # What stays in the person's own network must not pass a proxy that may stand outside of it.
                trust_env=outside,
                verify=verify,
            )
        return self._client

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", **self.headers, **self.manner.headers}
        if self.key_header and self.key:
            headers[self.key_header] = self.key
        elif ":" in self.key:
            headers["authorization"] = f"Basic {b64encode(self.key.encode()).decode()}"
        elif self.key:
            headers["authorization"] = f"Bearer {self.key}"
        return headers


class _Answer(Struct, frozen=True):
    """The bytes of an answer as they arrive; each is heard. Raises ModelError where they do not end."""

    response: "httpx2.Response"
    vigil: Vigil

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self.response.aiter_bytes():
            self.vigil.hear()
            size += len(chunk)
            if size > _LONGEST_STREAM:
                raise ModelError(f"the model server sent more than {_LONGEST_STREAM:,} bytes in one answer")
            yield chunk


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 else urlsplit("")
    except ValueError:  # brackets or a port that make no sense
        return urlsplit("")


def is_loopback(url: str) -> bool:
    """True when an address is certainly this machine; anything doubtful is not."""
    if any(char <= " " or char == "\\" for char in url):
        return False
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _encode(body: Mapping[str, Any] | None) -> bytes | None:
    """A body as bytes: the same values give the same bytes, so a growing prompt keeps its beginning."""
    if body is None:
        return None
    # Lone surrogates (file names that are not UTF-8) cannot be sent; "?" takes their place.
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


async def _collect(chunks: AsyncIterable[bytes]) -> str:
    pieces: list[bytes] = []
    size = 0
    async for chunk in chunks:
        pieces.append(chunk)
        size += len(chunk)
        if size > _LONGEST_ANSWER:
            break
    return b"".join(pieces).decode("utf-8", "replace")


# --- lines, and server-sent events ---------------------------------------------------------------


LONGEST_LINE = 64 * 1024 * 1024  # bytes; a whole file may come as one tool argument, more is a broken server


async def read_lines(chunks: AsyncIterable[bytes], longest: int = LONGEST_LINE) -> AsyncIterator[str]:
    r"""Whole lines, without their `\n` or `\r\n`; the last one may lack it.

    Chunks may be cut anywhere, inside a character too. Raises ModelError for a line above `longest` bytes.
    """
    pieces: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield _text(pieces, line)
            pieces, size = [], 0
        pieces.append(rest)
        size += len(rest)
        if size > longest:
            raise ModelError(f"the model server sent a line of more than {longest:,} bytes")
    if size:
        yield _text(pieces, b"")


async def read_events(lines: AsyncIterable[str]) -> AsyncIterator[str]:
    """The data of each server-sent event; comments (the pings of a busy server) and other fields are skipped.

    Format: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation, but
    an event at the end of the stream counts without its blank line, too.
    """
    data: list[str] = []
    async for line in lines:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []
    if data:
        yield "\n".join(data)


def _text(pieces: list[bytes], last: bytes) -> str:
    line = b"".join((*pieces, last)).removesuffix(b"\r")
    return line.decode("utf-8", "replace").removeprefix("\ufeff")
