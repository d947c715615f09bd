"""Tools of the servers that the person named: connected before the first turn, closed after the last one."""

import asyncio
import json
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from fnmatch import fnmatchcase
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kith import __version__
from kith.agent.known_secrets import make_redactor
from kith.agent.project import OutsideTools
from kith.context.budget import ASSUMED_WINDOW, estimate_tokens, fit_middle
from kith.core.errors import KithError
from kith.core.event_loop import leave
from kith.core.events import Notice, Progress
from kith.core.model import Emit, Tool
from kith.core.policy import call_identity, call_target
from kith.core.run import Run
from kith.core.values import ToolResult
from kith.features.mcp.connection import (
    Address,
    CallResult,
    Connection,
    ListedTool,
    ServerError,
    ServerPlace,
    ServerProgram,
)
from kith.features.mcp.schemas import clean_words, complete, plain_schema
from kith.models.providers.messages import tool_rows
from kith.models.providers.wire import is_cloud
from kith.settings import Settings, ToolServer

# Tools of other programs as kith's own: named after their server, asked about, with plain schemas.

_NAME: Final = 64  # characters: the most that model servers take
_DESCRIPTION: Final = 1_000
_LINE: Final = 60
_DIGITS: Final = 6
Tell = Callable[[int, int], None]
# A tool's own name, its arguments, the seconds it may take, and whom to tell how far it is.
Call = Callable[[str, Mapping[str, Any], float, Tell], Awaitable[CallResult]]


def make_tools(
    server: str, listed: Iterable[ListedTool], call: Call, taken: Iterable[str] = ()
) -> tuple[Tool, ...]:
    """The tools of a server, in the order of their names, which differ from those that are `taken`."""
    made: list[Tool] = []
    once = {each.name: each for each in listed}
    for each in sorted(once.values(), key=lambda each: each.name):
        name = name_tool(server, each.name, (*taken, *(tool.name for tool in made)))
        made.append(_make_tool(server, name, each, call))
    return tuple(made)


def choose(listed: Iterable[ListedTool], patterns: Sequence[str]) -> tuple[ListedTool, ...]:
    """Those of a server's tools that a person wants, by patterns for their own names."""
    return tuple(each for each in listed if any(fnmatchcase(each.name, pattern) for pattern in patterns))


def name_tool(server: str, name: str, taken: Sequence[str] = ()) -> str:
    """`SERVER_name` in letters, digits and underscores; ending in a digest where it is too long, or taken."""
    owner, own = (re.sub(r"[^A-Za-z0-9]+", "_", each).strip("_") for each in (server, name))
    plain = own if own.startswith(f"{owner}_") else f"{owner}_{own}"
    if len(plain) <= _NAME and plain not in taken:
        return plain
    digest = sha256(f"{server}/{name}".encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{plain[: _NAME - _DIGITS - 1]}_{digest}"


def _make_tool(server: str, name: str, listed: ListedTool, call: Call) -> Tool:
    schema = plain_schema(listed.schema)
    description = clean_words(listed.description or f"{listed.name}, of {server}.", _DESCRIPTION)
    identity = call_identity(server, listed.name, [listed.description, listed.schema])

    async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
        def tell(done: int, total: int) -> None:
            run.emit(Progress(f"{server} works", done, total))

        try:
            said = await call(listed.name, complete(args, listed.schema), run.limits.exec.seconds, tell)
        except KithError as error:
            text = f"{server} gave no answer: {error}."
            return ToolResult("", text, ok=False, detail={"line": text})
        text = fit_middle(said.text, run.limits.exec.output)
        return ToolResult("", text, said.ok, {"line": _in_a_line(said)})

    return Tool(name, description, schema, "call", use, lambda args: call_target(identity, args))


def _in_a_line(said: CallResult) -> str:
    """An answer for people: itself where it is short, else how long it is."""
    text = said.text.strip()
    if len(text) <= _LINE and "\n" not in text:
        return clean_words(text, _LINE)
    return f"{'' if said.ok else 'an error, '}{len(text):,} characters"


CONNECTING: Final = "connecting to servers of tools"
_SHARE: Final = 4  # of the window, a part in so many, is the most that the tools of servers may take
_PROJECT: Final = "{project}"  # in a command or a folder: the one that is worked in
_EXTRA: Final = "it needs more packages: pip install 'kith-agent[mcp]'"


class Served(Struct, frozen=True):
    """The state of a server: the tools that are offered, or the reason for none.

    `stderr`: the last lines that its program wrote there.
    """

    name: str
    tools: tuple[Tool, ...] = ()
    listed: int = 0
    trouble: str = ""
    stderr: str = ""

    @property
    def tokens(self) -> int:
        """The tokens that these tools add to every prompt (an estimate)."""
        return tool_tokens(self.tools)


class ToolServers(OutsideTools):
    """All servers of one task or conversation; their programs end with it.

    Connecting begins with `begin`, or with the first caller, and continues in the background.
    """

    def __init__(self, chosen: Settings, root: Path) -> None:
        self.chosen, self.root = chosen, root
        self._connections: dict[str, Connection] = {}
        self._serving: asyncio.Task[tuple[Served, ...]] | None = None
        self._told = False

    def begin(self) -> None:
        """Connect to all of them, at once."""
        if self._serving is None:
            self._serving = asyncio.ensure_future(self._serve())

    async def served(self) -> tuple[Served, ...]:
        """Return the state of each server, in the order of the settings."""
        self.begin()
        assert self._serving is not None
        return await asyncio.shield(self._serving)

    async def connect(self, window: int, emit: Emit) -> None:
        """Wait until all is known; tell once what is amiss, and what it costs a model with this window."""
        self.begin()
        if self._serving and not self._serving.done():
            emit(Progress(CONNECTING, 0))
        served = await self.served()
        if not self._told:
            self._told = True
            for notice in _notices(served, _fit(served, window), window):
                emit(notice)

    def tools(self, window: int) -> tuple[Tool, ...]:
        """The tools for a model with this window (0: unknown), always the same; none before `connect`."""
        if self._serving is None or not self._serving.done():
            return ()
        return tuple(tool for each in _fit(self._serving.result(), window) for tool in each.tools)

    async def aclose(self) -> None:
        """Let all of them end."""
        if self._serving:
            await leave(self._serving)
        await asyncio.gather(*(each.aclose() for each in self._connections.values()))

    async def _serve(self) -> tuple[Served, ...]:
        servers = {name: each for name, each in self.chosen.mcp.items() if not each.off}
        lists = await asyncio.gather(*(self._list(name, server) for name, server in servers.items()))
        served: list[Served] = []
        for name, (listed, trouble) in zip(servers, lists, strict=True):
            taken = [tool.name for each in served for tool in each.tools]
            connection = self._connections.get(name)
            wanted = choose(listed, servers[name].tools)
            tools = make_tools(name, wanted, connection.call, taken) if connection else ()
            served.append(Served(name, tools, len(listed), trouble, connection.stderr if connection else ""))
        return tuple(served)

    async def _list(self, name: str, server: ToolServer) -> tuple[Sequence[ListedTool], str]:
        """The tools that a server has, or why nobody knows."""
        if find_spec("mcp") is None:
            return (), _EXTRA
        try:
            if self.chosen.offline and may_pass_on(server):
                raise ServerError(f"it may reach beyond this machine, and kith is offline (mcp.{name}.cloud)")
            connection = Connection(find_place(server, self.root), self.root, __version__, server.seconds)
            self._connections[name] = connection
            return await connection.list_tools(), ""
        except KithError as error:
            return (), str(error)


async def look_at_servers(chosen: Settings, root: Path) -> tuple[Served, ...]:
    """Return the present state of each server, without known secrets."""
    async with aclosing(ToolServers(chosen, root)) as servers:
        served = await servers.served()
    redactor = make_redactor(root, chosen)

    def clean(text: str) -> str:
        return redactor.clean(text)[0]

    return tuple(
        replace(
            each,
            tools=tuple(replace(tool, description=clean(tool.description)) for tool in each.tools),
            trouble=clean(each.trouble),
            stderr=clean(each.stderr),
        )
        for each in served
    )


def may_pass_on(server: ToolServer) -> bool:
    """True if a server may send data outside the person's own network; for a program, always assumed."""
    if server.cloud is not None:
        return server.cloud
    return is_cloud(server.url) if server.url else True


def tool_tokens(tools: Sequence[Tool]) -> int:
    """Estimate the tokens that tools add to a prompt."""
    return sum(estimate_tokens(json.dumps(row, ensure_ascii=False)) for row in tool_rows(tools))


def find_place(server: ToolServer, root: Path, environ: Mapping[str, str] = os.environ) -> ServerPlace:
    """Return a server's address and environment. Raises ServerError for an unset variable."""

    def value(name: str) -> str:
        if not environ.get(name):
            raise ServerError(f"the variable {name} is not set")
        return environ[name]

    if server.url:
        headers = {header: value(name) for header, name in server.headers_env.items()}
        if server.key_env:
            headers["Authorization"] = f"Bearer {value(server.key_env)}"
        return Address(server.url, headers, here=not is_cloud(server.url))
    passed = {name: value(name) for name in server.pass_env}
    words = [word.replace(_PROJECT, str(root)) for word in (server.cwd, *server.command)]
    folder, program, *args = words
    command = (str(Path(program).expanduser()) if program.startswith("~") else program, *args)
    return ServerProgram(command, str(Path(folder).expanduser()), {**passed, **server.env})


def _fit(served: Sequence[Served], window: int) -> list[Served]:
    """The servers whose tools leave a model with this window the most of it, in their order."""
    room = (window or ASSUMED_WINDOW) // _SHARE
    fitting = []
    for each in served:
        if each.tokens <= room:
            room -= each.tokens
            fitting.append(each)
    return fitting


def _notices(served: Sequence[Served], fitting: Sequence[Served], window: int) -> list[Notice]:
    """Report missing servers with the reason, and the cost of the others."""
    missing = [f"The tools of {each.name} are missing: {each.trouble}." for each in served if each.trouble]
    too_many = [_too_many(each, window or ASSUMED_WINDOW) for each in served if each not in fitting]
    notices = [Notice(text, "warning") for text in (*missing, *too_many)]
    if told := [each for each in fitting if each.tools]:
        names = ", ".join(f"{len(each.tools)} of {each.name}" for each in told)
        tokens = sum(each.tokens for each in told)
        text = f"Tools of other programs: {names}; about {tokens:,} tokens in each prompt."
        notices.append(Notice(text))
    return notices


def _too_many(served: Served, window: int) -> str:
    return (
        f"The tools of {served.name} ({served.tokens:,} tokens) are left out: all tool "
        f"servers together take more than a quarter of the window ({window:,}). Choose "
        f"tools in mcp.{served.name}.tools."
    )
