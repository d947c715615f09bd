"""One server that offers tools, held open from the first turn to the last."""

import asyncio
import logging
import os
import shutil
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, Any, Final, TextIO, cast

from msgspec import Struct, field

from kith.core.errors import KithError
from kith.core.event_loop import leave
from kith.core.structs import repr_without
from kith.features.mcp.schemas import clean_words, text_of

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response
    from mcp import Client
    from mcp.client._transport import Transport, TransportStreams


# The last lines that a program writes to its standard error, which nobody has to wait for.

_LINES: Final = 20
_LONGEST: Final = 300  # characters of a line


class LastLines:
    """A pipe that is always read, and of which the end is kept.

    `file` is for the program, and must be closed here once that has it, so that the reading ends with it.
    """

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.file: IO[str] = os.fdopen(writing, "w")
        self._lines = deque[str](maxlen=_LINES)
        self._thread = Thread(target=self._read, args=(reading,), daemon=True)
        self._thread.start()

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, encoding="utf-8", errors="replace") as pipe:
            while line := pipe.readline(8_192):
                if shown := clean_words(line, _LONGEST):
                    self._lines.append(shown)

    def text(self, wait_s: float = 0.0) -> str:
        """The last lines, as far as they are there; `wait_s`: how long to wait for the rest of them."""
        self._thread.join(wait_s)
        return "\n".join(tuple(self._lines))


# Where a server is that offers tools: a program that kith starts, or an address.


class ServerProgram(Struct, frozen=True):
    """A program that speaks on its standard input and output.

    It gets a few variables of kith's own (PATH, HOME, the language) and those of `env`.
    """

    command: tuple[str, ...]
    folder: str
    env: Mapping[str, str] = field(default_factory=dict)
    __repr__ = repr_without("env")


class Address(Struct, frozen=True):
    """A server that is asked by HTTP; `headers` go with each request."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    here: bool = False  # on this machine or in its network, so that no proxy is asked
    __repr__ = repr_without("headers")


ServerPlace = ServerProgram | Address


class ListedTool(Struct, frozen=True):
    """A tool as its server lists it: `schema` is whatever that says of its arguments."""

    name: str
    description: str
    schema: object


class CallResult(Struct, frozen=True):
    """A server's answer to a call."""

    text: str
    ok: bool = True


_PAGES: Final = 50  # of a list of tools, so that one without end is no trap
_TOOLS: Final = 500
_MOMENT: Final = 0.2  # seconds
_END_S: Final = 5.0  # a server may take to end, once it is asked to
_PIECES: Final = 1e12  # of work; more of them, or less than none, is not a number to tell
_VARIABLES: Final = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
_LEASH: Final = Path(__file__).with_name("leash.py")
# Pieces of work that are done, and of how many; 0 where nobody says.
Tell = Callable[[int, int], None]


class ServerError(KithError):
    """A server that offers tools cannot be started, reached or understood: one sentence, without its name."""


class Connection:
    """A server, and the task of its own that holds it open: what opens a connection has to close it.

    The caller may be any task of the same loop. A server that has ended is started again by the next call.
    """

    def __init__(self, place: ServerPlace, root: Path, version: str, seconds: float) -> None:
        self.place, self.root, self.version, self.seconds = place, root, version, seconds
        self._ready: asyncio.Future[Client] | None = None
        self._holder: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()
        self._lines: LastLines | None = None
        self._refusal = ""

    async def list_tools(self) -> tuple[ListedTool, ...]:
        """Connect, and say what tools there are. Raises ServerError, also where that takes too long."""
        try:
            async with asyncio.timeout(self.seconds):
                return await _list_all(await self._connected())
        except Exception as error:
            raise self._failed(error) from error

    async def call(self, name: str, args: Mapping[str, Any], seconds: float, tell: Tell) -> CallResult:
        """Use a tool. Raises ServerError where no answer came."""

        async def tell_progress(progress: float, total: float | None, message: str | None) -> None:
            tell(*_how_far(progress, total or 0.0))

        try:
            async with asyncio.timeout(self.seconds):
                client = await self._connected()
            result = await client.call_tool(name, dict(args), seconds, tell_progress)
        except Exception as error:
            raise self._failed(error) from error
        blocks = [block.model_dump(mode="json", by_alias=True) for block in result.content]
        return CallResult(text_of(blocks, result.structured_content), not result.is_error)

    @property
    def stderr(self) -> str:
        """The last lines that the program wrote to its standard error."""
        return self._lines.text() if self._lines else ""

    def _last_line(self) -> str:
        """The last of them, of a program that has just ended, too."""
        return self._lines.text(_MOMENT).rpartition("\n")[2] if self._lines else ""

    async def aclose(self) -> None:
        """Let the server end, and see that it does."""
        self._stop()
        if self._holder:
            await asyncio.wait([self._holder], timeout=_END_S)
            await leave(self._holder)

    # --- the task that holds it --------------------------------------------------------------

    async def _connected(self) -> "Client":
        """The client; connecting begins with the first who asks, and again where the server has ended."""
        if self._holder and self._leave.is_set():
            await asyncio.wait([self._holder])
        if self._ready is None or self._holder is None or self._holder.done():
            self._ready, self._leave = asyncio.get_running_loop().create_future(), asyncio.Event()
            self._holder = asyncio.create_task(self._hold(self._ready, self._leave))
        return await asyncio.shield(self._ready)

    async def _hold(self, ready: "asyncio.Future[Client]", leave: asyncio.Event) -> None:
        """Keep the connection until it is left; an error before it is open goes to the waiter."""
        try:
            await asyncio.to_thread(_load)
            try:
                await self._serve("legacy", ready, leave)
            except Exception as error:
                if ready.done() or not _is_refusal(error):
                    raise
                await self._serve("auto", ready, leave)
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error if isinstance(error, Exception) else ServerError("it was left"))
                ready.exception()  # nobody may be waiting any more
            if not isinstance(error, Exception):
                raise

    async def _serve(self, mode: str, ready: "asyncio.Future[Client]", leave: asyncio.Event) -> None:
        """Connect as servers did until 2025-11-25, or as they do since 2026-07-28.

        The old way comes first: most speak it, and some end at once when they are asked anything before it.
        """
        async with self._transport() as transport, _client(transport, self, mode) as client:
            ready.set_result(client)
            await leave.wait()

    def _stop(self) -> None:
        """End the task: normally with an open connection, at once while it is being made."""
        self._leave.set()
        if self._holder and self._ready and not self._ready.done():
            self._holder.cancel()

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator["Transport"]:
        """The way to the server: a program that is started now, or requests to an address."""
        if isinstance(self.place, Address):
            async with _requests(self.place, self._look) as client:
                from mcp.client.streamable_http import streamable_http_client

                yield streamable_http_client(self.place.url, http_client=client)
            return
        from mcp import StdioServerParameters, stdio_client

        command, *args = _command(self.place)
        more = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        start = StdioServerParameters(
            command=command, args=args, env=more | dict(self.place.env), cwd=self.place.folder
        )
        self._lines = LastLines()
        with self._lines.file as file:
            yield _closing(stdio_client(start, errlog=cast("TextIO", file)), file)

    async def _look(self, response: "Response") -> None:
        """Keep the status of a refusal, which the protocol's package does not tell."""
        refused = response.status_code >= 400
        self._refusal = f"it answers {response.status_code} {response.reason_phrase}" if refused else ""

    def _failed(self, error: Exception) -> ServerError:
        """Describe a failure, with the last output of a program that no longer answers."""
        error = _first(error)
        connected = self._ready is not None and self._ready.done() and not self._ready.exception()
        lost = _is_lost(error)
        if lost or not connected:
            self._stop()
        if lost:
            words = "it has ended" if connected else "it ended at once"
        elif isinstance(error, TimeoutError):
            words = f"no answer within {self.seconds:g} s"
        else:
            said = clean_words(str(error), _LONGEST) or type(error).__name__
            words = said if connected else self._refusal or said
        last = "" if connected and not lost else self._last_line()
        return ServerError(f"{words}; it says: {last}".rstrip(".") if last else words.rstrip("."))


@asynccontextmanager
async def _closing(transport: "Transport", file: IO[str]) -> AsyncIterator["TransportStreams"]:
    """The transport, whose program has its end of a pipe: ours is closed."""
    async with transport as streams:
        file.close()
        yield streams


def _client(transport: "Transport", connection: Connection, mode: str) -> "Client":
    """A client of kith's name; a program on this machine may ask which folder is worked on."""
    from mcp import Client
    from mcp.types import Implementation, ListRootsResult, Root

    root = connection.root

    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root.model_validate({"uri": root.as_uri(), "name": root.name})])

    here = isinstance(connection.place, ServerProgram)
    named = Implementation(name="kith", version=connection.version)
    return Client(transport, mode=mode, client_info=named, list_roots_callback=roots if here else None)


def _how_far(done: float, total: float) -> tuple[int, int]:
    """Pieces as they can be told: numbers from elsewhere may be endless, or none at all."""
    whole, reached = (int(each) if 0 <= each <= _PIECES else 0 for each in (total, done))
    return (min(reached, whole) if whole else reached), whole


async def _list_all(client: "Client") -> tuple[ListedTool, ...]:
    if client.server_capabilities.tools is None:
        return ()
    found: list[ListedTool] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += [ListedTool(each.name, each.description or "", each.input_schema) for each in page.tools]
        cursor = page.next_cursor
        if not cursor:
            break
    return tuple(found[:_TOOLS])


def _requests(address: Address, look: Callable[["Response"], Awaitable[None]]) -> "AsyncClient":
    """Requests with the address's headers; what stays in the person's own network passes no proxy."""
    import httpx2

    patience = httpx2.Timeout(30.0, read=None)  # how long an answer may take is said with each call
    return httpx2.AsyncClient(
        headers=dict(address.headers),
        timeout=patience,
        trust_env=not address.here,
        event_hooks={"response": [look]},
    )


def _command(program: ServerProgram) -> tuple[str, ...]:
    """The command that is really started. Raises ServerError where its program is not there."""
    name, *args = program.command
    found = shutil.which(name, path=program.env.get("PATH"))
    if found is None:
        raise ServerError(f"there is no program {name!r} on this machine")
    if not Path(program.folder).is_dir():
        raise ServerError(f"there is no folder {program.folder}")
    leash = (sys.executable, "-I", "-S", str(_LEASH), str(os.getpid())) if sys.platform == "linux" else ()
    return (*leash, found, *args)


def _load() -> None:
    """Load the protocol's package, which is large; what it logs would be written over the screen."""
    import_module("mcp.client")
    logger = logging.getLogger("mcp")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.propagate = False


def _is_refusal(error: Exception) -> bool:
    """True if the server answers, and refuses this way of asking."""
    from mcp import MCPError

    return isinstance(_first(error), MCPError) and not _is_lost(_first(error))


def _is_lost(error: Exception) -> bool:
    """True if the server is gone."""
    from anyio import BrokenResourceError, ClosedResourceError
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED

    if isinstance(error, MCPError):  # an address forgets its sessions when it is started again
        return error.code == CONNECTION_CLOSED or error.message == "Session terminated"
    return isinstance(error, ClosedResourceError | BrokenResourceError)


def _first(error: Exception) -> Exception:
    """The first thing that went wrong, of all that a group of tasks tells."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
