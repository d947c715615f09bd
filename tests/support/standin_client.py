"""How the tests talk to a stand-in server: one chat, or a whole visit."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2

from kith.features.demo.standin import Server, serve

OLLAMA, LLAMA = "/api/chat", "/v1/chat/completions"
HI = [{"role": "user", "content": "hi"}]
READ_CALL = {"name": "read_file", "args": {"path": "sub/ä.py", "line": 3}}

Client = httpx2.AsyncClient
T = TypeVar("T")


def visit(script: Any, talk: Callable[[Client, Server], Awaitable[T]], *args: Any, **behaviour: Any) -> T:
    """Talk to a stand-in that runs only so long."""

    async def run() -> T:
        async with (
            serve(script, *args, **behaviour) as server,
            httpx2.AsyncClient(base_url=server.url, trust_env=False, verify=False, timeout=60) as client,
        ):
            return await talk(client, server)

    return asyncio.run(run())


def chat(script: Any, dialect: str, body: dict[str, Any] | None = None, **behaviour: Any) -> httpx2.Response:
    """The answer to one chat."""
    path = OLLAMA if dialect == "ollama" else LLAMA

    async def talk(client: Client, server: Server) -> httpx2.Response:
        return await client.post(path, json={"model": "standin", "messages": HI, **(body or {})})

    return visit(script, talk, dialect, **behaviour)


def lines(response: httpx2.Response) -> list[dict[str, Any]]:
    """The objects of an NDJSON answer."""
    return [json.loads(line) for line in response.text.splitlines()]


def events(response: httpx2.Response) -> list[dict[str, Any]]:
    """The objects of an event stream, which must end with [DONE]."""
    *blocks, done, rest = response.text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    return [json.loads(block.removeprefix("data: ")) for block in blocks if not block.startswith(":")]
