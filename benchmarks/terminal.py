"""How quickly a conversation answers to keys, alone and while a model writes, and what it holds in memory.

    python benchmarks/terminal.py [TURNS]

A pseudo-terminal plays the person, a stand-in server the model (it speaks Ollama's format, 100 pieces a
second). Prints the time from the start to the echo of the first key, beside that of a bare interpreter; how
long a key takes to be echoed; how that changes in a reply of 5,000 lines; and the memory after so many TURNS
(1,000).
"""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # the model writes none of them
KITH = [sys.executable, "-m", "kith"]


class Terminal:
    """A program in a pseudo-terminal of 100 columns."""

    def __init__(self, command: Sequence[str], folder: Path, environment: dict[str, str]) -> None:
        self.began = time.perf_counter()
        self.pid, self.file = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.execvpe(command[0], list(command), environment)
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.seen = b""

    def read(self, seconds: float) -> bytes:
        """What comes within so many seconds, at once when there is anything."""
        ready, _, _ = select.select([self.file], [], [], seconds)
        try:
            new = os.read(self.file, 1 << 16) if ready else b""
        except OSError:
            new = b""
        self.seen = (self.seen + new)[-200_000:]
        return new

    def wait(self, words: bytes, seconds: float = 60.0) -> float:
        """Seconds until these words come."""
        began, self.seen = time.perf_counter(), b""
        while words not in self.seen:
            self.read(0.5)
            if time.perf_counter() - began > seconds:
                raise SystemExit(f"never saw {words!r} in {self.seen[-2000:]!r}")
        return time.perf_counter() - began

    def type(self, text: str) -> None:
        os.write(self.file, text.encode())

    def echo(self, letter: str) -> float:
        """Seconds until a letter that was typed is seen."""
        self.type(letter)
        return self.wait(letter.encode())

    def rest(self, seconds: float) -> None:
        """Read and forget what comes in so many seconds."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def memory(self) -> float:
        """Megabytes that the process holds."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    def end(self) -> None:
        self.type("\x03\x03")
        self.rest(0.5)
        os.close(self.file)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


def echoes(terminal: Terminal, number: int, gap: float = 0.12) -> list[float]:
    """How long each of so many keys took, in milliseconds."""
    found = []
    for n in range(number):
        letter = LETTERS[n % len(LETTERS)]
        found.append(1000 * terminal.echo(letter))
        terminal.rest(gap)
        if n % 20 == 19:
            terminal.type("\x15")
            terminal.rest(0.2)
    return found


def told(values: Sequence[float]) -> str:
    """`median 4.1, p95 9.0, worst 14.2 ms`."""
    p95 = sorted(values)[int(0.95 * (len(values) - 1))]
    return f"median {median(values):.1f}, p95 {p95:.1f}, worst {max(values):.1f} ms"


@contextmanager
def place() -> Iterator[tuple[Path, dict[str, str]]]:
    """A small project, and an environment with folders of its own."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        root.mkdir()
        (root / "stats.py").write_text("def mean(values):\n    return sum(values) / len(values)\n")
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        own = {f"XDG_{name}_HOME": f"{folder}/{name}" for name in ("STATE", "CONFIG", "CACHE", "DATA")}
        yield root, {**os.environ, **own, "TERM": "xterm-256color", "KITH_DISCOVERY": "off"}


@contextmanager
def model(replies: Sequence[object], folder: Path, pause: float) -> Iterator[str]:
    """A stand-in server that says these replies; gives its address."""
    script = folder / "replies.json"
    script.write_text(json.dumps(replies))
    command = [
        sys.executable,
        "-m",
        "kith.features.demo.standin",
        "--dialect",
        "ollama",
        "--script",
        str(script),
    ]
    with subprocess.Popen([*command, "--pause", str(pause)], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        yield re.search(r"http://\S+", server.stdout.readline())[0]  # type: ignore[index]
        server.terminate()


def first_key(root: Path, environment: dict[str, str]) -> None:
    """From the start to the first echo, five times, beside an interpreter that only starts."""
    bare, found = [], []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        bare.append(1000 * (time.perf_counter() - began))
        terminal = Terminal(KITH, root, environment)
        terminal.type("Q")  # it waits until somebody reads keys
        terminal.wait(b"Q\x1b")
        found.append(1000 * (time.perf_counter() - terminal.began))
        terminal.rest(1.0)
        terminal.end()
    print(f"first key echoed after the start: {told(found)}; a bare interpreter: {told(bare)}")


def while_it_writes(root: Path, environment: dict[str, str], folder: Path) -> None:
    """Echoes at rest, and in the first and last part of a reply of 5,000 lines at 100 pieces a second."""
    line = "some words of a reply with **strong** ones and `code` in them, and so on to the end\n"
    with model([{"text": line * 5000}], folder, 0.01) as url:
        terminal = Terminal([*KITH, "-m", "ollama/standin"], root, {**environment, "OLLAMA_HOST": url})
        terminal.wait(b"leaves")
        terminal.rest(1.5)
        print(f"echo at rest:                     {told(echoes(terminal, 40))}")
        terminal.type("\x15write\r")
        terminal.wait(b"some words")
        print(f"echo while 100 pieces/s arrive:   {told(echoes(terminal, 80))}")
        terminal.end()
    with model([{"text": line * 5000}], folder, 0.0) as url:
        terminal = Terminal([*KITH, "-m", "ollama/standin"], root, {**environment, "OLLAMA_HOST": url})
        terminal.wait(b"leaves")
        terminal.rest(1.5)
        terminal.type("write\r")
        terminal.wait(b"some words")
        began = time.perf_counter()
        early = echoes(terminal, 20, 0.05)
        terminal.rest(2.0)
        late = echoes(terminal, 20, 0.05)
        print(f"echo early in 5,000 lines at full speed: {told(early)}")
        print(f"echo later in it ({time.perf_counter() - began:.0f} s):            {told(late)}")
        terminal.end()


def turns(root: Path, environment: dict[str, str], folder: Path, number: int) -> None:
    """What is held in memory after so many turns of one conversation."""
    replies = [{"text": f"answer {n} is here, with some words"} for n in range(number)]
    script = folder / "turns.json"
    script.write_text(json.dumps(replies))
    terminal = Terminal([*KITH, "-m", f"replay/{script}"], root, environment)
    terminal.wait(b"leaves")
    terminal.rest(1.5)
    for n in range(number):
        terminal.type(f"question {n}\r")
        terminal.wait(f"answer {n} is here".encode())
        if n in (0, 9, 99, number // 2, number - 1):
            terminal.rest(0.3)
            print(f"after {n + 1:5} turns: {terminal.memory():6.1f} MB")
    terminal.end()


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, tmux {shutil.which('tmux') or 'not'} used")
    with place() as (root, environment):
        folder = root.parent
        first_key(root, environment)
        if number > 5:
            while_it_writes(root, environment, folder)
        turns(root, environment, folder, number)


if __name__ == "__main__":
    main()
