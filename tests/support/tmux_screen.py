"""kith in a real terminal: tmux, its keys and its screen."""

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mending import blocks

KITH = f"{sys.executable} -m kith"
_open: list["Screen"] = []
_numbers = itertools.count(1)


class Screen:
    """A terminal of 80 columns that runs one program."""

    def __init__(self, folder: Path, command: str, width: int = 80) -> None:
        self.tmux = ["tmux", "-L", f"screen{os.getpid()}-{next(_numbers)}", "-f", "/dev/null"]
        _open.append(self)
        shown = {
            name: value for name, value in os.environ.items() if name.startswith(("XDG_", "HOME", "PATH"))
        }
        options = [word for name, value in shown.items() for word in ("-e", f"{name}={value}")]
        ending = f'{command}; echo "exit $?"; sleep 60'
        self._do("new-session", "-d", "-x", str(width), "-y", "45", *options, "-c", str(folder), ending)

    def _do(self, *words: str) -> str:
        return subprocess.run([*self.tmux, *words], check=True, capture_output=True, text=True).stdout

    @property
    def text(self) -> str:
        return self._do("capture-pane", "-p", "-S", "-200")

    def press(self, *keys: str) -> None:
        self._do("send-keys", *keys)

    def wait(self, words: str, times: int = 1, seconds: float = 60.0) -> str:
        """The screen once it shows these words so often, wherever the lines break."""
        end = time.monotonic() + seconds
        while " ".join((shown := self.text).split()).count(" ".join(words.split())) < times:
            assert time.monotonic() < end, f"never saw {words!r} in:\n{shown}"
            time.sleep(0.05)
        return shown


@pytest.fixture(autouse=True)
def no_terminal_is_left() -> Iterator[None]:
    yield
    while _open:  # a server of its own for each: the next one cannot meet one that is ending
        subprocess.run([*_open.pop().tmux, "kill-server"], capture_output=True)


TWO = blocks('"""Small helpers for numbers."""\n', '"""Helpers."""\n') + blocks(
    "    return max(low, min(number, high))\n", "    return min(high, max(number, low))\n"
)
