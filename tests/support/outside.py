"""kith from outside: a process of its own, and a stand-in server's log of what it was asked."""

import asyncio
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forked import run_forked
from kith.features.demo import standin


@dataclass(frozen=True)
class Server:
    """A stand-in server, and the chats it has logged."""

    url: str
    log: Path
    pid: int = 0

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line)["body"] for line in self.log.read_text().splitlines()]


@dataclass(frozen=True)
class Kith:
    """kith, run in a folder as a process of its own."""

    folder: Path

    def __call__(
        self, *words: str, input: str = "", code: int | None = 0
    ) -> subprocess.CompletedProcess[str]:
        done = run_forked(words, self.folder, input, 120)
        assert code is None or done.returncode == code, (
            f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done

    def run(self, *words: str, code: int | None = 0) -> dict[str, Any]:
        """`kith run --output-format json`, as the object it prints."""
        report: dict[str, Any] = json.loads(self("run", "--output-format", "json", *words, code=code).stdout)
        return report


Serve = Callable[..., Server]
StandIn = Callable[..., standin.Server]


@contextmanager
def in_thread(script: Any, dialect: Any, **behaviour: Any) -> Iterator[standin.Server]:
    """A stand-in server beside the test, on an event loop of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    running = standin.serve(script, dialect, **behaviour)
    try:
        yield asyncio.run_coroutine_threadsafe(running.__aenter__(), loop).result()
        asyncio.run_coroutine_threadsafe(running.__aexit__(None, None, None), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
