"""`kith models pull` as a person sees it: a bar on a terminal, lines elsewhere, and how to go on."""

import asyncio
import hashlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hub_server import HubServer, serve_hub
from kith.core.events import Notice, Progress
from kith.features.engine.commands import GO_ON, Lines, duration, progress_line
from kith.features.engine.hub_cache import PART
from outside import Kith

GB = 1_000_000_000
REPO, FILE = "me/tiny-GGUF", "tiny-Q4_K_M.gguf"
DATA = hashlib.shake_256(b"a model").digest(200_000)

# A download that lasts until it is told to end, shown by the real function.
CHILD = """
import asyncio, sys
from kith.core.errors import NoModelError
from kith.core.events import Notice, Progress
from kith.features.engine.commands import follow

async def work(hear):
    hear(Notice("tiny\\x1b[31m.gguf, 5.0 GB"))
    for done in range(1, 4):
        hear(Progress("checking", done, 3))
    for done in range(2, 6):
        hear(Progress("downloading", done * 10**9, 5 * 10**9))
        await asyncio.sleep(0.05)
    print("ready", file=sys.stderr, flush=True)
    if "wait" in sys.argv:
        await asyncio.sleep(60)
    if "fail" in sys.argv:
        raise NoModelError("There is no such model.")
    return "/cache/tiny.gguf"

try:
    sys.exit(follow(work, sys.stderr))
except KeyboardInterrupt:
    sys.exit(130)
"""


def at(*clock: float) -> Lines:
    """Lines on a text in memory, with the clock's next times."""
    times = iter(clock)
    return Lines(io.StringIO(), clock=lambda: next(times))


def shown(lines: Lines) -> list[str]:
    assert isinstance(lines.stream, io.StringIO)
    return lines.stream.getvalue().splitlines()


def test_a_line_tells_how_far_how_fast_and_how_long() -> None:
    line = progress_line(Progress("downloading", 3 * GB, 5 * GB), had=GB, seconds=20)
    assert line == "  downloading 60% of 5.0 GB, 100.0 MB/s, 0:20 left"
    assert progress_line(Progress("downloading", GB), 0, 0) == "  downloading 1.0 GB"
    assert (
        progress_line(Progress("downloading", 5 * GB, 5 * GB), 0, 50)
        == "  downloading 100% of 5.0 GB, 100.0 MB/s"
    )


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (3723, "1:02:03")])
def test_a_duration_reads_like_a_clock(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_lines_are_few_and_end_with_the_last_byte() -> None:
    lines = at(0, 5, 11, 12, 30)
    for gigabytes in (1, 2, 3, 4, 5):
        lines.hear(Progress("downloading", gigabytes * GB, 5 * GB))
    assert [line.split(",")[0] for line in shown(lines)] == [
        "  downloading 60% of 5.0 GB",
        "  downloading 100% of 5.0 GB",
    ]


def test_names_from_a_hub_cannot_move_the_cursor() -> None:
    lines = at()
    lines.hear(Notice("a\x1b[2J.gguf"))
    assert shown(lines) == ["  · a\\x1b[2J.gguf"]


def test_elsewhere_than_on_a_terminal_the_path_is_all_of_stdout() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "/cache/tiny.gguf\n")
    assert "downloading 100% of 5.0 GB" in done.stderr and "\x1b" not in done.stderr


def test_an_interruption_says_how_to_go_on() -> None:
    with subprocess.Popen([sys.executable, "-c", CHILD, "wait"], stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr
        while "ready" not in child.stderr.readline():
            pass
        child.send_signal(signal.SIGINT)
        assert GO_ON in child.stderr.read()
    assert child.returncode == 130


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal that a program can hold")
@pytest.mark.parametrize(("word", "code"), [("", 0), ("fail", 1)])
def test_on_a_terminal_there_is_a_bar_and_it_leaves_nothing_behind(word: str, code: int) -> None:
    import pty

    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    command = [sys.executable, "-c", CHILD, word]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environ, text=True) as child:
        os.close(theirs)
        drawn = read_all(ours)
        assert child.stdout and child.stdout.read() == ("" if code else "/cache/tiny.gguf\n")
    assert child.returncode == code
    assert "tiny\\x1b[31m.gguf, 5.0 GB" in drawn
    assert "checking" in drawn and "downloading" in drawn and "/5.0 GB" in drawn and "━" in drawn
    assert drawn.count("\x1b[?25l") == drawn.count("\x1b[?25h")  # the cursor is shown again


def read_all(terminal: int) -> str:
    pieces = []
    try:
        while piece := os.read(terminal, 65536):
            pieces.append(piece)
    except OSError:  # what a terminal says when its other side is closed
        pass
    os.close(terminal)
    return b"".join(pieces).decode()


# --- the whole command -----------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_interrupted_and_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))

    def interrupt(hub: HubServer) -> tuple[int, str]:
        command = [sys.executable, "-m", "kith", "models", "pull", REPO]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as child:
            while not any(part.stat().st_size for part in tmp_path.glob(f"hub/**/*{PART}")):
                time.sleep(0.01)
            child.send_signal(signal.SIGINT)
            assert child.stderr
            words = child.stderr.read()
        return child.returncode, words

    async def run() -> None:
        async with serve_hub({f"{REPO}/{FILE}": DATA}, hold_after=100_000) as hub:
            monkeypatch.setenv("HF_ENDPOINT", hub.url)
            code, words = await asyncio.to_thread(interrupt, hub)
            assert code == 130 and GO_ON in words and "Traceback" not in words
            hub.behaviour.hold_after = None
            done = await asyncio.to_thread(Kith(tmp_path), "models", "pull", REPO)
            assert "Resuming at" in done.stderr and Path(done.stdout.strip()).read_bytes() == DATA
            assert hub.sent < 1.5 * len(DATA)  # what was under way when it was stopped is sent again
            missing = await asyncio.to_thread(Kith(tmp_path), "models", "pull", f"{REPO}:Q8_0", code=5)
            assert missing.stderr == f"kith: {REPO} has no Q8_0; there is Q4_K_M (200 kB).\n"

    asyncio.run(run())


def test_a_model_that_came_is_named(tmp_path: Path, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with serve_hub({f"{REPO}/{FILE}": tiny_gguf.read_bytes()}) as hub:
            monkeypatch.setenv("HF_ENDPOINT", hub.url)
            done = await asyncio.to_thread(Kith(tmp_path), "models", "pull", REPO)
            assert done.stderr.endswith("  · To ask it: kith -m file/tiny:Q4_K_M\n")
            assert "file/tiny:Q4_K_M\n" in Kith(tmp_path)("models", "--names").stdout

    asyncio.run(run())
