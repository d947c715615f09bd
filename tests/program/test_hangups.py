"""A terminal that is closed, as by a cut connection: the work ends whole, and `nohup` keeps it alive."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from built import PLANNED
from mending import DONE, NEW, OLD, edit
from outside import Kith
from sparing import first
from waiting import running, until

UNCHECKED = ("--check", "none")


class Hanging:
    """kith in a terminal of its own, which can be closed."""

    def __init__(self, folder: Path, *words: str, before: tuple[str, ...] = ()) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        os.set_blocking(self.ours, False)
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", "kith", *words],
            cwd=folder,
            env={**os.environ, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        os.close(theirs)
        self.said = b""

    def wait(self, words: str) -> None:
        until(lambda: self._read(words.encode()), f"it never said {words!r}")

    def _read(self, words: bytes) -> bool:
        with suppress(BlockingIOError, OSError):
            self.said += os.read(self.ours, 1 << 16)
        return words in self.said

    def close(self) -> None:
        """The kernel sends SIGHUP now, as when a window is closed."""
        os.close(self.ours)
        self.ours = -1

    def end(self) -> int:
        code = self.process.wait(60)
        if self.ours >= 0:
            self.close()
        return code


def _own_terminal() -> None:
    """The terminal is this process's own, and its end is heard, whoever runs the tests."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


Open = Callable[..., Hanging]


@pytest.fixture
def hanging(repository: Path) -> Iterator[Open]:
    opened: list[Hanging] = []

    def begin(*words: str, **options: Any) -> Hanging:
        opened.append(Hanging(repository, *words, **options))
        return opened[-1]

    yield begin
    for each in opened:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()
        if each.ours >= 0:
            each.close()


@pytest.fixture
def kith(repository: Path) -> Kith:
    return Kith(repository)


def played(kith: Kith, *replies: Any) -> tuple[str, str]:
    """The option that names a model which answers so."""
    file = kith.folder.parent / "script.json"
    file.write_text(json.dumps(replies))
    return "-m", f"replay/{file}"


def utils(kith: Kith) -> str:
    return (kith.folder / "utils.py").read_text()


def newest(kith: Kith) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kith("sessions", "--json").stdout)[0]
    return found


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("again", first([True, False]))
def test_a_task_whose_terminal_is_closed_can_be_resumed(kith: Kith, hanging: Open, again: bool) -> None:
    sleep = f"sleep 61{int(again)}{os.getpid()}"
    asleep = {"calls": [{"name": "bash", "args": {"command": sleep}}]}
    model = played(kith, edit(), asleep, DONE)
    opened = hanging("run", "--yes", *model, *UNCHECKED, "fix mean")
    until(lambda: running(sleep.replace(" ", "\0")))
    if again:  # a shell passes the signal on once more
        opened.process.send_signal(signal.SIGHUP)
    opened.close()
    assert opened.end() == 129
    assert not running(sleep.replace(" ", "\0"))
    session = newest(kith)
    assert (session["status"], session["waiting"]) == ("interrupted", True)
    assert OLD in utils(kith) and f"+{NEW}" in kith("diff").stdout
    model = played(kith, DONE)
    assert kith.run("--yes", *model, *UNCHECKED, "--resume", session["id"])["status"] == "done"
    assert NEW in utils(kith)


@pytest.mark.slow
def test_a_question_whose_terminal_is_closed_applies_nothing(kith: Kith, hanging: Open) -> None:
    opened = hanging("run", *played(kith, edit(), DONE), *UNCHECKED, "fix mean")
    opened.wait("Apply this change?")
    opened.close()
    assert opened.end() == 129
    assert OLD in utils(kith)
    assert (newest(kith)["status"], newest(kith)["waiting"]) == ("interrupted", True)


@pytest.mark.slow
def test_a_build_whose_terminal_is_closed_ends_whole(kith: Kith, hanging: Open) -> None:
    model = played(kith, PLANNED, {"text": "Late.", "delay": 60})
    opened = hanging("build", "--yes", *model, "add a median")
    opened.wait("Add a median")
    opened.close()
    assert opened.end() == 129
    assert newest(kith)["status"] == "interrupted"


@pytest.mark.slow
def test_nohup_keeps_a_task_alive(kith: Kith, hanging: Open) -> None:
    model = played(kith, edit(), {**DONE, "when": str(kith.folder.parent / "closed")})
    opened = hanging("run", "--yes", *model, *UNCHECKED, "fix mean", before=("nohup",))
    out = kith.folder / "nohup.out"
    until(lambda: out.exists() and "utils.py" in out.read_text(), "it did not begin")
    opened.process.send_signal(signal.SIGHUP)
    opened.close()
    (kith.folder.parent / "closed").touch()
    assert opened.end() == 0, out.read_text()
    assert NEW in utils(kith)


def test_input_that_cannot_be_read_is_none(kith: Kith, tmp_path: Path) -> None:
    """As `nohup` leaves it in a terminal."""
    command = [
        sys.executable,
        "-m",
        "kith",
        "run",
        "--yes",
        *UNCHECKED,
        "replace '+ 1' with '+ 2' in utils.py",
    ]
    with (tmp_path / "null").open("w") as unreadable:
        ended = subprocess.run(
            command, cwd=kith.folder, stdin=unreadable, capture_output=True, text=True, check=False
        )
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr
    assert "+ 2" in utils(kith)
