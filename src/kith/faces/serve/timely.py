"""A connection is cut when a request does not come whole in time: one sent drop by drop holds no place."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class Timely(H11Protocol):
    """uvicorn's protocol by h11, which by itself waits for the end of a request for good."""

    patience_s = 20.0  # from a request's first byte to its last; and for the first one of a connection
    _coming = False
    _end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if not self._coming:
            self._coming = True
            self._wait()
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):  # it is whole, or refused
            self._coming = False
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._forget()
        self._end = self.loop.call_later(self.patience_s, self.transport.close)

    def _forget(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None
