"""A server of kith's as other commands reach it: found, proved to be the one it says, and asked."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from kith.core.codec import KINDS, decode_event
from kith.core.errors import BusyError, KithError, UsageError
from kith.core.events import Event, Notice
from kith.features.web.tokens import CLIENT, check_token, notes, proof_for, same

if TYPE_CHECKING:
    import httpx2

_PATIENCE_S: Final = 60.0  # for a server that is started anew while its session is followed
_AGAIN_S: Final = 0.5
_ERRORS: Final[dict[int, type[KithError]]] = {409: BusyError, 429: BusyError, 503: BusyError}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is said to be; `port` is what its proof must name, 0 where a tunnel may change it."""

    url: str
    token: str
    port: int = 0


Find = Callable[[], Place]


def find_place(state: Path, url: str, token: str) -> Place:
    """The server that was named, else the newest of this machine. Raises UsageError."""
    if url:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url!r} is no address of a server; one is http://127.0.0.1:5484.")
        if not token:
            raise UsageError("A server elsewhere wants its token: --token, or KITH_SERVE_TOKEN.")
        return Place(f"{parts.scheme}://{parts.netloc}", check_token(token))
    for note in notes(state):
        return Place(note.url, note.token, note.port)
    raise UsageError("No kith serve runs here; start one with `kith serve`, or name one with --url.")


class Server:
    """A server that has proved itself. Every refusal becomes the sentence that came with it."""

    def __init__(self, client: "httpx2.AsyncClient", place: Place) -> None:
        self._client, self._place = client, place

    async def ask(self, path: str, body: object = None) -> Any:
        """What the API says to a GET, or to a POST where there is a body."""
        return json.loads(await self.text(path, body))

    async def text(self, path: str, body: object = None) -> str:
        """The same as it came."""
        import httpx2

        try:
            if body is None:
                answer = await self._client.get(path)
            else:
                answer = await self._client.post(path, json=body)
        except httpx2.HTTPError as error:
            raise BusyError(f"{self._place.url} does not answer: {error or type(error).__name__}.") from error
        if answer.is_error:
            raise _refusal(answer.status_code, answer.text)
        return answer.text

    async def events(self, session: str, after: str) -> AsyncIterator[tuple[str, str, str]]:
        """The session's events as (position, kind, data) until its work is done, or the line is cut."""
        path, headers = f"/api/sessions/{session}/events?follow=no", {"Last-Event-ID": after}
        async with self._client.stream("GET", path, headers=headers, timeout=None) as answer:
            if answer.is_error:
                raise _refusal(answer.status_code, (await answer.aread()).decode("utf-8", "replace"))
            fields: dict[str, str] = {}
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                if line and name:
                    fields[name] = value
                elif fields:
                    yield fields.get("id", after), fields.get("event", ""), fields.get("data", "{}")
                    fields = {}


def _refusal(status: int, text: str) -> KithError:
    try:
        detail = str(json.loads(text)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"The server answered {status}."
    return _ERRORS.get(status, UsageError if status < 500 else KithError)(detail)


@asynccontextmanager
async def reach(place: Place) -> AsyncIterator[Server]:
    """The server, once it has proved that it knows the token; nothing secret is sent before.

    Raises BusyError where nobody answers, UsageError where somebody else does.
    """
    import httpx2

    async with httpx2.AsyncClient(base_url=place.url, timeout=60, trust_env=False) as client:
        try:
            await _prove(client, place)
        except httpx2.HTTPError as error:
            raise BusyError(f"Nobody answers at {place.url}: {error or type(error).__name__}.") from error
        client.headers.update({"Authorization": f"Bearer {place.token}", "User-Agent": CLIENT})
        yield Server(client, place)


async def _prove(client: "httpx2.AsyncClient", place: Place) -> None:
    nonce = secrets.token_urlsafe(24)
    answer = await client.get("/api/hello", params={"nonce": nonce})
    try:
        said = json.loads(answer.text)
        port, proof = int(said["port"]), str(said["proof"])
    except (ValueError, KeyError, TypeError):
        port, proof = -1, ""
    if place.port not in (0, port) or not same(proof, proof_for(place.token, port, nonce)):
        raise UsageError(f"What answers at {place.url} does not know the token; it was told nothing.")


async def follow(find: Find, session: str, after: str = "0") -> AsyncIterator[tuple[Event, tuple[str, ...]]]:
    """A session's events until its work is done; a server that is started anew is waited for.

    Nothing is told twice. Raises KithError, BusyError once the server has been away too long.
    """
    import httpx2

    known, away = False, 0.0
    while True:
        try:
            async with reach(find()) as server:
                async for position, kind, data in server.events(session, after):
                    after, known, away, told = position, True, 0.0, json.loads(data)
                    if kind in KINDS:  # a newer server may tell of more
                        yield decode_event(kind, json.dumps(told["event"])), tuple(told["path"])
                return
        except (httpx2.HTTPError, KithError) as error:
            if not known or away >= _PATIENCE_S:
                raise _in_words(error) from error
        if not away:
            yield Notice("The server is away; waiting for it.", "warning"), ()
        away += _AGAIN_S
        await asyncio.sleep(_AGAIN_S)


def _in_words(error: Exception) -> KithError:
    return error if isinstance(error, KithError) else BusyError(f"The server went away: {error}.")
