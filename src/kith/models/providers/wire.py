"""One model server: its address, connection and patience; every HTTP request to a model passes here."""

import asyncio
import ipaddress
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from kith.core.errors import ModelError, UsageError
from kith.models.providers.faults import LostReplyError, UnreachableError, fault, retry_after
from kith.models.providers.lines import read_events, read_lines

if TYPE_CHECKING:
    import httpx2

_LONGEST_ANSWER = 16 * 1024 * 1024  # bytes of an answer that is not a stream
_END = "[DONE]"  # OpenAI's end mark of a stream of events


@dataclass(slots=True)
class Endpoint:
    """A model server at `url` (its root: a trailing `/v1` is left out), with an optional bearer key.

    `stall_s`: after so many seconds without a single byte the server counts as hung; pings and progress are
    bytes, so a long prompt that is being read is not a hang. `transport` replaces the network in tests.
    """

    url: str
    key: str = field(default="", repr=False)
    stall_s: float = 600.0
    connect_s: float = 2.0
    transport: "httpx2.AsyncBaseTransport | None" = field(default=None, repr=False)
    _client: "httpx2.AsyncClient | None" = field(default=None, init=False, repr=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.url = self.url.strip().rstrip("/").removesuffix("/v1").rstrip("/")
        parts = _split(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"{self.url!r} is no address of a model server; it should look like http://host:port"
            )

    async def get(self, path: str, **query: str) -> Any:
        """The JSON at a path. Raises ModelError."""
        return await self._ask("GET", path, None, query)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON answer to a JSON body. Raises ModelError."""
        return await self._ask("POST", path, body, {})

    @asynccontextmanager
    async def stream_lines(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[AsyncIterator[Any]]:
        """Post a body; the block reads the answer's lines as JSON objects, and closes the stream."""
        async with self._open("POST", path, body) as chunks:
            yield self._objects(read_lines(chunks))

    @asynccontextmanager
    async def stream_events(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[AsyncIterator[Any]]:
        """Post a body; the block reads the answer's events as JSON objects, None for the end mark."""
        # A whole JSON answer where a stream was asked for is a refusal, whatever its status says (LM Studio).
        async with self._open("POST", path, body, refusals=("html", "application/json")) as chunks:
            yield self._objects(read_events(read_lines(chunks)))

    def cut_short(self, heard: bool) -> ModelError:
        """A stream that ended without its end mark; once something was `heard`, it is not asked again."""
        text = f"{self.url} broke off its reply before the end"
        return LostReplyError(text) if heard else ModelError(text, retryable=True)

    async def close(self) -> None:
        """Close what is open; the next request opens it again."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    async def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, str]
    ) -> Any:
        async with self._open(method, path, body, query) as chunks:
            text = await _collect(chunks)
        try:
            return json.loads(text)
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
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """A request that was accepted, as the bytes of its answer; what goes wrong becomes a ModelError.

        `refusals` are content types that mean no, even with status 200.
        """
        import httpx2

        client, response = self._opened(), None
        request = client.build_request(
            method, self.url + path, params=query or None, headers=self._headers(), content=_encode(body)
        )
        try:
            response = await client.send(request, stream=True)
            await self._check(response, refusals)
            yield response.aiter_bytes()
        except httpx2.RequestError as error:
            heard = response is not None and response.num_bytes_downloaded > 0
            raise self._in_words(error, heard) from error
        finally:
            if response is not None:
                await response.aclose()

    async def _check(self, response: "httpx2.Response", refusals: tuple[str, ...]) -> None:
        """Raise what a refusal says."""
        kind = response.headers.get("content-type", "")
        if not response.is_success or any(word in kind for word in refusals):
            text = await _collect(response.aiter_bytes())
            raise fault(
                self.url, response.status_code, text, retry_after(response.headers.get("retry-after"))
            )

    def _in_words(self, error: "httpx2.RequestError", heard: bool) -> ModelError:
        """A failed connection as what it means to the person."""
        import httpx2

        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            why = f" ({error})" if self.url.startswith("https:") and str(error) else ""
            return UnreachableError(
                f"no model server answers at {self.url}{why}; is it running?", retryable=True
            )
        if isinstance(error, httpx2.TimeoutException):
            return LostReplyError(f"{self.url} sent nothing for {self.stall_s:,.0f} s; it seems to hang")
        return self.cut_short(heard)

    async def _objects(self, texts: AsyncIterator[str]) -> AsyncIterator[Any]:
        """Each text as JSON, None for the end mark. Raises ModelError for an error among them."""
        async for text in texts:
            if not text.strip():
                continue
            if text.strip() == _END:
                yield None
                continue
            try:
                data = json.loads(text)
            except ValueError:
                raise ModelError(f"{self.url} sent a line that is not JSON: {text[:200]!r}") from None
            if not isinstance(data, dict):
                raise ModelError(f"{self.url} sent a line that is not an object: {text[:200]!r}")
            if data.get("error"):
                raise fault(self.url, 200, text)
            yield data

    def _opened(self) -> "httpx2.AsyncClient":
        """The one client, made at the first request, and again when another event loop asks."""
        import httpx2

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            here = is_loopback(self.url)
            self._client = httpx2.AsyncClient(
                transport=self.transport,
                timeout=httpx2.Timeout(self.stall_s, connect=self.connect_s),
                # Connecting to this machine is free; a kept connection may be stale when it is needed.
                limits=httpx2.Limits(max_keepalive_connections=0 if here else 4),
                # A proxy from the environment must never stand between kith and this machine.
                trust_env=not here,
                # Plain HTTP has no certificates, and loading them takes longer than the rest of the start.
                verify=not (here and self.url.startswith("http:")),
            )
        return self._client

    def _headers(self) -> dict[str, str]:
        return {"content-type": "application/json"} | (
            {"authorization": f"Bearer {self.key}"} if self.key else {}
        )


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


async def _collect(chunks: AsyncIterator[bytes]) -> str:
    pieces: list[bytes] = []
    size = 0
    async for chunk in chunks:
        pieces.append(chunk)
        size += len(chunk)
        if size > _LONGEST_ANSWER:
            break
    return b"".join(pieces).decode("utf-8", "replace")
