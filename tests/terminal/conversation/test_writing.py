"""Somebody writes in a conversation, in a real terminal: suggestions, pastes, the editor, own commands."""

import shutil
import subprocess
from pathlib import Path

import pytest
from test_conversation import KITH, Talk, talk

from screens import Tmux

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
LONG = "".join(f"row {number}\n" for number in range(40))
__all__ = ["talk"]


def paste(terminal: Tmux, words: str) -> None:
    terminal._do("set-buffer", words)
    terminal._do("paste-buffer", "-p")


def paste_unmarked(terminal: Tmux, words: str) -> None:
    """As a terminal does that knows no marks: a line end is what Enter sends."""
    terminal._do("set-buffer", words)
    terminal._do("paste-buffer")


def said(words: str) -> dict[str, str]:
    """A reply to a message that holds these words."""
    return {"expect": words, "text": f"I was told of {words.split()[0]}."}


def test_commands_files_and_pastes(talk: Talk, repository: Path) -> None:
    (repository / "my notes.md").write_text("Remember the milk.\n")
    terminal = talk(said(r"milk[\s\S]*row 39|row 39[\s\S]*milk"), "More.")
    terminal.type("/mo")
    terminal.wait("show or choose the model")
    terminal.check_picture("suggested_commands")
    terminal.press("Escape", "C-u")
    terminal.type("compare @note")
    terminal.wait("> my notes.md")
    terminal.press("Tab")
    terminal.wait('compare @"my notes.md"')
    terminal.type("with ")
    paste(terminal, LONG)
    terminal.wait("[paste 1: 40 lines]")
    terminal.check_picture("a_paste")
    terminal.press("Enter")
    terminal.wait("I was told of milk")
    assert "row 20" not in terminal.text, "it is shown as it was written"
    terminal.press("Up")
    terminal.wait('compare @"my notes.md" with [paste 1: 40 lines]', times=2)


def test_a_paste_without_marks_is_one_text(talk: Talk) -> None:
    terminal = talk({"expect": r"one\ntwo\n+three", "text": "All of it."})
    paste_unmarked(terminal, "one\ntwo\n\nthree\n")
    terminal.wait("three")
    assert "All of it." not in terminal.settle()
    terminal.press("Enter")
    terminal.wait("All of it.")


def test_a_long_paste_without_marks_is_folded(talk: Talk) -> None:
    terminal = talk({"expect": r"row 0\n[\s\S]*row 399", "text": "All of it."})
    paste_unmarked(terminal, "".join(f"row {number}\n" for number in range(400)))
    terminal.wait("[paste 1: 400 lines]")
    terminal.press("Enter")
    terminal.wait("All of it.")


@pytest.mark.slow
def test_lines_of_an_earlier_conversation(talk: Talk) -> None:
    first = talk("Hello.")
    first.say("tell me of the parser")
    first.wait("Hello.")
    first.press("C-d")
    first.wait("exit 0")
    terminal = talk("Hello.")
    terminal.type("tell")
    terminal.wait("tell me of the parser")
    terminal.press("C-e", "!")
    terminal.wait("tell me of the parser!")
    terminal.press("C-u", "C-r")
    terminal.type("parser")
    terminal.wait("Enter takes one")
    terminal.press("Enter")
    terminal.settle()
    terminal.press("?", "Enter")
    terminal.wait("> tell me of the parser?")


@pytest.mark.slow
def test_a_line_of_several_and_the_editor(talk: Talk, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\necho "and from the editor" >> "$1"\n')
    editor.chmod(0o755)
    terminal = talk(said("one\ntwo\nthree\nrow 0[\\s\\S]*row 39\\s+and from the editor"), EDITOR=str(editor))
    # Typed as a person does: keys that come together are a paste, and a paste keeps its backslashes.
    terminal.type("one\\")
    terminal.wait("> one\\")
    terminal.press("Enter")
    terminal.settle()
    terminal.type("two")
    terminal.wait("two")
    terminal.press("C-j")
    terminal.settle()
    terminal.type("three")
    terminal.wait("three")
    terminal.press("M-Enter")
    paste(terminal, LONG)
    terminal.wait("three [paste 1: 40 lines]")
    terminal.press("C-g")
    terminal.wait("and from the editor")
    terminal.press("Enter")
    terminal.wait("I was told of one")


@pytest.mark.disturbed("keys that reach a terminal late")
@pytest.mark.slow
def test_ctrl_z_gives_the_terminal_back_for_a_while(repository: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('["Hello."]')
    terminal = Tmux(repository, "PS1='shell$ ' bash --norc -i")
    try:
        terminal.wait("shell$")
        terminal.say(f"{KITH} -m replay/{script}")
        terminal.wait("/help lists commands")
        terminal.type("half a")
        terminal.wait("> half a")
        terminal.press("C-z")
        terminal.wait("Stopped")
        terminal.say("stty -a | grep -o ' icanon'; fg")
        terminal.wait("icanon", times=2)
        terminal.wait("> half a")
        terminal.say(" line")
        terminal.wait("Hello.")
    finally:
        terminal.close()


@pytest.mark.slow
def test_what_a_person_runs_is_known_to_the_model(talk: Talk, repository: Path) -> None:
    known = r"^(?![\s\S]*hush)[\s\S]*seq 100[\s\S]*made.txt: read"
    terminal = talk({"expect": known, "text": "I was told of seq."})
    terminal.say("!seq 100")
    terminal.wait("80 more lines")
    terminal.say("!touch made.txt")
    terminal.wait("Keep what `touch made.txt` changed?")
    terminal.answer("a")
    terminal.wait("Applied 1 file")
    assert (repository / "made.txt").exists()
    subprocess.run(["kill", "-KILL", str(terminal.pid)], check=True)
    terminal.wait("exit 137")
    terminal = talk(options="-c")
    terminal.say("!!echo hush")
    terminal.wait("exit 0")
    terminal.say("what did I run?")
    terminal.wait("I was told of seq")


@pytest.mark.disturbed("keys that reach a terminal late")
@pytest.mark.slow
def test_vi_keys(talk: Talk, home: Path) -> None:
    config = home / ".config" / "kith"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('keys = "vi"\n')
    terminal = talk(said("good world"))
    terminal.type("bad world")
    terminal.press("Escape")
    terminal.wait(": bad world")
    terminal.type("0cegood")
    terminal.press("Enter")
    terminal.wait("I was told of good")


@pytest.mark.slow
def test_what_is_pasted_moves_nothing_on_the_screen(talk: Talk) -> None:
    terminal = talk("Hello.")
    paste(terminal, "look \x1b[31mred \x1b]0;title\x07here")
    terminal.press("Enter")
    terminal.wait("Hello.")
    assert r"> look \x1b[31mred \x1b]0;title\x07here" in terminal.text


def test_a_function_key_sends_the_command_that_has_it(talk: Talk) -> None:
    terminal = talk("Hello.")
    terminal.say("hello")
    terminal.wait("Hello.")
    terminal.type("half a line")
    terminal.press("F2")
    terminal.wait("asked as you write it")
    terminal.press("F2")
    terminal.wait("asked as kith coach has tuned it")
    assert "half a line" in terminal.text
