"""Answer an editor's requests: open conversations, return to them, choose, and prompt."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from acp import PROTOCOL_VERSION, RequestError
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
)

from kith import __version__
from kith.agent.models import list_names
from kith.agent.project import Project
from kith.core.errors import KithError, UsageError
from kith.core.run import new_id
from kith.features.editors.conversation import EditorConversation, list_conversations, root_of
from kith.features.editors.wire import Wire
from kith.memory.log import LOG_FILE, Log
from kith.settings import load_settings
from kith.terminal.options import find_root
from kith.view.printing import printable

_INVALID, _FAILED = -32602, -32603  # JSON-RPC's codes
_LISTING_S: Final = 3.0  # for the names of models; servers that are slower can be named in the settings

P = ParamSpec("P")
T = TypeVar("T")


def in_words(method: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Turn a KithError into an error of the protocol with one sentence."""

    @wraps(method)
    async def answered(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(*args, **kwargs)
        except KithError as error:
            code = _INVALID if isinstance(error, UsageError) else _FAILED
            raise RequestError(code, printable(str(error))) from error

    return answered


class Editor:
    """One editor at the other end of the wire, and its conversations."""

    def __init__(self, flags: dict[str, Any], wire: Wire) -> None:
        self._flags, self._wire = flags, wire
        self._client: Any = None
        self._reads, self._by = False, "the editor"
        self._open: dict[str, EditorConversation] = {}
        self._models: tuple[str, ...] | None = None

    def on_connect(self, client: Any) -> None:
        """The editor's side of the connection; acp calls this."""
        self._client = client

    async def close(self) -> None:
        """The editor has left: end what is at work, so that it can be resumed."""
        for conversation in self._open.values():
            await conversation.close()

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        """Report kith's abilities; an editor with another protocol version decides if it continues."""
        files = client_capabilities.fs if client_capabilities else None
        self._reads = bool(files and files.read_text_file)
        if client_info:
            self._by = printable(client_info.title or client_info.name)
        sessions = SessionCapabilities(
            list=SessionListCapabilities(),
            resume=SessionResumeCapabilities(),
            close=SessionCloseCapabilities(),
        )
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="kith", title="kith", version=__version__),
            auth_methods=[],
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(embedded_context=True, image=True, audio=False),
                mcp_capabilities=McpCapabilities(http=False, sse=False),
                session_capabilities=sessions,
            ),
        )

    # --- conversations -----------------------------------------------------------------------

    @in_words
    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        """A conversation in a folder: any that the editor has opened is a project."""
        opened = await self._begin(self._project(cwd), new_id())
        return NewSessionResponse(session_id=opened.id, modes=opened.modes, config_options=opened.options)

    @in_words
    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        """Go back to a conversation: all of it is told again before this answers."""
        opened = await self._reopen(cwd, session_id)
        opened.tell_again()
        await opened.outbox.flush()
        return LoadSessionResponse(modes=opened.modes, config_options=opened.options)

    @in_words
    async def resume_session(self, session_id: str, cwd: str, **_: Any) -> ResumeSessionResponse:
        """Go back to a conversation that the editor shows already."""
        opened = await self._reopen(cwd, session_id)
        return ResumeSessionResponse(modes=opened.modes, config_options=opened.options)

    @in_words
    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> ListSessionsResponse:
        """The conversations of a folder, or of all, the newest first."""
        root = _folder(cwd) if cwd else None
        settings = load_settings(root or Path.cwd(), self._flags)
        return list_conversations(Log(settings.state / LOG_FILE), root, cursor)

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """The editor needs a conversation no more; the log keeps it."""
        if conversation := self._open.pop(session_id, None):
            await conversation.close()
        return CloseSessionResponse()

    # --- in a conversation -------------------------------------------------------------------

    @in_words
    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        return await self._find(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if conversation := self._open.get(session_id):
            conversation.cancel()

    @in_words
    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        self._find(session_id).choose_way(mode_id)
        return SetSessionModeResponse()

    @in_words
    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        conversation = self._find(session_id)
        if config_id == "mode":
            conversation.choose_way(str(value))
        elif config_id == "model":
            await conversation.choose_model(str(value))
        else:
            raise UsageError(f"There is no option {config_id!r}; there are: mode, model.")
        return SetSessionConfigOptionResponse(config_options=conversation.options)

    # --- how they are found ------------------------------------------------------------------

    def _find(self, session: str) -> EditorConversation:
        if session not in self._open:
            raise UsageError(f"Session {session!r} is not open here; load it first.")
        return self._open[session]

    def _project(self, cwd: str) -> Project:
        return Project.open(_folder(cwd), self._flags)

    async def _reopen(self, cwd: str, session: str) -> EditorConversation:
        project = self._project(cwd)
        root = root_of(project.log, session)
        if root != str(project.root):
            raise UsageError(f"Session {session} belongs to {root}; open that folder.")
        if session in self._open:
            if self._open[session].at_work:
                raise UsageError(f"Session {session} is at work here; stop it first.")
            await self._open.pop(session).close()
        return await self._begin(project, session)

    async def _begin(self, project: Project, id: str) -> EditorConversation:
        conversation = EditorConversation(
            project,
            id,
            self._client,
            self._wire,
            models=await self._names(project),
            reads=self._reads,
            by=self._by,
        )
        self._open[id] = conversation
        # The editor knows the session when it has this method's answer, which is sent first.
        asyncio.get_running_loop().call_soon(conversation.begin)
        return conversation

    async def _names(self, project: Project) -> tuple[str, ...]:
        """The models that can be chosen, looked for once."""
        if self._models is None:
            try:
                self._models = await asyncio.wait_for(list_names(project.settings), _LISTING_S)
            except (TimeoutError, KithError):
                return ()
        return self._models


def _folder(cwd: str) -> Path:
    """The project that a folder belongs to. Raises UsageError."""
    if not Path(cwd).is_absolute():
        raise UsageError(f"{cwd!r} is not an absolute path.")
    return find_root(cwd)
