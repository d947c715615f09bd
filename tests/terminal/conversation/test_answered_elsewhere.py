"""`kith run` asks in a terminal, and somebody answers elsewhere: the prompt goes, whatever it was doing."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kith.core.values import Answer, Question
from kith.memory.inbox import Inbox, open_question
from kith.memory.log import LOG_FILE, Log
from mending import DONE, NEW, OLD, edit
from tmux_screen import KITH, TWO, Screen, no_terminal_is_left  # noqa: F401
from waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]


class Terminal:
    """A task in a terminal, and its question as another face sees it."""

    def __init__(self, root: Path, log: Log, replies: list[Any], before: str = "") -> None:
        script = root.parent / "conversation.json"
        script.write_text(json.dumps([{"text": each} if isinstance(each, str) else each for each in replies]))
        self.root, self.log = root, log
        command = f"{before} {KITH} run -m replay/{script} --check none 'fix mean'"
        self.screen = Screen(root, f"{command}; echo end $?; stty -a | grep -o ' icanon'")
        self.screen.wait("[a]ll")

    @property
    def session(self) -> str:
        (id,) = self.log.session_ids()
        return id

    @property
    def question(self) -> Question | None:
        return open_question(self.log, self.session)

    def answer(self, choice: str, text: str = "") -> bool:
        assert self.question
        return Inbox(self.log, self.session).claim(self.question.id, Answer(choice, text, by="the page"))

    def ends(self) -> str:
        shown = self.screen.wait("end 0")
        assert "Answered in the page: all." in shown
        self.screen.wait("icanon")
        assert NEW in (self.root / "utils.py").read_text()
        return shown


@pytest.fixture
def log(home: Path) -> Log:
    return Log(home / ".local/state/kith" / LOG_FILE)


def test_while_a_key_is_awaited(repository: Path, log: Log) -> None:
    terminal = Terminal(repository, log, [edit(), DONE])
    terminal.answer("all")
    terminal.ends()


def test_while_pieces_are_chosen(repository: Path, log: Log) -> None:
    terminal = Terminal(repository, log, [TWO, DONE])
    terminal.screen.press("h")
    terminal.screen.wait("Keep it?")
    terminal.answer("none")
    shown = terminal.screen.wait("end 3")
    assert "Answered in the page: none." in shown
    terminal.screen.wait("icanon")


def test_while_a_line_is_typed(repository: Path, log: Log) -> None:
    wrong = OLD.replace("+ 1", "+ 0")
    terminal = Terminal(repository, log, [edit(OLD, wrong), DONE, edit(wrong, NEW), DONE])
    terminal.screen.press("s")
    terminal.screen.wait("What should be different?")
    terminal.screen.press("use m")
    terminal.screen.wait("use m")
    terminal.answer("revise", "use max")
    terminal.screen.wait("Answered in the page: revise.")
    terminal.screen.wait("[a]ll", times=2)
    terminal.answer("all")
    terminal.ends()


@pytest.mark.parametrize("editor", ["vi", "sleeping"])
def test_while_the_editor_is_open(repository: Path, log: Log, editor: str, tmp_path: Path) -> None:
    if editor == "vi" and shutil.which("vi") is None:
        pytest.skip("needs vi")
    sleeping = tmp_path / "sleeping.py"
    sleeping.write_text(
        "import os, sys, time, tty\n"
        "tty.setraw(0)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "time.sleep(60)\n"
    )
    command = "vi" if editor == "vi" else f"'python3 {sleeping}'"
    terminal = Terminal(repository, log, [edit(), DONE], before=f"EDITOR={command}")
    terminal.screen.press("e")
    if editor == "vi":
        terminal.screen.wait("~")
    else:
        until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    terminal.answer("all")
    terminal.ends()
    if editor != "vi":
        pid = int((tmp_path / "pid").read_text())
        assert not Path(f"/proc/{pid}").exists(), "it does not stay behind in the person's terminal"


def test_who_is_late_in_the_terminal_is_told(repository: Path, log: Log) -> None:
    terminal = Terminal(repository, log, [edit(), DONE])
    Inbox(log, terminal.session).claim(
        terminal.question.id if terminal.question else "", Answer("all", by="the page")
    )
    terminal.screen.press("n")  # both within a look, or not: the first one counts
    terminal.ends()
