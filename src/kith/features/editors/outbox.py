"""What an editor is to see of a session, in order; it never holds up who works on the session."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)

Chunk = AgentMessageChunk | AgentThoughtChunk | UserMessageChunk
Update = (
    Chunk
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | ConfigOptionUpdate
    | CurrentModeUpdate
    | SessionInfoUpdate
    | ToolCallProgress
    | ToolCallStart
    | UsageUpdate
)


@dataclass(slots=True)
class Outbox:
    """The updates of one session on their way; pieces of a text that wait together are sent as one."""

    client: Any  # acp's AgentSideConnection
    session: str
    _waiting: deque[Update] = field(default_factory=deque)
    _sending: asyncio.Task[None] | None = None

    def put(self, update: Update) -> None:
        """Send an update soon, after those before it."""
        last = self._waiting[-1] if self._waiting else None
        if isinstance(last, Chunk) and type(last) is type(update) and (more := text_of(update)):
            _extend(last, more)
        else:
            self._waiting.append(update)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send())

    async def flush(self) -> None:
        """Wait until all that was put has been sent."""
        while self._sending and not self._sending.done():
            await asyncio.wait([self._sending])

    async def _send(self) -> None:
        while self._waiting:
            update = self._waiting.popleft()
            try:
                await self.client.session_update(self.session, update)
            except ConnectionError:  # the editor is gone; the log holds it all
                self._waiting.clear()


def text_of(update: Update) -> str:
    """The words of a chunk, "" for other updates."""
    if isinstance(update, Chunk) and isinstance(update.content, TextContentBlock):
        return update.content.text
    return ""


def _extend(chunk: Chunk, more: str) -> None:
    if isinstance(chunk.content, TextContentBlock):
        chunk.content.text += more
