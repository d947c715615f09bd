"""The reviewer of every `kith run`: what stands out in a change is told with its diff, and blocks nothing."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kith.core.events import Asked, Event, Proposed, Reviewed
from kith.memory.log import Log
from kith.memory.past import fold
from mending import DONE, NEW, OLD, edit
from outside import Kith, Serve

WRONG = '    return sum(numbers) / max(len(numbers), int(f"1"))\n'
RISK = {"path": "utils.py", "line": 6, "evidence": NEW.rstrip(), "why": "A generator has no length."}


@pytest.fixture(autouse=True)
def linters_of_this_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)


def script(folder: Path, *replies: Any) -> str:
    file = folder.parent / "script.json"
    file.write_text(json.dumps(replies))
    return f"replay/{file}"


def events(home: Path, session: str) -> list[Event]:
    log = Log(home / ".local/state/kith/log.sqlite3")
    return [record.event for record in log.events(session)]


@pytest.mark.usefixtures("sandbox")
def test_linters_speak_of_the_changed_lines_before_anybody_is_asked(kith: Kith, home: Path) -> None:
    old = (kith.folder / "utils.py").read_text()
    (kith.folder / "utils.py").write_text(f"import os\n{old}")  # an old finding is none of this change's
    report = kith.run(
        "--yes", "--check", "none", "-m", script(kith.folder, edit(OLD, WRONG), DONE), "fix mean"
    )
    assert report["status"] == "done" and WRONG in (kith.folder / "utils.py").read_text()
    (note,) = report["notes"]
    assert (note["path"], note["line"], note["rule"]) == ("utils.py", 7, "F541")
    kinds = [type(event) for event in events(home, report["session"])]
    assert kinds.index(Proposed) < kinds.index(Reviewed) < kinds.index(Asked)


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_a_change_without_findings_has_no_notes(kith: Kith) -> None:
    done = kith("run", "--yes", "--check", "none", "-m", script(kith.folder, edit(), DONE), "fix mean")
    assert "!" not in done.stderr
    report = kith.run("--yes", "--check", "none", "-m", script(kith.folder, edit(NEW, OLD), DONE), "back")
    assert report["notes"] == [] and report["usage"]["calls"] == 2  # without --review nobody asks for more


@pytest.mark.slow
def test_the_model_is_asked_once_behind_the_conversation(kith: Kith, home: Path, serve: Serve) -> None:
    """The same words up to the question, which does not join the thread."""
    notes = {"risks": [RISK, {**RISK, "evidence": "not there"}], "tests": ["a generator", "  "]}
    server = serve([edit(), DONE, json.dumps(notes)])
    report = kith.run("--yes", "--review", "--check", "none", "fix mean")
    assert report["status"] == "done" and NEW in (kith.folder / "utils.py").read_text()
    assert [(each["line"], each["rule"], each["severity"], each["text"]) for each in report["notes"]] == [
        (6, "risk", "note", "A generator has no length."),
        (6, "test", "note", "Not tested: a generator"),
    ]
    *_, before, asked = server.requests
    assert asked["messages"][: len(before["messages"])] == before["messages"]
    assert asked["tools"] == before["tools"]
    assert "as a reviewer who doubts it" in asked["messages"][-1]["content"]
    said = fold(events(home, report["session"])).threads["task"]
    assert not any("doubts" in message.text for message in said)


@pytest.mark.slow
def test_a_model_without_notes_is_in_nobodys_way(kith: Kith) -> None:
    replies = (edit(), DONE, {"error": "it fell over"})
    report = kith.run("--yes", "--review", "--check", "none", "-m", script(kith.folder, *replies), "fix mean")
    assert report["status"] == "done" and report["notes"] == []
    replies = (edit(NEW, OLD), DONE, "I have nothing to add.")
    report = kith.run("--yes", "--review", "--check", "none", "-m", script(kith.folder, *replies), "back")
    assert report["status"] == "done" and report["notes"] == []


def test_notes_without_json_are_asked_for_again(kith: Kith) -> None:
    notes = json.dumps({"risks": [RISK], "tests": []})
    replies = (edit(), DONE, "It looks fine.", notes)
    report = kith.run("--yes", "--review", "--check", "none", "-m", script(kith.folder, *replies), "fix mean")
    assert [each["rule"] for each in report["notes"]] == ["risk"] and report["usage"]["calls"] == 4


def test_notes_that_stay_without_json_are_shown(kith: Kith) -> None:
    replies = (edit(), DONE, "It looks fine.", "Really fine.")
    report = kith.run("--yes", "--review", "--check", "none", "-m", script(kith.folder, *replies), "fix mean")
    assert report["status"] == "done" and report["notes"] == []
    assert any("Really fine." in each for each in report["receipt"]["warnings"])
