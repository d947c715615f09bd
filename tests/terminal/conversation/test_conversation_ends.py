"""Ends, stops and resizes of a conversation at any moment, in a real terminal."""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from screens import Tmux

pytestmark = [
    pytest.mark.disturbed("a terminal that learns of signals and sizes late"),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]
KITH = f"{sys.executable} -m kith"
Open = Callable[..., Tmux]


@pytest.fixture
def open_talk(repository: Path, tmp_path: Path) -> Iterator[Open]:
    """Opens a conversation with a model that plays these replies; `command` begins with something else."""
    open_ones: list[Tmux] = []

    def begin(*replies: Any, command: str = KITH, sees: str = "/help lists commands") -> Tmux:
        file = tmp_path / "conversation.json"
        file.write_text(json.dumps(replies))
        terminal = Tmux(repository, f"{command} -m replay/{file} --check none", 80, 24)
        open_ones.append(terminal)
        terminal.wait(sees)
        return terminal

    yield begin
    for terminal in open_ones:
        terminal.close()


def ends(terminal: Tmux, code: int) -> None:
    """It ends, says nothing, and the terminal is as it was."""
    shown = terminal.wait(f"exit {code}")
    terminal.wait("icanon")
    assert "Traceback" not in shown
    assert "-icanon" not in terminal.text


@pytest.mark.slow
def test_leaving_while_a_question_opens_the_conversation(repository: Path, open_talk: Open) -> None:
    (repository / ".kith").mkdir()
    (repository / ".kith" / "config.toml").write_text('check = ["true"]\n')
    terminal = open_talk("Hello.", sees="[y]es")
    terminal.press("C-d")
    ends(terminal, 0)


@pytest.mark.slow
def test_the_mode_that_is_set_is_the_one_it_begins_with(home: Path, open_talk: Open) -> None:
    (home / ".config" / "kith").mkdir(parents=True, exist_ok=True)
    (home / ".config" / "kith" / "config.toml").write_text('mode = "plan"\n')
    terminal = open_talk("Hello.")
    terminal.wait("plan mode")
    terminal.press("BTab")
    terminal.wait("auto mode")


@pytest.mark.slow
def test_leaving_while_a_session_is_picked(open_talk: Open) -> None:
    first = open_talk("Hello.")
    first.say("hi")
    first.wait("Hello.")
    first.press("C-d")
    first.wait("exit 0")
    terminal = open_talk("Hello.", command=f"{KITH} -r", sees="Continue which session?")
    os.kill(terminal.pid, signal.SIGTERM)
    ends(terminal, 143)


@pytest.mark.slow
def test_a_signal_ends_the_viewer_too(open_talk: Open) -> None:
    terminal = open_talk("Hello.")
    terminal.say("hi")
    terminal.wait("Hello.")
    terminal.press("C-o")
    terminal.wait("q goes back")
    os.kill(terminal.pid, signal.SIGTERM)
    ends(terminal, 143)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
def test_a_stop_from_outside_is_gone_on_from(open_talk: Open, tmp_path: Path, number: signal.Signals) -> None:
    shell = open_talk(command="bash --norc --noprofile # ", sees="bash-")
    (tmp_path / "second.json").write_text('["Second."]')
    shell.say(f"{KITH} -m replay/{tmp_path}/second.json --check none")
    shell.wait("/help lists commands")
    shell.type("a draft")
    shell.wait("> a draft")
    os.kill(shell.pid, number)
    shell.wait("Stopped")
    shell.say("fg")
    time.sleep(0.5)
    shell.type(" and more")
    shell.wait("> a draft and more")
    shell.press("Enter")
    shell.wait("Second.")


@pytest.mark.slow
def test_a_lower_window_while_words_stream_loses_none(open_talk: Open) -> None:
    count = 1_500
    terminal = open_talk({"text": "\n".join(f"- item {number}" for number in range(count))})
    terminal.say("go")
    for height in (15, 24):
        time.sleep(0.4)
        terminal.resize(80, height)
    shown = terminal.wait(f"item {count - 1}")
    seen = [line.split()[-1] for line in shown.split("\n") if "item " in line]
    # tmux tells of its new size late: what is drawn meanwhile leaves the screen at its top, and comes again.
    assert list(dict.fromkeys(seen)) == [str(number) for number in range(count)], "all, in their order"
    assert len(seen) < 1.2 * count


@pytest.mark.slow
def test_a_fault_in_the_work_is_seen_and_the_terminal_is_given_back(open_talk: Open, tmp_path: Path) -> None:
    faulty = tmp_path / "faulty.py"
    faulty.write_text(
        "import sys\n"
        "from kith.cli import main\n"
        "from kith.terminal.conversation.talk import Talk\n"
        "Talk.show_result = lambda *all: 1 / 0\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    terminal = open_talk("Said.", command=f"{sys.executable} {faulty}")
    terminal.say("go")
    shown = terminal.wait("exit 1")
    assert shown.count("ZeroDivisionError") == 1 and "Said." in shown
    terminal.wait("icanon")
    assert "-icanon" not in terminal.text
