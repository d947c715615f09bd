"""A notice calls a person back who looks elsewhere, once, and only where a terminal can show it."""

import shlex
from pathlib import Path

import pytest
from test_conversation import Talk, talk

from kith.terminal.conversation.notices import Notify, notice
from mending import DONE, edit
from played_screen import converse
from screens import Tmux

__all__ = ["talk"]
XTERM = {"TERM": "xterm-256color"}


@pytest.mark.parametrize(
    ("notify", "has_focus", "expected"),
    [
        ("auto", False, "\x1b]9;kith: done\a\a"),
        ("auto", None, ""),
        ("auto", True, ""),
        ("bell", False, "\a"),
        ("bell", None, "\a"),
        ("bell", True, ""),
        ("off", False, ""),
    ],
)
def test_nobody_is_called_who_may_be_looking(notify: Notify, has_focus: bool | None, expected: str) -> None:
    assert notice(notify, has_focus, "done", XTERM) == expected


def test_each_terminal_gets_the_notice_that_it_knows() -> None:
    def sent(**environment: str) -> str:
        return notice("auto", False, "a;b\x1b]\n" + "c" * 500, environment).removesuffix("\a")

    text = r"a,b\x1b] " + "c" * 500
    assert sent(TERM="foot") == f"\x1b]777;notify;kith;{text[:120]}\a"
    assert sent(TERM="xterm", VTE_VERSION="7600") == sent(TERM="foot")
    assert sent(TERM="xterm") == f"\x1b]9;kith: {text[:120]}\a"
    assert sent(TERM="screen", TMUX="x") == f"\x1bPtmux;\x1b\x1b]9;kith: {text[:120]}\a\x1b\\"
    assert sent(TERM="linux") == ""


def test_a_question_and_the_end_are_told_once_each(repository: Path) -> None:
    screen, _ = converse(repository, ["fix mean", "/config", "what is it?"], [edit(), DONE, "A mean."], ["a"])
    name = repository.name
    ended = f"a task in {name} ended: done"
    assert screen.notices == [f"a question in {name}", ended, ended]


def record(terminal: Tmux, file: Path) -> None:
    """Keep all that the terminal is sent from now on."""
    terminal._do("pipe-pane", f"cat > {shlex.quote(str(file))}")


def report_focus(terminal: Tmux, letter: str) -> None:
    terminal._do("send-keys", "-H", "1b", "5b", f"{ord(letter):x}")


@pytest.mark.slow
def test_a_window_in_the_back_rings_and_one_in_front_does_not(talk: Talk, tmp_path: Path) -> None:
    terminal = talk("One.", "Two.")
    record(terminal, tmp_path / "sent")
    report_focus(terminal, "I")
    terminal.say("first")
    terminal.wait("One.")
    terminal.settle()
    assert b"\a" not in (tmp_path / "sent").read_bytes()
    report_focus(terminal, "O")
    terminal.say("second")
    terminal.wait("Two.")
    terminal.settle()
    sent = (tmp_path / "sent").read_bytes()
    assert sent.count(b"]9;kith: a task in") == 1
    terminal.press("C-d")
    terminal.wait("exit 0")
    assert (tmp_path / "sent").read_bytes().count(b"\x1b[?1004l") == 1


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"KITH_SCREEN_READER": "1"}])
def test_plain_terminals_get_no_notice(talk: Talk, tmp_path: Path, environment: dict[str, str]) -> None:
    terminal = talk("One.", KITH_NOTIFY="bell", **environment)
    record(terminal, tmp_path / "sent")
    terminal.say("first")
    terminal.wait("One.")
    terminal.settle()
    assert not {b"\a", b"\x1b"} & {bytes([each]) for each in (tmp_path / "sent").read_bytes()}


def test_the_focus_is_not_reported_to_an_editor(talk: Talk, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\necho written > "$1"\n')
    editor.chmod(0o755)
    terminal = talk("One.", EDITOR=str(editor))
    record(terminal, tmp_path / "sent")
    terminal.press("C-g")
    terminal.wait("written")
    modes = (tmp_path / "sent").read_bytes().split(b"\x1b[?1004")[1:]
    assert [mode[:1] for mode in modes] == [b"l", b"h"]
