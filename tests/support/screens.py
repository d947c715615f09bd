"""A real terminal (tmux) that a test types into and looks at; what it looked like is kept as text."""

import os
import re
import subprocess
import time
from pathlib import Path

PICTURES = Path(__file__).parent / "pictures"
# What differs from run to run: seconds, random names, the greeting with its folder, a spinner.
_FLEETING = (
    (re.compile(r" {2}(\d+ min )?\d+(\.\d+)? s\b"), ""),  # what took no time has none beside it
    (re.compile(r"\b[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"\A.*^/help lists commands[^\n]*\n", re.M | re.S), ""),  # the folder, on so many lines
    (re.compile(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]"), "*"),
)
_number = 0


class Tmux:
    """A terminal of so many columns and rows that runs one command in a folder."""

    def __init__(
        self,
        folder: Path,
        command: str,
        width: int = 80,
        height: int = 24,
    ) -> None:
        global _number
        _number += 1
        self._tmux = ["tmux", "-L", f"kith{os.getpid()}-{_number}", "-f", "/dev/null"]
        shown = {
            name: value for name, value in os.environ.items() if name.startswith(("XDG_", "HOME", "PATH"))
        }
        shown |= {"LANG": "C.UTF-8", "COLORTERM": "truecolor"}
        options = [word for name, value in shown.items() for word in ("-e", f"{name}={value}")]
        size = ("-x", str(width), "-y", str(height))
        ending = f'{command}; echo "exit $?"; stty -a | grep -o " -\\?icanon"; sleep 300'
        self._do("new-session", "-d", *size, *options, "-c", str(folder), ending)

    def _do(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True).stdout

    def close(self) -> None:
        """End it, and all that runs in it."""
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)

    @property
    def screen(self) -> str:
        """What is seen now."""
        return self._do("capture-pane", "-p")

    @property
    def text(self) -> str:
        """What is seen, and what has left the screen at its top."""
        return self._do("capture-pane", "-p", "-S", "-20000")

    @property
    def colours(self) -> str:
        """What is seen, with its colours."""
        return self._do("capture-pane", "-p", "-e")

    @property
    def pid(self) -> int:
        """The process of the command."""
        shell = self._do("display-message", "-p", "#{pane_pid}").strip()
        found = subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True, check=True).stdout
        return int(found.split()[0])

    def resize(self, width: int, height: int) -> None:
        """Another size, as when somebody pulls at a window's corner."""
        self._do("resize-window", "-x", str(width), "-y", str(height))

    def press(self, *keys: str) -> None:
        """Keys by tmux's names (Enter, Escape, C-c, S-Tab is BTab), or words."""
        self._do("send-keys", *keys)

    def type(self, words: str) -> None:
        """Words as they are."""
        self._do("send-keys", "-l", words)

    def say(self, words: str) -> None:
        """Words and Enter."""
        self.type(words)
        self.press("Enter")

    def answer(self, key: str) -> None:
        """A key for the question that is seen; what comes at once is not taken for an answer."""
        end = time.monotonic() + 60
        while f"[{key}]" not in self.screen:
            assert time.monotonic() < end, f"nobody asks for {key!r} in:\n{self.screen}"
            time.sleep(0.05)
        time.sleep(0.5)
        self.press(key)

    def wait(self, words: str, times: int = 1, seconds: float = 60.0) -> str:
        """All that was shown, once it holds these words so often, wherever lines break."""
        end = time.monotonic() + seconds
        while " ".join((shown := self.text).split()).count(" ".join(words.split())) < times:
            assert time.monotonic() < end, f"never saw {words!r} in:\n{shown}"
            time.sleep(0.05)
        return shown

    def settle(self, seconds: float = 60.0) -> str:
        """What is seen once nothing changes any more."""
        end, before = time.monotonic() + seconds, ""
        while (now := self.screen) != before:
            assert time.monotonic() < end, f"it never rests:\n{now}"
            before = now
            time.sleep(0.3)
        return now

    def check_picture(self, name: str) -> None:
        """What is seen is what is kept under this name, soon at the latest; PICTURES=write keeps it."""
        file, seen = PICTURES / f"{name}.txt", _lasting(self.settle())
        if os.environ.get("PICTURES") == "write":
            file.parent.mkdir(exist_ok=True)
            file.write_text(seen, encoding="utf-8")
        kept, end = file.read_text(encoding="utf-8"), time.monotonic() + 60
        while seen != kept and time.monotonic() < end:  # a busy machine draws late
            time.sleep(0.3)
            seen = _lasting(self.screen)
        assert seen == kept, f"the picture {file} looks different now:\n{seen}"


def _lasting(seen: str) -> str:
    """A screen's text without what is fleeting."""
    for pattern, word in _FLEETING:
        seen = pattern.sub(word, seen)
    return "\n".join(line.rstrip() for line in seen.rstrip().split("\n")) + "\n"
