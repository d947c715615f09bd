"""Run stand-in model servers: they follow a script in real servers' formats, errors and delays.

    python -m kith.features.demo.standin --dialect ollama --script replies.json --port 11434

The script is a list of replies (see `engine.read_reply`). No model runs. Token counts are an estimate (four
bytes of UTF-8 each), and the cache is the longest common prefix of two requests. The reported times follow
from fixed speeds. They listen on the loopback address only.
"""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TextIO, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.event_loop import run_loop
from kith.features.demo.standin import anthropic, gemini, llama, lmstudio, ollama, vllm
from kith.features.demo.standin.engine import Behaviour, Engine, Script, load_script
from kith.features.demo.standin.http import Cut, Request, Response, converse, json_response

Dialect = Literal["ollama", "llama-server", "lmstudio", "vllm", "anthropic", "gemini"]
DIALECTS: dict[str, ModuleType] = {
    "ollama": ollama,
    "llama-server": llama,
    "lmstudio": lmstudio,
    "vllm": vllm,
    "anthropic": anthropic,
    "gemini": gemini,
}
HOST = "127.0.0.1"
WEB_PAGE = (
    b"<!doctype html>\n<html><head><title>Sign in</title></head><body><p>Please sign in.</p></body></html>\n"
)


class Server(Struct):
    """A running stand-in, and what it has seen so far.

    `requests` are the chats in order, parsed and raw; `visits` is every request as "GET /props".
    `disconnected` is set once a client left before its answer was complete; `failures` are what went wrong
    in a script that is a function.
    """

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    visits: list[str] = field(default_factory=list)
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    failures: list[Exception] = field(default_factory=list)


@asynccontextmanager
async def serve(
    script: Script,
    dialect: Dialect = "ollama",
    *,
    port: int = 0,
    tell: Callable[[Request], object] = lambda request: None,
    **behaviour: Any,
) -> AsyncIterator[Server]:
    """Run a stand-in inside the block. `behaviour` are the fields of Behaviour; `tell` hears of each chat.

    What a script that is a function raises (a failed assertion, say) is raised again at the end of the block.
    """
    how, server = Behaviour(**behaviour), Server()
    answer = _answerer(DIALECTS[dialect], Engine(script, how), server, tell)
    talks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not await converse(reader, writer, answer):
            server.disconnected.set()

    def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(talk(reader, writer))
        talks.add(task)
        task.add_done_callback(talks.discard)

    listener = await asyncio.start_server(welcome, HOST, port)
    server.url = f"http://{HOST}:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    except Exception as consequence:
        if server.failures:
            raise server.failures[0] from consequence
        raise
    finally:
        listener.close()
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
    if server.failures:
        raise server.failures[0]


def _answerer(
    dialect: ModuleType, engine: Engine, server: Server, tell: Callable[[Request], object]
) -> Callable[[Request], Awaitable[Response]]:
    """Note each request, misbehave if told to, and leave the rest to the dialect."""

    async def answer(request: Request) -> Response:
        chat = any(fnmatchcase(request.path, each) for each in dialect.CHAT_PATHS)
        server.visits.append(f"{request.method} {request.path}")
        if chat:
            server.requests.append(request)
            tell(request)
        early = await _misbehave(engine.behaviour, chat, len(server.requests))
        try:
            response: Response = early or await dialect.respond(engine, request)
        except Exception as failure:  # `serve` raises it again when the block ends
            server.failures.append(failure)
            response = json_response({"error": f"the stand-in's script failed: {failure!r}"}, 500)
        how = engine.behaviour
        return replace(response, cut_after=how.cut_after, cut=how.cut, chunk=how.chunk) if chat else response

    return answer


async def _misbehave(how: Behaviour, chat: bool, chats: int) -> Response | None:
    """Delay a proper answer, or return a wrong one instead."""
    if how.silent:
        await asyncio.Event().wait()
    if how.html:
        return Response(200, WEB_PAGE, "text/html; charset=utf-8")
    await asyncio.sleep(how.delay_first_byte if chat else how.delay_looks)
    if not chat:
        return None
    if how.fail_first is None or chats > how.fail_first[3]:
        return None
    status, headers, body, _ = how.fail_first
    if isinstance(body, str):
        return Response(status, body.encode(), "text/plain; charset=utf-8", headers)
    return json_response(body, status, headers)


async def run(script: Script, dialect: Dialect, port: int, log: TextIO | None, **behaviour: Any) -> None:
    """Serve until SIGTERM or SIGINT, with the address printed first and each chat written to the log."""
    stopped = asyncio.Event()
    with suppress(NotImplementedError):  # Windows has no signal handlers in its loops: there, it is killed
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)

    def write(request: Request) -> None:
        if log is not None:
            print(json.dumps({"path": request.path, "body": request.body}), file=log, flush=True)

    async with serve(script, dialect, port=port, tell=write, **behaviour) as server:
        print(server.url, flush=True)
        await stopped.wait()


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    given = _parser().parse_args(arguments)
    script = load_script(given.script)
    log = given.log.open("a", encoding="utf-8") if given.log else None
    try:
        run_loop(run(script, given.dialect, given.port, log, **_behaviour(given)))
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        if log is not None:
            log.close()


def _behaviour(given: argparse.Namespace) -> dict[str, Any]:
    """The fields of Behaviour that the flags set."""
    said = {name: value for name, value in vars(given).items() if name in Behaviour.__struct_fields__}
    for several in ("router", "capabilities", "modes"):
        said[several] = tuple(filter(None, said[several].split(",")))
    return said


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kith.features.demo.standin", description=__doc__.splitlines()[0]
    )
    flag, usual = parser.add_argument, Behaviour()
    flag("--dialect", choices=DIALECTS, default="ollama")
    flag("--script", type=Path, required=True, help="a JSON list of replies")
    flag("--port", type=int, default=0, help="0, the default, takes a free one")
    flag("--log", type=Path, help="write each chat request there, one JSON object a line")
    flag("--model", default="standin", help="the name of the model it has")
    flag("--window", type=int, default=usual.window, help="the model's window in tokens")
    flag("--trained", type=int, default=usual.trained, help="the model's own maximum")
    flag("--ceiling", type=int, default=usual.ceiling, help="ollama: the most it runs, whatever is asked")
    flag("--capabilities", default=",".join(usual.capabilities), help="what the model can do, with commas")
    flag("--slots", type=int, default=1, help="how many chats at once; llama-server divides its window")
    flag("--router", default="", metavar="NAMES", help="llama-server: a router of these models, with commas")
    flag("--ignore-truncate", dest="heeds_truncate", action="store_false", help="ollama: cut all the same")
    flag("--strip-thinking", dest="keeps_thinking", action="store_false", help="llama-server: drop it later")
    flag("--delay", dest="delay_first_byte", type=float, default=0.0, help="seconds before each answer")
    flag("--delay-looks", type=float, default=0.0, help="seconds before it answers anything but a chat")
    flag("--pause", type=float, default=0.0, help="seconds before each piece of an answer")
    flag("--loading", type=float, default=0.0, help="llama-server: seconds that its model takes to load")
    flag("--ping", type=float, default=0.0, help="llama-server: seconds between signs of life while it reads")
    flag("--chunk", type=int, default=0, help="bytes of a stream sent at once, whatever character they cut")
    flag("--cut-after", type=int, help="bytes after which each answer breaks off")
    flag("--cut", choices=get_args(Cut), default="close", help="how it breaks off")
    flag("--silent", action="store_true", help="accept every request, answer none")
    flag("--key", default="", help="anthropic, gemini: the only key that is taken")
    flag(
        "--least-cached", type=int, default=usual.least_cached, help="... tokens of the least that is cached"
    )
    flag("--modes", default=",".join(usual.modes), help="anthropic: the types of thinking, with commas")
    flag("--bind", dest="binds", action="store_true", help="anthropic: bind thoughts to what came before")
    flag("--html", action="store_true", help="answer everything with a web page")
    return parser
