"""`kith serve` as a process of its own."""

import os
import re
import signal
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from begetter import Begotten

_FIRST = re.compile(r"(http://\S+)/\?token=(\S+)")


@dataclass
class Serving:
    """`kith serve` on a free port; `client` carries its token, `first` is the address for a browser."""

    folder: Path
    options: tuple[str, ...] = ()
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    url: str = ""
    token: str = ""
    process: Begotten = field(init=False)
    client: httpx2.Client = field(init=False)

    @property
    def first(self) -> str:
        return f"{self.url}/?token={self.token}"

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    @property
    def state(self) -> Path:
        return Path(self.environ["XDG_STATE_HOME"]) / "kith"

    def start(self, port: int = 0) -> "Serving":
        words = ["serve", "--port", str(port), *self.options]
        out = Path(tempfile.mkstemp(prefix="serve-", dir=self.folder.parent)[1])
        self.process, self.url = Begotten(words, self.folder, self.environ, out), ""
        until = time.monotonic() + 60
        while not (found := _FIRST.search(self.said)):
            ended = self.process.poll() is not None
            assert not ended and time.monotonic() < until, f"kith serve did not start:\n{self.said}"
            time.sleep(0.01)
        self.url, self.token = found.groups()
        headers = {"Authorization": f"Bearer {self.token}"}
        self.client = httpx2.Client(base_url=self.url, headers=headers, timeout=60, verify=False)
        return self

    @property
    def said(self) -> str:
        """All its lines."""
        return self.process.out.read_text()

    def end(self, how: signal.Signals = signal.SIGTERM) -> str:
        """End it by a signal; returns all that it said."""
        self.client.close()
        self.process.send_signal(how)
        self.process.wait(60)
        return self.said

    def stop(self) -> str:
        """End it; returns all that it said."""
        return self.end()

    def restart(self) -> "Serving":
        """The same server on the same port."""
        port = self.port
        if self.process.poll() is None:
            self.stop()
        return self.start(port)

    def end_workers(self) -> None:
        """End the processes that work on sessions of this server; some wait for an answer for good."""
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = place.read_bytes().split(b"\0")
                if b"kith.agent.worker" in words and os.fsencode(self.folder) in words:
                    os.kill(int(place.parent.name), signal.SIGKILL)
