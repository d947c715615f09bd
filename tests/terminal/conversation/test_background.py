"""The terminal is asked for its background, and its answer is never taken for keys, however late it comes."""

import json
import os
import pty
import re
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.terminal.conversation.background import ASK, AnswerFilter
from mending import DONE, edit

LIGHT, DARK = "\x1b]11;rgb:fafa/fafa/fafa\x07", "\x1b]11;rgb:1e/1e/2e\x1b\\"
KEYS = st.text(st.sampled_from("ab1;]\x1b\r[A"), max_size=8).filter(lambda keys: "\x1b]11" not in keys)
GREEN = {"light": b"\x1b[38;5;16;48;5;194m", "dark": b"\x1b[38;5;231;48;5;22m"}  # an added line's words


@given(KEYS, KEYS, st.sampled_from([LIGHT, DARK]), st.lists(st.integers(1, 6), max_size=40))
def test_only_what_was_typed_comes_through(before: str, after: str, answer: str, sizes: list[int]) -> None:
    heard: list[str] = []
    answers, typed, text = AnswerFilter(heard.append), "", before + answer + after
    for size in sizes:
        typed, text = typed + answers.take(text[:size]), text[size:]
    typed += answers.take(text)
    assert typed + answers.flush() == before + after
    assert heard == ["light" if answer == LIGHT else "dark"]


def test_escape_is_a_key_once_nothing_follows_it() -> None:
    answers = AnswerFilter(lambda background: None)
    assert (answers.take("a\x1b"), answers.flush()) == ("a", "\x1b")
    assert (answers.take("\x1b]11;rgb:1"), answers.flush()) == ("", ""), "the rest of an answer is on its way"
    assert answers.take("e/1e/1e\x07b") == "b"


class Terminal:
    """A pseudo-terminal with a conversation in it."""

    def __init__(self, file: int) -> None:
        self.file, self.seen = file, b""

    def type(self, text: str) -> None:
        os.write(self.file, text.encode())

    def wait(self, words: str | bytes, seconds: float = 60.0) -> None:
        wanted = words.encode() if isinstance(words, str) else words
        end = time.monotonic() + seconds
        while wanted not in self.seen:
            assert time.monotonic() < end, f"never saw {wanted!r} in {self.seen[-3000:]!r}"
            if select.select([self.file], [], [], 0.2)[0]:
                self.seen += os.read(self.file, 1 << 16)


@contextmanager
def conversation(folder: Path, **environment: str) -> Iterator[Terminal]:
    """A conversation whose model changes a file."""
    script = folder.parent / "script.json"
    script.write_text(json.dumps([edit(), DONE]))
    command = [sys.executable, "-m", "kith", "-m", f"replay/{script}", "--check", "none"]
    known = {key: value for key, value in os.environ.items() if key not in ("COLORTERM", "COLORFGBG")}
    pid, file = pty.fork()
    if not pid:
        os.chdir(folder)
        os.execve(command[0], command, known | {"TERM": "xterm-256color"} | environment)
    terminal = Terminal(file)
    try:
        terminal.wait("/help lists commands")
        yield terminal
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(file)


def show_change(terminal: Terminal) -> None:
    terminal.type("fix mean\r")
    terminal.wait("Apply this change?")


def test_a_light_terminal_gets_light_rows_however_late_it_answers(repository: Path) -> None:
    with conversation(repository) as terminal:
        terminal.wait(ASK)
        terminal.type("half")
        terminal.wait("half")
        terminal.type(LIGHT[:9])
        terminal.type(LIGHT[9:])
        terminal.type("\x15")
        show_change(terminal)
        terminal.wait(GREEN["light"])
        assert b"rgb:" not in terminal.seen and GREEN["dark"] not in terminal.seen


@pytest.mark.slow
def test_a_terminal_that_does_not_answer_is_dark(repository: Path) -> None:
    with conversation(repository) as terminal:
        show_change(terminal)
        terminal.wait(GREEN["dark"])


@pytest.mark.slow
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"KITH_SCREEN_READER": "1"}])
def test_a_plain_terminal_is_asked_nothing(repository: Path, environment: dict[str, str]) -> None:
    with conversation(repository, **environment) as terminal:
        show_change(terminal)
        assert ASK.encode() not in terminal.seen and not re.search(rb"\x1b\[4[0-8][;m]", terminal.seen)
