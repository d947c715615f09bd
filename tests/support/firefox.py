"""Firefox as Debian ships it, driven by WebDriver BiDi: playwright needs a Firefox of its own."""

import asyncio
import base64
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any, Final

import aiohttp
import pytest

_READY_S: Final = 120.0
_ANSWER_S: Final = 120.0
_LISTENS: Final = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")
_PREFERENCES: Final = (
    'user_pref("remote.active-protocols", 1);\nuser_pref("browser.shell.checkDefaultBrowser", false);\n'
)


class Firefox:
    """One tab; what the page complained of stands in `faults`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.faults: list[str] = []
        self._loop, self._socket, self._ids, self._tab = loop, socket, count(1), ""

    def start(self) -> None:
        self.command("session.new", capabilities={})
        self.command("session.subscribe", events=["log.entryAdded"])
        self._tab = self.command("browsingContext.getTree")["contexts"][0]["context"]

    def command(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one command of the protocol."""
        answer = asyncio.run_coroutine_threadsafe(self._send(method, params), self._loop)
        return answer.result(_ANSWER_S)

    async def _send(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        id = next(self._ids)
        await self._socket.send_json({"id": id, "method": method, "params": params})
        while True:
            told = await self._socket.receive_json()
            if told.get("method") == "log.entryAdded" and told["params"]["level"] == "error":
                self.faults.append(str(told["params"].get("text")))
            if told.get("id") == id:
                assert told["type"] == "success", told
                result: dict[str, Any] = told["result"]
                return result

    def size(self, width: int, height: int) -> None:
        viewport = {"width": width, "height": height}
        self.command("browsingContext.setViewport", context=self._tab, viewport=viewport)

    def go(self, url: str) -> None:
        self.command("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression that gives a text, a number or a truth."""
        target = {"context": self._tab}
        told = self.command("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert told["type"] == "success", told
        return told["result"].get("value")

    def press(self, *keys: str) -> None:
        """Keys, each pressed and let go; special ones by their code in WebDriver."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keys", "actions": actions}
        self.command("input.performActions", context=self._tab, actions=[source])

    def chord(self, held: str, key: str) -> None:
        """A key, pressed while another one is held."""
        kinds = (("keyDown", held), ("keyDown", key), ("keyUp", key), ("keyUp", held))
        source = {
            "type": "key",
            "id": "keys",
            "actions": [{"type": kind, "value": each} for kind, each in kinds],
        }
        self.command("input.performActions", context=self._tab, actions=[source])

    def picture(self) -> bytes:
        return base64.b64decode(self.command("browsingContext.captureScreenshot", context=self._tab)["data"])


@contextmanager
def open_firefox() -> Iterator[Firefox]:
    """A Firefox without a window; the test is skipped where there is none."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if not program:
        pytest.skip("needs firefox")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, _loop_aside() as loop:
        (Path(profile) / "user.js").write_text(_PREFERENCES)
        words = [program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            connecting = asyncio.run_coroutine_threadsafe(_connect(process), loop)
            session, socket = connecting.result(_READY_S)
            tab = Firefox(loop, socket)
            tab.start()
            yield tab
            asyncio.run_coroutine_threadsafe(session.close(), loop).result(_ANSWER_S)
        finally:
            process.kill()
            process.wait()


@contextmanager
def _loop_aside() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop in a thread of its own: the tests' own thread may hold playwright's."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _connect(
    process: subprocess.Popen[bytes],
) -> tuple[aiohttp.ClientSession, aiohttp.ClientWebSocketResponse]:
    """Wait for the address that Firefox prints, and connect to it."""
    url = await asyncio.to_thread(_address, process)
    session = aiohttp.ClientSession()
    return session, await session.ws_connect(f"{url}/session", max_msg_size=0)


def _address(process: subprocess.Popen[bytes]) -> str:
    assert process.stderr
    found = next(match for line in process.stderr if (match := _LISTENS.search(line)))
    return found[1].decode()
