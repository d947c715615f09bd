"""kith from outside: a process of its own, and a stand-in server's log of what it was asked."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Server:
    """A stand-in server, and the chats it has logged."""

    url: str
    log: Path

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
        command = [sys.executable, "-m", "kith", *words]
        done = subprocess.run(
            command, cwd=self.folder, input=input, capture_output=True, text=True, timeout=120
        )
        assert code is None or done.returncode == code, (
            f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done

    def run(self, *words: str, code: int | None = 0) -> dict[str, Any]:
        """`kith run --output-format json`, as the object it prints."""
        report: dict[str, Any] = json.loads(self("run", "--output-format", "json", *words, code=code).stdout)
        return report


Serve = Callable[..., Server]
