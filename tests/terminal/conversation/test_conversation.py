"""A person in a conversation, in a real terminal: what they type, and what they see, as pictures in text."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mending import DONE, NEW, OLD, edit
from screens import Tmux

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
KITH = f"{sys.executable} -m kith"
FIRST, LAST = '"""Small helpers for numbers."""\n', "    return max(low, min(number, high))\n"
TWO = {
    "calls": [
        {"name": "edit", "args": {"path": "utils.py", "old": FIRST, "new": '"""Helpers."""\n'}},
        {
            "name": "edit",
            "args": {"path": "utils.py", "old": LAST, "new": "    return min(high, max(number, low))\n"},
        },
    ]
}
Talk = Callable[..., Tmux]


def bash(command: str) -> dict[str, Any]:
    return {"calls": [{"name": "bash", "args": {"command": command}}]}


@pytest.fixture
def talk(repository: Path, tmp_path: Path) -> Iterator[Talk]:
    """Opens a conversation with a model that plays these replies; `again` opens another one with the same."""
    open_ones: list[Tmux] = []

    def begin(
        *replies: Any, options: str = "", width: int = 80, height: int = 30, **environment: str
    ) -> Tmux:
        file = tmp_path / "conversation.json"
        if replies:
            each = [{"text": reply} if isinstance(reply, str) else reply for reply in replies]
            file.write_text(json.dumps(each))
        named = " ".join(f"{name}={value}" for name, value in environment.items())
        command = f"{named} {KITH} {options} -m replay/{file} --check none"
        terminal = Tmux(repository, command, width, height)
        open_ones.append(terminal)
        terminal.wait("/help lists commands")
        terminal.wait(">")
        if not options and not environment.keys() & {"TERM", "KITH_SCREEN_READER"}:
            terminal.wait("replay/conversation")  # the model is known, and named in the status
        terminal.settle()
        return terminal

    yield begin
    for terminal in open_ones:
        terminal.close()


def utils(repository: Path) -> str:
    return (repository / "utils.py").read_text()


def test_words_behind_kith_begin_the_conversation(repository: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"expect": "fix the test", "text": "I was told."}, {"text": "Again."}]))
    terminal = Tmux(repository, f"{KITH} fix -m replay/{script} --check none the test")
    try:
        terminal.wait("I was told.")
        assert terminal.text.count("> fix the test") == 1
        terminal.say("once more")
        terminal.wait("Again.")
    finally:
        terminal.close()


def test_a_task_from_the_first_word_to_undo(repository: Path, talk: Talk) -> None:
    terminal = talk("It is a *mean*:\n\n- one\n- two\n", edit(), DONE)
    terminal.say("what is it?")
    terminal.wait("• two")
    terminal.check_picture("an_answer")
    terminal.say("fix mean")
    terminal.wait("Apply this change?")
    terminal.check_picture("a_question")
    terminal.answer("a")
    terminal.wait("1 file changed")
    assert NEW in utils(repository)
    terminal.say("/undo")
    terminal.wait("/redo restores it")
    assert OLD in utils(repository)
    terminal.say("/undoo")
    terminal.wait("did you mean /undo?")
    terminal.say("exit")
    terminal.wait("exit 0")
    terminal.wait("icanon")
    assert "-icanon" not in terminal.text, "the terminal is as it was"


@pytest.mark.slow
def test_half_of_a_change_is_kept(repository: Path, talk: Talk) -> None:
    terminal = talk(TWO, DONE, "Only the second was kept, I see.")
    terminal.say("tidy up")
    terminal.wait("Apply this change?")
    terminal.answer("h")
    terminal.wait("1 of 2")
    terminal.check_picture("a_hunk")
    terminal.answer("n")
    terminal.wait("2 of 2")
    terminal.answer("y")
    terminal.wait("[a]pply what is kept")
    terminal.answer("a")
    terminal.wait("1 file changed")
    text = utils(repository)
    assert "Small helpers" in text and "min(high, max(number, low))" in text
    terminal.say("what did I keep?")
    terminal.wait("Only the second was kept")


@pytest.mark.slow
def test_a_no_with_a_reason_goes_back_to_the_model(repository: Path, talk: Talk) -> None:
    other = edit(NEW, "    return sum(numbers) / len(numbers)\n")
    terminal = talk(edit(), DONE, other, DONE)
    terminal.say("fix mean")
    terminal.wait("Apply this change?")
    time.sleep(0.5)
    terminal.press("s")
    terminal.wait("What should be different?")
    terminal.say("no guard for the empty list, please")
    terminal.wait("Apply this change?", times=2)
    terminal.answer("a")
    terminal.wait("1 file changed")
    assert "/ len(numbers)\n" in utils(repository)


@pytest.mark.disturbed("keys that reach a terminal late")
@pytest.mark.slow
def test_words_while_it_works_steer_the_model(talk: Talk) -> None:
    terminal = talk(bash("sleep 2"), "I heard you.")
    terminal.say("begin")
    terminal.wait("sleep 2")
    terminal.say("and be brief")
    terminal.wait("heard at the next step")
    terminal.wait("I heard you.")
    shown = terminal.text
    assert "> and be brief" in shown and "heard at the next step" not in shown


@pytest.mark.slow
def test_steering_stands_apart_from_the_replies_around_it(talk: Talk, tmp_path: Path) -> None:
    said = tmp_path / "said"
    terminal = talk(bash("true"), {"text": "The first reply.", "when": str(said)}, "The second one.")
    terminal.say("begin")
    terminal.wait("$ true exit 0")
    terminal.say("and be brief")
    terminal.wait("heard at the next step")
    said.touch()
    terminal.wait("The second one.")
    lines = [line.rstrip() for line in terminal.settle().split("\n")]
    first, begin = lines.index("  The first reply."), lines.index("> begin")
    assert lines[begin - 1] == ""
    expected = ["  The first reply.", "", "> and be brief", "  The second one.", ""]
    assert lines[first : first + 5] == expected


@pytest.mark.disturbed("keys that reach a terminal late")
@pytest.mark.slow
@pytest.mark.parametrize("key", ["Escape", "C-c"])
def test_a_stop_keeps_what_was_said(talk: Talk, key: str) -> None:
    terminal = talk(bash("sleep 60"), "Next.")
    terminal.say("begin")
    terminal.wait("sleep 60")
    time.sleep(0.5)
    terminal.press(key)
    terminal.wait("Stopped")
    terminal.say("go on")
    terminal.wait("Next.")


@pytest.mark.slow
def test_what_was_killed_is_gone_on_with(repository: Path, talk: Talk) -> None:
    terminal = talk(bash("sleep 60"))
    terminal.say("fix mean")
    terminal.wait("sleep 60")
    os.kill(terminal.pid, signal.SIGKILL)
    terminal.wait("exit 137")
    again = talk(edit(), DONE, options="-c")
    again.wait("cut short")
    again.check_picture("what_was_killed")
    again.answer("y")
    again.wait("Apply this change?")
    again.answer("a")
    again.wait("1 file changed")
    assert NEW in utils(repository)


@pytest.mark.slow
def test_shift_tab_changes_the_mode_and_plan_changes_nothing(repository: Path, talk: Talk) -> None:
    terminal = talk(edit(), "I may not.")
    assert "ask mode" in terminal.settle()
    terminal.press("BTab")
    terminal.wait("plan mode")
    terminal.say("fix mean")
    terminal.wait("I may not.")
    assert OLD in utils(repository)
    terminal.press("BTab")
    terminal.wait("auto mode")


@pytest.mark.disturbed("keys that reach a terminal late")
@pytest.mark.slow
def test_what_was_typed_before_a_question_is_no_answer_to_it(
    repository: Path, talk: Talk, tmp_path: Path
) -> None:
    typed = tmp_path / "typed"
    terminal = talk(edit() | {"when": str(typed)}, DONE, "Second.")
    terminal.say("fix mean")
    terminal.wait("> fix mean")
    terminal.type("a")
    terminal.wait("> a")
    typed.touch()
    terminal.wait("Apply this change?")
    time.sleep(1.0)
    assert OLD in utils(repository), "it is in the line, where it was written"
    terminal.press("BSpace")
    terminal.answer("n")
    terminal.wait("Nothing was applied")
    terminal.say("another one")
    terminal.wait("Second.")


@pytest.mark.disturbed("keys that reach a terminal late")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "width", "environment"),
    [
        ("narrow", 60, {}),
        ("without_colour", 80, {"NO_COLOR": "1"}),
        ("ascii", 80, {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        ("dumb", 80, {"TERM": "dumb"}),
        ("screen_reader", 80, {"KITH_SCREEN_READER": "1"}),
        ("wide", 160, {}),
    ],
)
def test_every_terminal_can_be_worked_in(
    repository: Path, talk: Talk, name: str, width: int, environment: dict[str, str]
) -> None:
    text = "It is a *mean*, and `utils.py` holds it:\n\n1. one\n2. two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    terminal = talk(text, edit(), DONE, width=width, **environment)
    terminal.say("what is it?")
    terminal.wait("2. two")
    terminal.settle()
    terminal.say("fix mean")
    terminal.wait("Apply this change?")
    terminal.check_picture(f"in_a_terminal_{name}")
    if name == "without_colour":
        assert not any(f"\x1b[{code}m" in terminal.colours for code in range(31, 38))
    time.sleep(0.5)
    terminal.press("a", "Enter")
    terminal.wait("1 file changed")
    assert NEW in utils(repository)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_cleanly(repository: Path, talk: Talk, number: signal.Signals) -> None:
    terminal = talk(bash("sleep 60"))
    terminal.say("begin")
    terminal.wait("sleep 60")
    os.kill(terminal.pid, number)
    terminal.wait(f"exit {128 + number}")
    terminal.wait("icanon")
    assert "-icanon" not in terminal.text
    listed = subprocess.run(
        [sys.executable, "-m", "kith", "sessions"], cwd=repository, capture_output=True, text=True
    )
    assert "interrupted" in listed.stdout


def test_ctrl_c_twice_leaves(talk: Talk) -> None:
    terminal = talk("Hello.")
    terminal.press("C-c", "C-c")
    terminal.wait("exit 0")
