"""The other ways into kith that a soak uses beside `kith run`: each is begun, used, and ended in some way.

A conversation in a terminal, `kith watch`, `kith build`, an agent at `kith mcp` and an editor at `kith acp`.
Conversations meet no changed clock: libfaketime makes each of their many waits several times dearer.
"""

import asyncio
import fcntl
import json
import os
import pty
import random
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

ROOT: Final = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from built import ADVISED, MENDED, PLANNED, SIMPLE, SPECIFIED, TRIED  # noqa: E402

WAIT_S: Final = 60.0  # for one thing to happen
END_S: Final = 60.0  # for a process to end, before it counts as hung
MODEL: Final = ("-m", "ollama/standin")
CHECK: Final = ("--check", "none")
SIGNALS: Final = {"terminate": signal.SIGTERM, "interrupt": signal.SIGINT, "hang up": signal.SIGHUP}


class Ended(Struct):
    """How a process ended: its exit code, how long after it was told to, and what it said."""

    code: int
    late: float
    said: str
    trouble: str = ""


class Used(Struct):
    """One process in the midst of its use. `over` lets it end by itself, as a person would."""

    process: asyncio.subprocess.Process
    over: Callable[[], None]
    said: bytearray = field(default_factory=bytearray)
    told: asyncio.Event = field(default_factory=asyncio.Event)
    hearing: "list[asyncio.Task[None]]" = field(default_factory=list)

    async def wait(self, words: bytes) -> bool:
        """Wait until it says this; False when it ends before, or takes too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_S):
                while words not in self.said:
                    if self.process.returncode is not None:
                        return words in self.said
                    self.told.clear()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self.told.wait(), 0.2)
                return True
        return False

    def hear(self, data: bytes) -> None:
        self.said += data
        self.told.set()


class Starved:
    """How long a process, what it started, and this soak waited for a processor: no fault of kith's.

    Of each process the thread that waited longest counts: threads wait at the same time.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.begin()

    def begin(self) -> None:
        """Count from now."""
        self.since = time.monotonic()
        self._first, self._last = dict[tuple[int, int], int](), dict[tuple[int, int], int]()
        self.look()

    @property
    def seconds(self) -> float:
        longest = dict[int, int]()
        for task, last in self._last.items():
            longest[task[0]] = max(longest.get(task[0], 0), last - self._first[task])
        return sum(longest.values()) / 1e9

    def look(self) -> None:
        """Read what each thread has waited so far; one that comes later has waited only since."""
        begins = not self._last
        waiting = [os.getpid(), self._pid]
        for pid in waiting:
            for task in Path(f"/proc/{pid}/task").glob("*"):
                with suppress(OSError, ValueError, IndexError):
                    if pid != os.getpid():
                        waiting += map(int, (task / "children").read_text().split())
                    number = pid, int(task.name)
                    waited = int((task / "schedstat").read_text().split()[1])
                    self._first.setdefault(number, waited if begins else 0)
                    self._last[number] = waited

    async def wait(self, process: asyncio.subprocess.Process, seconds: float) -> bool:
        """True if the process ended within so many seconds in which nobody waited for a processor."""
        began = time.monotonic()
        while time.monotonic() - began - self.seconds < seconds:
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 0.2)
                self.look()
                return True
            self.look()
        return False


async def end(used: Used, how: str) -> Ended:
    """End it in one of the ways, and wait until it is gone."""
    began, starved = time.monotonic(), Starved(used.process.pid)
    with suppress(ProcessLookupError):
        if how == "over":
            used.over()
        else:
            used.process.send_signal(SIGNALS.get(how, signal.SIGKILL))
    trouble = ""
    if not await starved.wait(used.process, END_S):
        trouble = f"did not end within {END_S:.0f} s of {how!r}"
        os.killpg(used.process.pid, signal.SIGKILL)
    code = await used.process.wait()
    late = max(time.monotonic() - began - starved.seconds, 0.0)
    await asyncio.sleep(0.1)  # the last words
    return Ended(code, late, used.said.decode("utf-8", "replace"), trouble)


# --- a conversation --------------------------------------------------------------------------


async def talk(tree: Path, environ: dict[str, str], task: str, chance: random.Random) -> Ended:
    """Someone types a task, says yes to the change, and leaves."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kith", *MODEL, *CHECK),
        cwd=tree,
        env={**environ, "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    used = Used(process, lambda: None)
    loop = asyncio.get_running_loop()
    is_open = True

    def read() -> None:
        try:
            data = os.read(ours, 1 << 16)
        except OSError:
            data = b""
        if data:
            used.hear(data)
        else:
            loop.remove_reader(ours)

    def hang_up() -> None:
        nonlocal is_open
        loop.remove_reader(ours)
        os.close(ours)
        is_open = False

    def press(keys: str) -> None:
        with suppress(OSError):
            os.write(ours, keys.encode())

    loop.add_reader(ours, read)
    cut = chance.random() < 0.3  # it ends in the midst of the task, where /quit would wait for its end
    ways = [hang_up, lambda: press("\x04"), lambda: press("/quit\r")]
    used.over = chance.choice(ways[:2] if cut else ways)
    if await used.wait(b"/help lists commands"):
        for keys in (task, "\r"):  # at once they would be a paste
            await asyncio.sleep(0.3)
            press(keys)
        if cut:
            await asyncio.sleep(chance.uniform(0, 1.0))
        elif await used.wait(b"write what to do differently"):  # the end of the question
            await asyncio.sleep(0.3)
            press("a")  # all of it
            await used.wait(b"Applied")
            await asyncio.sleep(0.3)
    try:
        return await end(
            used, "over" if cut else chance.choice(("over", "over", "over", "terminate", "kill"))
        )
    finally:
        if is_open:
            hang_up()


# --- programs at the other end of two pipes --------------------------------------------------


async def begin(tree: Path, environ: dict[str, str], *words: str) -> Used:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kith", *words),
        cwd=tree,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        limit=1 << 24,
    )
    assert process.stdin
    used = Used(process, process.stdin.close)
    assert process.stderr
    used.hearing.append(asyncio.ensure_future(_hear(used, process.stderr)))
    return used


async def _hear(used: Used, stream: asyncio.StreamReader) -> None:
    while data := await stream.read(1 << 16):
        used.hear(data)


class Peer(Struct):
    """A client that speaks JSON-RPC. `answer` gives the result of what kith asks of it."""

    used: Used
    answer: Callable[[str, dict[str, Any]], Any]
    waiting: dict[int, "asyncio.Future[Any]"] = field(default_factory=dict)
    last: int = 0

    def tell(self, **message: Any) -> None:
        stdin = self.used.process.stdin
        assert stdin
        if not stdin.is_closing():
            stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method: str, **params: Any) -> "asyncio.Future[Any]":
        self.last += 1
        self.waiting[self.last] = asyncio.get_running_loop().create_future()
        self.tell(id=self.last, method=method, params=params)
        return self.waiting[self.last]

    async def listen(self) -> None:
        stream = self.used.process.stdout
        assert stream
        while line := await stream.readline():
            message = json.loads(line)
            if "method" in message and "id" in message:
                found = self.answer(message["method"], message.get("params", {}))
                self.tell(id=message["id"], result=found)
            elif message.get("id") in self.waiting and "method" not in message:
                waits = self.waiting[message["id"]]
                if not waits.done():
                    waits.set_result(message)
        for waits in self.waiting.values():
            if not waits.done():
                waits.set_result(None)


async def _in_time(asked: Awaitable[Any], seconds: float = WAIT_S) -> Any:
    with suppress(TimeoutError):
        return await asyncio.wait_for(asked, seconds)
    return None


async def agent(tree: Path, environ: dict[str, str], task: str, chance: random.Random) -> Ended:
    """An agent at `kith mcp` tries a change; often it is gone before the answer."""
    used = await begin(tree, environ, "mcp", *CHECK, "--patience", "20")
    peer = Peer(used, lambda method, params: {"action": "decline"})
    listening = asyncio.ensure_future(peer.listen())
    about = {"name": "soak", "version": "1"}
    await _in_time(peer.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=about))
    peer.tell(method="notifications/initialized")
    change = f"agent.txt\n```\n{task}\n```\n"
    slow = chance.random() < 0.6
    check = "sleep 8640" if slow else "seq 1 100"
    asked = peer.ask("tools/call", name="trial", arguments={"change": change, "check": check})
    await _in_time(asked, chance.uniform(0.2, 3.0) if slow else WAIT_S)
    ended = await end(used, chance.choice(("over", "over", "terminate", "hang up", "interrupt", "kill")))
    await _in_time(listening)
    return ended


async def editor(tree: Path, environ: dict[str, str], task: str, chance: random.Random) -> Ended:
    """An editor at `kith acp` gives a task, agrees to the change, and is closed; sometimes before."""
    used = await begin(tree, environ, "acp", *MODEL, *CHECK)

    def answer(method: str, params: dict[str, Any]) -> Any:
        options = params.get("options") or [{"optionId": ""}]
        return {"outcome": {"outcome": "selected", "optionId": options[0]["optionId"]}}

    peer = Peer(used, answer)
    listening = asyncio.ensure_future(peer.listen())
    await _in_time(peer.ask("initialize", protocolVersion=1, clientCapabilities={}))
    made = await _in_time(peer.ask("session/new", cwd=str(tree), mcpServers=[]))
    session = ((made or {}).get("result") or {}).get("sessionId", "")
    asked = peer.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": task}])
    await _in_time(asked, chance.choice((WAIT_S, WAIT_S, 0.5)))
    ended = await end(used, chance.choice(("over", "over", "terminate", "kill")))
    await _in_time(listening)
    return ended


# --- commands that go on, or take long -------------------------------------------------------


async def watch(tree: Path, environ: dict[str, str], task: str, chance: random.Random) -> Ended:
    """Someone saves a comment while kith watches, waits for what comes of it, and stops the watch."""
    used = await begin(tree, environ, "watch", "--yes", *MODEL, *CHECK)
    file = tree / "watched.py"
    if await used.wait(b"Watching"):
        await asyncio.sleep(0.3)
        file.write_text(f"N = 0\n# {task} AI!\n")
        until = time.monotonic() + chance.choice((20.0, 20.0, 1.0))
        while "AI!" in file.read_text() and time.monotonic() < until:
            await asyncio.sleep(0.1)
    return await end(used, chance.choice(("interrupt", "interrupt", "terminate", "kill")))


async def build(tree: Path, environ: dict[str, str], task: str, chance: random.Random) -> Ended:
    """A whole build in a project of its own, with roles that say what is written down; half are cut short."""
    with tempfile.TemporaryDirectory(dir=tree.parent, ignore_cleanup_errors=True) as folder:
        project = Path(folder)
        script = project.with_suffix(".json")
        script.write_text(json.dumps([PLANNED, *SPECIFIED, *TRIED, ADVISED, *MENDED, *SIMPLE]))
        (project / "tests").mkdir()
        for name, text in PROJECT.items():
            (project / name).write_text(text)
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Begin")):
            identity = ("-c", "user.name=soak", "-c", "user.email=soak@example.org")
            subprocess.run(("git", *identity, *words), cwd=project, check=True)
        used = await begin(project, environ, "build", "--yes", "-m", f"replay/{script}", "add a median", task)
        assert used.process.stdout
        used.hearing.append(asyncio.ensure_future(_hear(used, used.process.stdout)))
        cut = chance.random() < 0.5
        await _in_time(used.process.wait(), chance.uniform(1.0, 10.0) if cut else 2 * WAIT_S)
        hung = not cut and used.process.returncode is None
        ended = await end(used, chance.choice(("interrupt", "terminate", "kill")))
        script.unlink()
        written = "def median" in (project / "utils.py").read_text()
        ended.trouble = "did not end by itself" if hung else ended.trouble
        full = "No space left on device" in ended.said  # the other kith's full disk
        if not cut and not full and not (ended.code == 0 and written):
            ended.trouble = f"ended with {ended.code}, median written: {written}"
        return ended


# What the builds begin with.
PROJECT: Final = {
    "utils.py": "def clamp(number, low, high):\n    return max(low, min(number, high))\n",
    "tests/__init__.py": "",
    "tests/test_clamp.py": """\
import unittest

from utils import clamp


class TestClamp(unittest.TestCase):
    def test_clamp(self):
        self.assertEqual(clamp(11, 0, 10), 10)
""",
}

Play = Callable[[Path, dict[str, str], str, random.Random], Awaitable[Ended]]
# How often each is played, of 100 sessions; the others are `kith run`.
OTHERS: Final[dict[str, tuple[Play, int]]] = {
    "talk": (talk, 8),
    "mcp": (agent, 8),
    "acp": (editor, 5),
    "watch": (watch, 5),
    "build": (build, 4),
}
