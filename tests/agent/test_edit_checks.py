"""What an edit leaves undefined is told right behind it, once, and only after the last edit of a reply."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from outside import Kith, StandIn

LOST = {"path": "utils.py", "old": "import math\n", "new": "import math\n\nLIMIT = larges(1, 2)\n"}
DONE = {"calls": [{"name": "done", "args": {"summary": "It is done."}}]}


def edit(*edits: dict[str, str]) -> dict[str, Any]:
    return {"calls": [{"name": "edit", "args": each} for each in edits]}


def ask(kith: Kith, stand_in: StandIn, *replies: Any, code: int = 0) -> list[str]:
    """The answers that the model got to its replies."""
    (kith.folder / "utils.py").write_text("import math\n\n\ndef root(x):\n    return math.sqrt(x)\n")
    server = stand_in([*replies, DONE, DONE, DONE])
    kith("run", "--yes", "--check", "none", "--tries", "1", "set a limit", code=code)
    return [json.dumps(request["messages"][-1]) for request in server.requests[1:]]


def test_a_name_that_nothing_defines_is_told_once(kith: Kith, stand_in: StandIn) -> None:
    again = {"path": "utils.py", "old": "(x):", "new": "(x: float):"}
    answers = ask(kith, stand_in, edit(LOST), edit(again), code=1)
    assert "utils.py:3: `larges`" in answers[0]
    assert "not defined" not in answers[1]


def test_edits_of_one_reply_are_looked_at_together(kith: Kith, stand_in: StandIn) -> None:
    defined = {"path": "utils.py", "old": "LIMIT", "new": "larges = max\nLIMIT"}
    assert not any("not defined" in each for each in ask(kith, stand_in, edit(LOST, defined)))


def test_the_same_fault_in_several_files_is_said_once(kith: Kith, stand_in: StandIn) -> None:
    for name in ("first.py", "second.py"):
        (kith.folder / name).write_text("from utils import root\n")
    answers = ask(kith, stand_in, edit({"path": "utils.py", "old": "root", "new": "base"}), code=1)
    assert "With this change: first.py:1, second.py:1: `utils` has no `root` to import.]" in answers[0]


def test_it_can_be_switched_off(kith: Kith, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITH_EDIT_CHECK_SECONDS", "0")
    assert not any("not defined" in each for each in ask(kith, stand_in, edit(LOST), code=1))


@pytest.mark.slow
def test_a_test_that_the_change_breaks_is_told_behind_the_edit(
    kith: Kith, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_EDIT_CHECK_SECONDS", "60")
    (kith.folder / "utils.py").write_text(
        "def clamp(x, low, high):\n    return x\n\n\ndef double(x):\n    return 2 * x\n"
    )
    (kith.folder / "tests" / "test_utils.py").write_text(
        "from utils import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
    )
    wrong = {"path": "utils.py", "old": "2 * x", "new": "3 * x"}
    right = {"path": "utils.py", "old": "3 * x", "new": "x + x"}
    look = {"calls": [{"name": "run", "args": {"command": "sleep 1"}}]}
    server = stand_in(["There are two.", look, edit(wrong), edit(right), DONE])
    checked = ("run", "--yes", "--check", "python -m pytest -q", "--tries", "1")
    kith(*checked, "count the functions")  # so the untouched tree is known when the next task begins
    kith(*checked, "write it as a sum")
    answers = [json.dumps(request["messages"][-1]) for request in server.requests[2:]]
    assert re.search(r"tests/test_utils.py::test_double fails: .*6 == 4", answers[1])
    assert "test_double" not in answers[2]


def test_done_with_a_fault_is_questioned_once(kith: Kith, stand_in: StandIn) -> None:
    answers = ask(kith, stand_in, edit(LOST), DONE, DONE, code=1)
    assert re.search(r"`larges` is not defined\. .*done again", answers[1])
    assert "done again" not in "".join(answers[2:])


def test_what_a_command_has_changed_is_looked_at_when_the_model_is_done(
    kith: Kith, stand_in: StandIn
) -> None:
    append = {"calls": [{"name": "run", "args": {"command": "echo 'LIMIT = larges(1)' >> utils.py"}}]}
    answers = ask(kith, stand_in, append, DONE, DONE, code=1)
    assert "`larges` is not defined" in answers[1]


def test_a_linter_that_is_not_installed_is_asked_for_once(
    kith: Kith, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked, ruff = tmp_path / "asked", tmp_path / "bin" / "ruff"
    ruff.parent.mkdir()
    ruff.write_text(f"#!/bin/sh\necho edited >> {asked}\nexit 127\n")
    ruff.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ruff.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setenv("KITH_SANDBOX", "off")
    steps = [
        {"path": "utils.py", "old": f"import math{end}", "new": f"import math  #{end}"}
        for end in ("\n", "  #\n")
    ]
    ask(kith, stand_in, *map(edit, steps))
    assert asked.read_text().splitlines() == ["edited"] * 2  # and once more when all is done
