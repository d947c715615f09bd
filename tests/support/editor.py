"""An editor for tests: the client side of acp's package, and a kith at the other end of two pipes."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import connect_to_agent, text_block
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    Implementation,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    ToolCallUpdate,
)

from forked import talk_forked

Choose = Callable[[ToolCallUpdate, list[PermissionOption]], Awaitable[str | None]]


async def apply(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
    return options[0].option_id


async def refuse(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
    return options[-1].option_id


class Editor:
    """An editor: it remembers what it was shown, and answers as it is told."""

    def __init__(self, choose: Choose = apply) -> None:
        self.choose = choose
        self.seen: dict[str, list[dict[str, Any]]] = {}
        self.asked: list[ToolCallUpdate] = []
        self.offered: list[list[PermissionOption]] = []
        self.unsaved: dict[str, str] = {}  # what buffers hold, by path
        self.cancelled: list[int] = []
        self.conn: ClientSideConnection

    def on_connect(self, conn: Any) -> None:
        """Nothing to do."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        shown = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.seen.setdefault(session_id, []).append(shown)

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append(tool_call)
        self.offered.append(options)
        chosen = await self.choose(tool_call, options)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=self.unsaved.get(path) or Path(path).read_text())

    def listen(self, event: Any) -> None:
        if event.message.get("method") == "$/cancel_request":
            self.cancelled.append(event.message["params"]["requestId"])

    def kinds(self, session: str) -> list[str]:
        return [update["sessionUpdate"] for update in self.seen.get(session, [])]

    def updates(self, session: str, kind: str) -> list[dict[str, Any]]:
        return [update for update in self.seen.get(session, []) if update["sessionUpdate"] == kind]

    def words(self, session: str, kind: str = "agent_message_chunk") -> str:
        return "".join(update["content"]["text"] for update in self.updates(session, kind))

    async def open(self, root: Path, script: Path | str = "") -> str:
        opened = await self.conn.new_session(cwd=str(root), mcp_servers=[])
        if script:
            await self.conn.set_config_option("model", opened.session_id, f"replay/{script}")
        return opened.session_id

    async def say(self, session: str, *blocks: Any) -> str:
        prompt = [text_block(block) if isinstance(block, str) else block for block in blocks]
        return (await self.conn.prompt(session_id=session, prompt=prompt)).stop_reason


@asynccontextmanager
async def started(editor: Editor, folder: Path) -> AsyncIterator[Editor]:
    """An editor, and its kith at the other end of two pipes."""
    (given, ours), (theirs, told) = os.pipe(), os.pipe()
    files = [os.fdopen(given, "rb"), os.fdopen(told, "wb"), (folder / "stderr").open("wb")]
    words = ("acp", "--check", "none")
    running = asyncio.create_task(asyncio.to_thread(talk_forked, words, folder, tuple(files), 120))
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(theirs, "rb"))
    flow = asyncio.streams.FlowControlMixin(loop)
    pipe, _ = await loop.connect_write_pipe(lambda: flow, os.fdopen(ours, "wb"))
    writer = asyncio.StreamWriter(pipe, flow, reader, loop)
    editor.conn = connect_to_agent(
        editor, writer, reader, observers=[editor.listen], use_unstable_protocol=True
    )
    await greet(editor)
    yield editor
    writer.close()
    assert await asyncio.wait_for(running, 60) == 0, (folder / "stderr").read_text()
    await editor.conn.close()


async def greet(editor: Editor) -> None:
    files = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True))
    who = Implementation(name="a-test", title="The test", version="1")
    answer = await editor.conn.initialize(1, client_capabilities=files, client_info=who)
    assert answer.protocol_version == 1 and not answer.auth_methods
    assert answer.agent_capabilities and answer.agent_capabilities.load_session
