"""One reply on its way to a client: whole or piece by piece, and ended at once when the client leaves."""

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from fastapi import Response
from starlette.types import Receive, Scope, Send

from kith.core.errors import KithError
from kith.core.events import Called, Delta, Event
from kith.core.loops import leave
from kith.core.model import Emit
from kith.core.values import Reply
from kith.features.gateway.openai.replies import RawResponse

# Asks a model, which is heard while it answers. Raises KithError.
Work = Callable[[Emit], Awaitable[Reply]]
PING_S: Final = 10.0  # of silence, after which a client is told that it is not forgotten
_PING: Final = b": still at work\n\n"


class Voice(Protocol):
    """How a dialect tells an answer."""

    def whole(self, reply: Reply) -> RawResponse: ...
    def opening(self) -> bytes: ...
    def piece(self, delta: Delta) -> bytes: ...
    def ending(self, reply: Reply, rest: str) -> bytes: ...
    def failure(self, error: Exception) -> bytes: ...
    def refusal(self, error: Exception) -> RawResponse: ...


@dataclass(slots=True)
class _Told:
    """The words that were sent: they cannot be taken back where a call fails and is made `anew`."""

    text: str = ""
    anew: bool = False

    def take(self, event: Event) -> Delta | None:
        """The piece that is to be sent because of an event, if any."""
        if isinstance(event, Called) and event.stop == "error":
            self.anew = self.anew or bool(self.text)
        if not isinstance(event, Delta) or event.kind == "tool" or self.anew:
            return None
        if event.kind == "text":
            self.text += event.text
        return event

    def rest(self, reply: Reply) -> str:
        """What is still to be said. Raises KithError where something else was said before."""
        words = reply.message.text
        if words.startswith(self.text):
            return words[len(self.text) :]
        if self.anew:
            raise KithError("The reply broke off in its middle, and the model said something else then.")
        return ""  # blanks at the end, and the like


class ReplyResponse(Response):
    """The answer of `work`, as `voice` tells it; `stream`: piece by piece, as server-sent events."""

    def __init__(self, work: Work, voice: Voice, *, stream: bool, headers: Mapping[str, str] | None = None):
        super().__init__(headers=dict(headers or {}))
        self.work, self.voice, self.stream = work, voice, stream
        self.given = dict(headers or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask, tell, and stop asking when nobody listens any more."""
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        working = asyncio.ensure_future(self.work(events.put_nowait))
        working.add_done_callback(lambda _: events.put_nowait(None))
        telling = asyncio.ensure_future(self._tell(events, working, send))
        leaving = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait((telling, leaving), return_when=asyncio.FIRST_COMPLETED)
            if telling.done():
                telling.result()
        finally:
            await leave(telling, leaving, working)

    async def _tell(
        self, events: "asyncio.Queue[Event | None]", working: "asyncio.Future[Reply]", send: Send
    ) -> None:
        voice, told, begun = self.voice, _Told(), False

        async def say(data: bytes) -> None:
            nonlocal begun
            if not begun:
                begun = True
                await self._begin(send)
                data = voice.opening() + data
            await send({"type": "http.response.body", "body": data, "more_body": True})

        while True:
            try:
                event = await asyncio.wait_for(events.get(), PING_S)
            except TimeoutError:
                if self.stream:
                    await say(_PING)
                continue
            if event is None:
                break
            delta = told.take(event) if self.stream else None
            if delta is not None:
                await say(voice.piece(delta))
        try:
            reply = await working
            if not self.stream:
                return await self._send_whole(voice.whole(reply), send)
            await say(voice.ending(reply, told.rest(reply)))
        except Exception as error:
            if not isinstance(error, KithError):
                traceback.print_exc(file=sys.stderr)
            if not begun:
                return await self._send_whole(voice.refusal(error), send)
            await say(voice.failure(error))
        await send({"type": "http.response.body", "body": b""})

    async def _begin(self, send: Send) -> None:
        headers = {"content-type": "text/event-stream", "x-accel-buffering": "no", **self.given}
        await send({"type": "http.response.start", "status": 200, "headers": _raw(headers)})

    async def _send_whole(self, telling: RawResponse, send: Send) -> None:
        size = {"content-length": str(len(telling.body)), "content-type": "application/json"}
        fields = _raw({**size, **self.given, **telling.headers})
        await send({"type": "http.response.start", "status": telling.status, "headers": fields})
        await send({"type": "http.response.body", "body": telling.body})


def plain_response(telling: RawResponse) -> Response:
    """An answer for which nobody had to be asked."""
    return Response(telling.body, telling.status, dict(telling.headers), "application/json")


async def _gone(receive: Receive) -> None:
    """Returns when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def documented(summary: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What the API's description says of a body that is read by hand."""
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
    }
