"""`kith serve` as a process of its own."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

_FIRST = re.compile(r"(http://\S+)/\?token=(\S+)")


@dataclass
class Serving:
    """`kith serve` on a free port; `client` carries its token, `first` is the address for a browser."""

    folder: Path
    options: tuple[str, ...] = ()
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    url: str = ""
    token: str = ""
    process: subprocess.Popen[str] = field(init=False)
    client: httpx2.Client = field(init=False)
    said: list[str] = field(default_factory=list)

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
        command = [sys.executable, "-m", "kith", "serve", "--port", str(port), *self.options]
        self.process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout
        for line in self.process.stdout:
            self.said.append(line)
            if found := _FIRST.search(line):
                self.url, self.token = found.groups()
                break
        assert self.url, f"kith serve did not start:\n{''.join(self.said)}"
        self.client = httpx2.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {self.token}"}, timeout=20
        )
        return self

    def stop(self) -> str:
        """End it; returns the rest of what it said."""
        self.client.close()
        return self.end(signal.SIGTERM)

    def end(self, how: signal.Signals) -> str:
        """End it by a signal; returns the rest of what it said."""
        assert self.process.stdout
        self.process.send_signal(how)
        self.process.wait(10)
        return self.process.stdout.read()

    def restart(self) -> "Serving":
        """The same server on the same port."""
        port = self.port
        if self.process.poll() is None:
            self.stop()
        return self.start(port)
