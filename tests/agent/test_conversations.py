"""Conversations by their ids: gone on with, named, listed, and forgotten with all that was kept of them."""

import asyncio
import json
from pathlib import Path

import pytest

from kith.agent.conversations import find_conversation, forget, last_conversation, rename, tell_damage
from kith.agent.project import Project
from kith.agent.tasks import Task, run_task
from kith.core.errors import BusyError, UsageError
from kith.core.events import Applied, Notice, Options, Resumed, RunEnded, RunStarted, ToolEnded
from kith.core.values import Answer, FileChange, Question, Ran
from kith.features.measure.measured_rows import read_measured
from kith.memory.inbox import Inbox, Letter, can_resume, last_kind, was_cut_off
from kith.memory.session import Session
from kith.memory.turns import turns

CANARY = "CANARY in the file\n"


@pytest.fixture
def project(repository: Path) -> Project:
    call = {"calls": [{"name": "write", "args": {"path": "new.txt", "content": CANARY}}]}
    script = repository.parent / "script.json"
    script.write_text(json.dumps([call, "Done."]))
    return Project.open(repository, {"model": f"replay/{script}", "check": ("none",)})


async def yes(question: Question) -> Answer:
    return Answer("all")


def do(project: Project, words: str, id: str) -> None:
    asyncio.run(run_task(project, Task(words), yes, id=id))


def all_bytes(*folders: Path) -> bytes:
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return b"".join(path.read_bytes() for path in files)


def test_forgotten_is_gone_everywhere(project: Project) -> None:
    settings = project.settings
    do(project, "write CANARY", "talk")
    asyncio.run(project.undo())
    Inbox(project.log, "talk").write(Letter("a CANARY too"))
    read_measured(project.log, cache=settings.cache)
    assert all_bytes(settings.state, settings.cache).count(b"CANARY") > 5
    (undo, _) = project.sessions()
    assert forget(settings, project.log, "talk") == (undo.id,)
    assert project.sessions() == [] and not (project.root / "new.txt").exists()
    asyncio.run(project.recover(None))
    assert project.sessions() == []  # the journal has nothing that the log does not know
    project.log.close()
    assert b"CANARY" not in all_bytes(settings.state, settings.cache)


def test_nothing_is_forgotten_while_somebody_works_on_it(project: Project) -> None:
    do(project, "write", "talk")
    with Session(project.log, "talk"), pytest.raises(BusyError):
        forget(project.settings, project.log, "talk")
    assert project.sessions() and asyncio.run(project.undo()).files


def test_a_name_stands_in_the_list_and_is_searched(project: Project) -> None:
    do(project, "compose a file\nwith words", "talk")
    assert [each.title for each in project.sessions()] == ["compose a file"]
    assert rename(project, "talk", "  My \n own ") == "My own"
    assert [each.title for each in project.sessions()] == ["My own"]
    assert project.log.past("talk").title == "My own"
    for words, found in {"own my": 1, "WITH file": 1, "talk": 1, "done": 1, "my other": 0}.items():
        assert len(project.log.sessions(words=words)) == found
    assert find_conversation(project, "my own").id == "talk"
    with pytest.raises(UsageError, match="no session 'my'"):
        find_conversation(project, "my")
    with pytest.raises(UsageError, match="word"):
        rename(project, "talk", " \n")


def test_only_conversations_are_gone_on_with(project: Project) -> None:
    with pytest.raises(UsageError, match="no conversation"):
        last_conversation(project)
    do(project, "write", "talk")
    asyncio.run(project.undo())
    assert last_conversation(project).id == find_conversation(project, "ta").id == "talk"
    (undo, _) = project.sessions()
    with pytest.raises(UsageError, match="is not a conversation but a undo"):
        find_conversation(project, undo.id)
    with Session(project.log, "elsewhere") as session:
        session.emit(RunStarted("x", "/other", "", "0", Options(plan="no")))
    with pytest.raises(UsageError, match="belongs to /other; use -C"):
        find_conversation(project, "else")


def run_aside(project: Project, id: str, command: str, *, quiet: bool = False) -> None:
    ran = Ran(command, 1, "``` printed\n", 0.1)
    with Session(project.log, id) as session:
        session.emit(RunStarted(f"!{command}", str(project.root), "", "0", Options("command", quiet=quiet)))
        session.emit(ToolEnded("c", "bash", False, 0.1, command, ran))
        session.emit(RunEnded("done", ""))


def test_what_the_person_ran_is_told_with_the_next_task_and_once(project: Project) -> None:
    do(project, "write", "talk")
    run_aside(project, "talk", "make")
    run_aside(project, "talk", "secret", quiet=True)
    past = project.log.past("talk")
    assert [ran.command for ran in past.untold] == ["make"] and past.tasks == 1
    assert past.ended and past.applied and past.commands == []
    script = Path(project.settings.model.removeprefix("replay/"))
    told = r"^I ran `make` \(exit code 1\):\n````\n``` printed\n````\n\nand now\?$"
    script.write_text(json.dumps([{"expect": told, "text": "I see."}]))
    do(project, "and now?", "talk")
    past = project.log.past("talk")
    assert past.threads["task"][-1].text == "I see." and past.untold == []


def test_a_command_cuts_no_task_in_two(project: Project) -> None:
    with Session(project.log, "talk") as session:
        session.emit(RunStarted("a task", str(project.root), "", "0", Options(plan="no")))
    run_aside(project, "talk", "ls")
    log = project.log
    assert was_cut_off(log, "talk") and can_resume(log, "talk") and last_kind(log, "talk") == "run"
    assert log.sessions()[0].status == "unfinished"
    with Session(project.log, "talk") as session:
        session.emit(Resumed())
        session.emit(RunEnded("done", ""))
    run_aside(project, "talk", "ls")
    assert not was_cut_off(log, "talk") and not can_resume(log, "talk")
    assert log.sessions()[0].status == "done"


def test_a_command_that_was_killed_hides_nothing_of_the_task_that_goes_on(project: Project) -> None:
    root = str(project.root)
    events = [
        RunStarted("a task", root, "", "0", Options(plan="no")),
        RunStarted("!sleep", root, "", "0", Options("command")),
        Resumed(),
        Applied("c1", (FileChange("a.py", 1, 0, ""),)),
        RunEnded("done", "x"),
        RunStarted("!touch", root, "", "0", Options("command")),
        Applied("c2", (FileChange("b.py", 1, 0, ""),)),
        RunEnded("done", ""),
    ]
    with Session(project.log, "talk") as session:
        for event in events:
            session.emit(event)
    past = project.log.past("talk")
    assert past.ended and past.ended.text == "x" and [each.change_id for each in past.applied] == ["c1"]
    (turn,) = turns(project.log, "talk")
    assert (turn.words, turn.status, turn.files) == ("a task", "done", ("a.py", "b.py"))


def test_what_cannot_be_read_is_said(project: Project) -> None:
    with Session(project.log, "talk") as session:
        session.emit(RunStarted("a task", str(project.root), "", "0", Options(plan="no")))
        session.emit(Notice("x"))
    project.log.query("UPDATE events SET body = 'x' WHERE kind = 'Notice'")
    assert tell_damage(project.log, "talk") == ""
    project.log.past("talk")
    assert tell_damage(project.log, "talk") == "1 event of session talk cannot be read; the rest is there."
