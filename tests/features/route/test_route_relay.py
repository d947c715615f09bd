"""A session that goes from one model to another, cut at any event, goes on with the right one."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agreeing import agree
from cutting import die_after, find_cuts
from kith.agent.project import Project
from kith.agent.tasks import Task, run_task
from kith.core.decisions import Routed
from kith.core.events import Event, Said
from mending import CHECK, DONE, NEW, OLD, edit

WRONG = OLD.replace("+ 1", "+ 2")
MARK = {"calls": [{"name": "bash", "args": {"command": "echo once >> marks.txt"}}]}
GIVEN = {"model": "route", "tries": 2, "check": (CHECK,)}
SCRIPTS = {
    "local": [edit(OLD, WRONG), MARK, DONE, DONE],
    "frontier": [edit(), DONE],
}


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KITH_ROUTE_AUDIT", "0")
    for name in SCRIPTS:
        monkeypatch.setenv(f"KITH_ROUTE_{name.upper()}", f"replay/{tmp_path / name}.json")
    write(tmp_path, SCRIPTS)
    return tmp_path


def write(folder: Path, scripts: dict[str, list[Any]]) -> None:
    for name, replies in scripts.items():
        (folder / f"{name}.json").write_text(json.dumps(replies))


def events_of(project: Project, session: str) -> list[Event]:
    return [record.event for record in project.log.events(session)]


def whole(repository: Path) -> list[Event]:
    """The events of the task where nothing cuts it."""
    project = Project.open(repository, GIVEN)
    result = asyncio.run(run_task(project, Task("fix mean"), agree))
    return events_of(project, result.report["session"])


def turn_of(events: list[Event]) -> int:
    """The number, from 1, of the event that hands the task to the other model."""
    return next(n for n, each in enumerate(events, 1) if isinstance(each, Routed) and each.after)


def heard(events: list[Event], thread: str) -> int:
    """How many replies of a model are in a thread; kith's own closing words are none."""
    said = [each.message for each in events if isinstance(each, Said) and each.thread == thread]
    return sum(message.role == "assistant" and message.author != "kith" for message in said)


def cut(repository: Path, scripts: Path, number: int) -> str:
    """The session that dies after so many events; "" where it came to its end."""
    subprocess.run(["git", "checkout", "-q", "."], cwd=repository, check=True)
    subprocess.run(["git", "clean", "-fdq"], cwd=repository, check=True)
    write(scripts, SCRIPTS)
    child = os.fork()
    if not child:
        die_after(repository, GIVEN, Task("fix mean"), number)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    last = Project.open(repository, {}).sessions()[0]
    assert code in (0, 9)
    return "" if code == 0 or last.status == "done" else last.id


def go_on(repository: Path, scripts: Path, session: str) -> list[Event]:
    """Resume it, with what each model has not said yet; all of its events."""
    project = Project.open(repository, {"model": "route", "tries": 2})
    events = events_of(project, session)
    # What was interrupted is not run again: where that was the edit, the model makes it once more.
    fixed = (repository / "utils.py").read_text().replace(OLD, NEW)
    again = {"calls": [{"name": "write", "args": {"path": "utils.py", "content": fixed}}]}
    heard_of = {"local": heard(events, "task"), "frontier": heard(events, "task.2")}
    rest = {name: replies[heard_of[name] :] for name, replies in SCRIPTS.items()}
    write(scripts, {"local": [*rest["local"], DONE], "frontier": [*rest["frontier"], again, DONE]})
    result = asyncio.run(run_task(project, Task("", resume=session), agree))
    assert result.report["status"] == "done", result.report["text"]
    return events_of(project, session)


def check_end(repository: Path, events: list[Event], number: int) -> None:
    where = f"cut after event {number}"
    marks = repository / "marks.txt"
    assert NEW in (repository / "utils.py").read_text(), where
    assert not marks.exists() or marks.read_text() == "once\n", where
    taken_over = [each for each in events if isinstance(each, Routed) and each.after]
    assert len(taken_over) == 1 and taken_over[0].after == "replay/local", where
    packets = [
        each.message.text
        for each in events
        if isinstance(each, Said) and each.thread == "task.2" and each.message.role == "user"
    ]
    assert packets[0].startswith("# Task\nfix mean\n\n# So far"), where
    assert len([each for each in packets if each.startswith("# Task")]) == 1, where


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_cut_where_one_model_follows_another(repository: Path, scripts: Path) -> None:
    events = whole(repository)
    turn = turn_of(events)
    for number in (turn, turn + 1):
        session = cut(repository, scripts, number)
        assert session
        events = go_on(repository, scripts, session)
        check_end(repository, events, number)
        (packet,) = [
            each.message.text for each in events if isinstance(each, Said) and each.thread == "task.2"
        ][:1]
        assert "taken back; it had been:" in packet and "+ 2)" in packet


@pytest.mark.slow
@pytest.mark.parametrize("start", range(3))
@pytest.mark.usefixtures("sandbox")
def test_cut_after_any_kind_of_event_the_right_model_ends_it(
    repository: Path, scripts: Path, start: int
) -> None:
    """From shortly before the other model takes over; `test_tasks_resumed.py` cuts a task with one model."""
    events = whole(repository)
    before = turn_of(events) - 4
    for number in (before + each for each in find_cuts(events[before:])[start::3]):  # three tests share them
        session = cut(repository, scripts, number)
        assert session
        check_end(repository, go_on(repository, scripts, session), number)


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_a_resumed_task_is_decided_again_as_what_it_is(repository: Path, scripts: Path) -> None:
    number, session = 0, ""
    while not (session and any(isinstance(each, Routed) for each in events_of(_open(repository), session))):
        number += 4
        session = cut(repository, scripts, number)
    write(scripts, {"local": [{"error": "the server is gone"}], "frontier": [edit(), DONE]})
    project = _open(repository)
    result = asyncio.run(run_task(project, Task("", resume=session), agree))
    assert result.report["status"] == "done", result.report["text"]
    first, later = [each for each in events_of(project, session) if isinstance(each, Routed)]
    assert later.after == "replay/local" and later.kind == first.kind != ""


def _open(repository: Path) -> Project:
    return Project.open(repository, {"model": "route", "tries": 2})
