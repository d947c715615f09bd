"""Draw docs/images/conversation.svg: a real conversation in a real terminal (tmux), as it looked.

    python tools/terminal_picture.py [light]

The model is played back, as in `kith demo`; everything else is real.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, DIMMED_MONOKAI
from rich.text import Text

WIDTH, HEIGHT = 92, 36
OUT = Path(__file__).parent.parent / "docs" / "images" / "conversation.svg"
CODE = '''"""Figures of a list of numbers."""


def median(values):
    """The middle value; of an even number the mean of the middle two."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
'''
TEST = """import unittest

from stats import median


class Medians(unittest.TestCase):
    def test_even(self):
        self.assertEqual(median([1, 2, 3, 4]), 2.5)
"""
OLD = "    return ordered[len(ordered) // 2]\n"
NEW = """    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
"""
REPLIES = [
    {
        "thinking": "The test wants the mean of the two values in the middle. I look at the function first.",
        "calls": [
            {
                "name": "todo",
                "args": {
                    "items": [
                        {"text": "Find why the even case fails", "state": "done"},
                        {"text": "Mend median()", "state": "active"},
                        {"text": "Run the tests", "state": "pending"},
                    ]
                },
            },
            {"name": "read", "args": {"path": "stats.py"}},
        ],
    },
    {"calls": [{"name": "edit", "args": {"path": "stats.py", "old": OLD, "new": NEW}}]},
    {"calls": [{"name": "bash", "args": {"command": "python3 -m unittest -q"}}]},
    {"text": "`median()` took the **upper** of the two middle values. Now it takes their mean."},
]


class Terminal:
    """tmux, with one program in it."""

    def __init__(self, folder: Path, command: str) -> None:
        self._tmux = ["tmux", "-L", f"picture{os.getpid()}", "-f", "/dev/null"]
        size = ("-x", str(WIDTH), "-y", str(HEIGHT))
        self._do("new-session", "-d", *size, "-e", "LANG=C.UTF-8", "-c", str(folder), command)

    def _do(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True).stdout

    def say(self, words: str) -> None:
        self._do("send-keys", "-l", words)
        time.sleep(0.5)
        self._do("send-keys", "Enter")

    def wait(self, words: str) -> str:
        for _ in range(300):
            if words in (shown := self._do("capture-pane", "-p", "-e")):
                return shown
            time.sleep(0.1)
        raise SystemExit(f"never saw {words!r} in:\n{shown}")

    def close(self) -> None:
        self._do("kill-server")
        time.sleep(3)  # kith ends, and takes its trial with it


def draw(theme: str) -> str:
    """What is on the screen when the person is asked."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "project"
        root.mkdir()
        (root / "stats.py").write_text(CODE)
        (root / "test_stats.py").write_text(TEST)
        script = Path(place) / "qwen3-8b.json"
        script.write_text(json.dumps(REPLIES))
        for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "A median"]):
            identity = ["-c", "user.name=kith", "-c", "user.email=demo@kith.invalid"]
            subprocess.run(["git", *identity, *command], cwd=root, check=True)
        own = " ".join(f"XDG_{name}_HOME={place}/{name}" for name in ("STATE", "CONFIG", "CACHE"))
        kith = f"{sys.executable} -m kith -m replay/{script}"
        terminal = Terminal(root, f"env {own} KITH_THEME={theme} COLORTERM=truecolor HOME={place} {kith}")
        try:
            terminal.wait("/help")
            terminal.say("fix median() for an even number of values")
            terminal.wait("Apply this change?")
            time.sleep(1.0)
            return terminal.wait("Apply this change?")
        finally:
            terminal.close()


def main() -> None:
    theme = "light" if sys.argv[1:] == ["light"] else "dark"
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), color_system="truecolor")  # noqa: SIM115, PTH123
    console.print(Text.from_ansi(draw(theme)))
    colours = DEFAULT_TERMINAL_THEME if theme == "light" else DIMMED_MONOKAI
    console.save_svg(str(OUT), title="kith", theme=colours)
    print(OUT)


if __name__ == "__main__":
    main()
