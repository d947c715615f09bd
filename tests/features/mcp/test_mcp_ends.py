"""`kith mcp` ends with its client, whatever ends it, also in the midst of a call."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from kith.memory.log import LOG_FILE, Log
from waiting import running, soon, until

pytestmark = pytest.mark.slow  # each starts kith, and a command in its sandbox
NEW = "notes.txt\n```\nnew\n```\n"
# kith in a session of its own, where the client's signals do not reach it.
KEEPER = """\
import os, subprocess, sys
folder, *command = sys.argv[1:]
keeper = os.fork()
if keeper:
    sys.exit(os.waitpid(keeper, 0)[1])
os.setsid()
with open(folder + "/said", "wb") as said:
    kith = subprocess.Popen(command, stderr=said)
os.close(0), os.close(1)
with open(folder + "/pid.new", "w") as file:
    file.write(str(kith.pid))
os.rename(folder + "/pid.new", folder + "/pid")
code = kith.wait()
with open(folder + "/code.new", "w") as file:
    file.write(str(code))
os.rename(folder + "/code.new", folder + "/code")
"""


@asynccontextmanager
async def kept_client(folder: Path, repository: Path) -> AsyncIterator[Client]:
    command = [sys.executable, "-m", "kith", "mcp", "-C", str(repository)]
    arguments = ["-c", KEEPER, str(folder), *command]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ), cwd="/")
    async with Client(server, read_timeout_seconds=60) as found:
        yield found


async def call_at_work(folder: Path, repository: Path, kith: Client, home: Path) -> "asyncio.Task[object]":
    """A call whose command has begun in the trial, and never ends by itself."""
    check = f"sleep 8642 # {folder}"
    asked = asyncio.ensure_future(kith.call_tool("trial", {"change": NEW, "check": check}))
    await soon(lambda: asked.done() or running(check), "the check did not begin")
    assert not asked.done(), asked.result()
    return asked


def ended(folder: Path, repository: Path, home: Path) -> tuple[int, str]:
    """How kith ended, and what it said; nothing of it is left."""
    until(lambda: (folder / "code").exists(), "kith mcp did not end")
    until(lambda: not running(str(folder)), "a process was left")
    log = Log(home / ".local/state/kith" / LOG_FILE)
    assert not log.open_ids()
    assert {each.status for each in log.sessions(repository)} <= {"interrupted"}
    return int((folder / "code").read_text()), (folder / "said").read_text()


def test_mcp_ends_when_the_client_closes_the_stream_in_a_call(
    repository: Path, sandbox: None, home: Path, tmp_path: Path
) -> None:
    async def leave() -> None:
        async with kept_client(tmp_path, repository) as kith:
            asked = await call_at_work(tmp_path, repository, kith, home)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)

    asyncio.run(leave())
    assert ended(tmp_path, repository, home) == (0, "")


@pytest.mark.parametrize(
    "number, code, at_work",
    [("SIGTERM", 143, True), ("SIGHUP", 129, True), ("SIGINT", 130, True), ("SIGINT", 130, False)],
)
def test_mcp_ends_with_a_signal(
    repository: Path, sandbox: None, home: Path, tmp_path: Path, number: str, code: int, at_work: bool
) -> None:
    async def stop() -> None:
        async with kept_client(tmp_path, repository) as kith:
            await kith.list_tools()
            asked = await call_at_work(tmp_path, repository, kith, home) if at_work else None
            os.kill(int((tmp_path / "pid").read_text()), getattr(signal, number))
            await soon((tmp_path / "code").exists, "kith mcp did not end")
            if asked:
                await asyncio.gather(asked, return_exceptions=True)

    asyncio.run(stop())
    said = "kith: interrupted\n" if number == "SIGINT" else ""
    assert ended(tmp_path, repository, home) == (code, said)


def test_mcp_ends_when_the_client_dies_in_a_call(
    repository: Path, sandbox: None, home: Path, tmp_path: Path
) -> None:
    async def die() -> None:
        async with kept_client(tmp_path, repository) as kith:
            await call_at_work(tmp_path, repository, kith, home)
            os.kill(os.getpid(), signal.SIGKILL)

    client = os.fork()
    if not client:
        with suppress(BaseException):
            asyncio.run(die())
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(client, 0)[1]) == -signal.SIGKILL
    assert ended(tmp_path, repository, home) == (0, "")


def test_mcp_ends_when_nobody_reads_its_answers(repository: Path, home: Path) -> None:
    """A client that asks on and on, and reads nothing: the pipe is full when the signal comes."""
    ask = {
        "jsonrpc": "2.0",
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "deaf", "version": "1"},
        },
    }
    lines = [
        json.dumps({"id": 0, **ask}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
    lines += [json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/list"}) for n in range(1, 60)]
    command = [sys.executable, "-m", "kith", "mcp", "-C", str(repository)]
    kith = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert kith.stdin and kith.stdout and kith.stderr
    kith.stdin.write("".join(f"{line}\n" for line in lines).encode())
    kith.stdin.flush()
    kith.stdout.read(1)  # it answers
    kith.send_signal(signal.SIGTERM)
    code = kith.wait(60)
    kith.stdin.close()
    said = kith.stderr.read().decode()
    assert (code, said) == (143, ""), said
    kith.stdout.close()
    kith.stderr.close()
