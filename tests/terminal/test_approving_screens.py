"""The question about a change in real terminals: parts, reasons, checks again, answers from elsewhere."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kith.core.values import Answer
from kith.memory.inbox import Inbox, open_question
from kith.memory.log import LOG_FILE, Log
from mending import DONE, blocks
from screens import Tmux

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]
KITH = f"{sys.executable} -m kith"
FIRST, LAST = '"""Small helpers for numbers."""\n', "    return max(low, min(number, high))\n"
TWO = blocks(FIRST, '"""Helpers."""\n') + blocks(LAST, "    return min(high, max(number, low))\n")
Open = Callable[..., Tmux]


@pytest.fixture
def start(repository: Path, tmp_path: Path) -> Iterator[Open]:
    """Starts a conversation, or `kith run`, with a model that plays these replies, in so many columns."""
    open_ones: list[Tmux] = []

    def begin(*replies: Any, run: str = "", check: str = "none", width: int = 60, before: str = "") -> Tmux:
        file = tmp_path / "conversation.json"
        file.write_text(json.dumps([{"text": each} if isinstance(each, str) else each for each in replies]))
        command = f"{before} {KITH} {'run' if run else ''} -m replay/{file} --check '{check}' {run}"
        open_ones.append(Tmux(repository, command, width, 40))
        if not run:
            open_ones[-1].wait("/help lists commands")
        return open_ones[-1]

    yield begin
    for terminal in open_ones:
        terminal.close()


@pytest.fixture
def editor(tmp_path: Path) -> str:
    """An editor that writes another word."""
    file = tmp_path / "editor.sh"
    file.write_text('#!/bin/sh\nsed -i "s/Helpers/Tools/" "$1"\n')
    file.chmod(0o755)
    return f"EDITOR={file}"


def utils(repository: Path) -> str:
    return (repository / "utils.py").read_text()


def test_parts_are_edited_and_left_out_and_the_model_is_told(
    repository: Path, start: Open, editor: str
) -> None:
    told = {"expect": r"left out, so there(.|\n)*-    return max(.|\n)*\+\"\"\"Tools", "text": "I know."}
    terminal = start(TWO, told, before=editor)
    terminal.say("tidy up")
    terminal.wait("[s]ay why not")
    terminal.answer("h")
    terminal.wait("part 1 of 2")
    terminal.press("e")
    terminal.wait("(edited)")
    terminal.type("yn")  # faster than anybody looks
    terminal.wait("part 1 of 2 is kept, edited")
    terminal.answer("a")
    terminal.wait("1 file changed")
    assert '"""Tools."""\n' in utils(repository) and LAST in utils(repository)
    terminal.say("and now?")
    terminal.wait("I know.")


def test_a_reason_for_a_part_sends_it_back_without_it(repository: Path, start: Open) -> None:
    again = {"expect": "part 2 of 2: keep the order(.|\n)*only a part stays", "text": "Better."}
    terminal = start(TWO, again)
    terminal.say("tidy up")
    terminal.wait("[s]ay why not")
    terminal.answer("h")
    terminal.wait("part 1 of 2")
    terminal.press("y")
    terminal.wait("part 2 of 2")
    terminal.press("s")
    terminal.wait("Why not?")
    terminal.say("keep the order")
    terminal.wait("[s]ay what to do about the rest")
    terminal.answer("s")
    terminal.wait("Apply this change?", times=2)
    terminal.answer("a")
    terminal.wait("1 file changed")
    assert '"""Helpers."""\n' in utils(repository) and LAST in utils(repository)


def test_what_is_kept_and_fails_leads_back_to_the_whole(repository: Path, start: Open) -> None:
    terminal = start(TWO, check="grep Helpers. utils.py")
    terminal.say("tidy up")
    terminal.wait("[s]ay why not")
    terminal.answer("h")
    terminal.wait("part 1 of 2")
    terminal.press("n")
    terminal.wait("part 2 of 2")
    terminal.press("y")
    terminal.wait("[a]pply what is kept")
    terminal.answer("a")
    terminal.wait("fails on the part that you kept")
    terminal.wait("[b]ack to the whole change")
    terminal.answer("b")
    terminal.wait("Apply this change?", times=2)
    terminal.answer("a")
    terminal.wait("1 file changed")
    assert '"""Helpers."""\n' in utils(repository) and LAST not in utils(repository)


def test_an_answer_from_elsewhere_takes_the_parts_off_the_screen(
    repository: Path, home: Path, start: Open
) -> None:
    terminal = start(TWO, "Second.")
    terminal.say("tidy up")
    terminal.wait("[s]ay why not")
    terminal.answer("h")
    terminal.wait("Keep it?")
    log = Log(home / ".local/state/kith" / LOG_FILE)
    (id,) = log.session_ids()
    question = open_question(log, id)
    assert question and Inbox(log, id).claim(question.id, Answer("all", by="the page"))
    terminal.wait("Answered in the page: all.")
    terminal.wait("1 file changed")
    assert "Keep it?" not in terminal.screen
    terminal.say("another one")
    terminal.wait("Second.")


def test_a_run_in_few_columns_without_colours(repository: Path, start: Open) -> None:
    terminal = start(TWO, DONE, run="'tidy up'", before="NO_COLOR=1")
    terminal.wait("[?]")
    terminal.press("h")
    terminal.wait("[s]ay why not  [?]", times=2)
    terminal.press("y")
    terminal.wait("2 of 2")
    terminal.press("n")
    terminal.wait("[a]pply what is kept")
    shown = terminal.text
    assert all(len(line) <= 60 for line in shown.split("\n"))
    assert not any(f"\x1b[{code}m" in terminal.colours for code in range(31, 38))
    terminal.press("a")
    terminal.wait("exit 0")
    assert '"""Helpers."""\n' in utils(repository) and LAST in utils(repository)
