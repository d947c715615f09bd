"""In a real terminal: one question, one key, and what is on the screen."""

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from mending import DONE, NEW, OLD, blocks, edit
from tmux_screen import KITH, TWO, Screen, no_terminal_is_left  # noqa: F401

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
CHECK = "python3 -m unittest -q"


def run(repository: Path, model: str, *options: str) -> Screen:
    return Screen(repository, f"{KITH} run -m {model} {' '.join(options)} 'fix mean'")


def test_a_yes_applies(repository: Path, script: Any) -> None:
    screen = run(repository, script(edit(), DONE), f"--check '{CHECK}'")
    shown = screen.wait("[a]ll")
    assert f"-{OLD.rstrip()}" in shown and f"+{NEW.rstrip()}" in shown
    assert OLD in (repository / "utils.py").read_text()
    screen.press("a")
    shown = screen.wait("exit 0")
    assert "Proven: a test that failed before passes now" in shown
    assert NEW in (repository / "utils.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("key", ["n", "C-d"])
def test_a_no_changes_nothing(repository: Path, script: Any, key: str) -> None:
    screen = run(repository, script(edit(), DONE), "--check none")
    screen.wait("[a]ll")
    screen.press(key)
    screen.wait("exit 3")
    assert OLD in (repository / "utils.py").read_text()


@pytest.mark.slow
def test_ctrl_c_at_the_question_ends_it(repository: Path, script: Any) -> None:
    screen = run(repository, script(edit(), DONE), "--check none")
    screen.wait("[a]ll")
    screen.press("C-c")
    screen.wait("exit 130")
    assert OLD in (repository / "utils.py").read_text()


@pytest.mark.slow
def test_words_go_back_to_the_model(repository: Path, script: Any) -> None:
    again = {"expect": "use max", **edit(OLD.replace("+ 1", "+ 0"), NEW)}
    screen = run(repository, script(edit(OLD, OLD.replace("+ 1", "+ 0")), DONE, again, DONE), "--check none")
    screen.wait("[a]ll")
    screen.press("s", "Enter")  # who is used to Enter behind a key is not sent back to the keys
    screen.wait("What should be different?")
    screen.press("use max", "Enter")
    screen.wait(NEW.strip())
    screen.wait("[a]ll", times=2)
    screen.press("a")
    screen.wait("exit 0")
    assert NEW in (repository / "utils.py").read_text()


def keep_the_second(screen: Screen) -> None:
    screen.wait("[a]ll")
    screen.press("h")
    screen.wait("Keep it?")
    screen.press("n")
    screen.wait("Keep it?", times=2)
    screen.press("y")
    screen.wait("[a]pply what is kept")
    screen.press("a")


@pytest.mark.slow
def test_one_hunk_of_two(repository: Path, script: Any) -> None:
    screen = run(repository, script(TWO), "--check none")
    keep_the_second(screen)
    screen.wait("exit 0")
    text = (repository / "utils.py").read_text()
    assert "Small helpers" in text and "min(high, max(number, low))" in text


@pytest.mark.slow
def test_a_kept_part_is_checked_again(repository: Path, script: Any) -> None:
    screen = run(repository, script(TWO), "--check 'grep Helpers. utils.py'")
    keep_the_second(screen)
    screen.wait("fails on the part that you kept")
    screen.wait("[a]pply", times=2)
    screen.press("n")
    screen.wait("exit 3")
    assert "max(low, min(number, high))" in (repository / "utils.py").read_text()


@pytest.mark.slow
def test_an_edited_change_is_what_is_applied(repository: Path, script: Any, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i s/Small/Tiny/ "$1"\n')
    editor.chmod(0o755)
    model = script(edit(), DONE)
    screen = Screen(repository, f"EDITOR={editor} {KITH} run -m {model} --check none 'fix mean'")
    screen.wait("[a]ll")
    screen.press("e")
    screen.wait('+"""Tiny helpers')
    assert "Small" in (repository / "utils.py").read_text(), "an edit is shown before it is applied"
    screen.wait("[a]ll", times=2)
    screen.press("a")
    screen.wait("exit 0")
    text = (repository / "utils.py").read_text()
    assert "Tiny helpers" in text and NEW in text


def test_a_conversation(repository: Path, script: Any) -> None:
    screen = Screen(repository, f"{KITH} -m {script('It is a mean.', edit(), DONE)}")
    screen.wait("/help lists commands")
    screen.press("what is it?", "Enter")
    screen.wait("It is a mean.")
    screen.press("/help", "Enter")
    screen.wait("More about one: /help COMMAND")
    screen.press("/dfif", "Enter")
    screen.wait("did you mean /diff?")
    screen.press("fix mean", "Enter")
    screen.wait("[a]ll")
    time.sleep(0.5)  # what comes at once is not taken for an answer
    screen.press("a")
    screen.wait("1 file changed")
    assert NEW in (repository / "utils.py").read_text()
    screen.press("/undo", "Enter")
    screen.wait("/redo restores it")
    assert OLD in (repository / "utils.py").read_text()
    screen.press("exit", "Enter")
    screen.wait("exit 0")


@pytest.mark.slow
def test_without_colour_and_with_a_dumb_terminal_it_is_still_readable(repository: Path, script: Any) -> None:
    model = script(edit(), DONE)
    screen = Screen(
        repository, f"NO_COLOR=1 TERM=dumb {KITH} run --yes -m {model} --check '{CHECK}' 'fix mean'"
    )
    shown = screen.wait("exit 0")
    assert "Applied 1 file" in shown and "\x1b" not in shown


@pytest.mark.slow
def test_foreign_text_moves_no_cursor(repository: Path, script: Any) -> None:
    evil = blocks(OLD, "    return 1  # \x1b[2J\x1b[H\u202e gone\n")
    screen = run(repository, script(evil), "--check none")
    shown = screen.wait("[a]ll")
    assert "\\x1b[2J" in shown and "\\u202e" in shown


@pytest.mark.slow
def test_words_typed_too_early_wait_for_their_prompt_and_answer_no_question(
    repository: Path, script: Any
) -> None:
    slow = edit() | {"delay": 1.0}
    screen = Screen(repository, f"{KITH} -m {script(slow, DONE, 'Second.', 'Third.')} --check none")
    screen.wait("/help lists commands")
    screen.press("fix mean", "Enter")
    time.sleep(0.5)
    screen.press("a")
    screen.wait("[a]ll")
    time.sleep(0.3)
    assert OLD in (repository / "utils.py").read_text(), "a key from before the question is no answer"
    screen.wait("Enter sends your line first")
    screen.press("C-u")
    screen.press("n")
    screen.wait("Nothing was applied.")
    screen.press("one", "Enter")
    screen.wait("> one")
    screen.press("two", "Enter")
    screen.wait("> two")
    screen.wait("Second.")
