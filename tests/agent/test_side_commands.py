"""Commands of the person's own in a conversation: run on the side, offered, and told to the model or not."""

import asyncio
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from kith.agent.project import Project
from kith.agent.side_commands import run_command
from kith.agent.tasks import Task, run_task
from kith.core.events import Asked, Event, Notice, RunEnded, ToolBegan, ToolEnded
from kith.core.values import Answer, Question
from kith.trees.exec import heard_by
from waiting import soon

MAKES = "echo new > made.txt; echo made it"


@pytest.fixture
def project(repository: Path) -> Project:
    script = repository.parent / "script.json"
    script.write_text(json.dumps(["Hello.", "I know."]))
    return Project.open(repository, {"model": f"replay/{script}", "check": ("false",)})


def _sleeps(event: Event) -> bool:
    return isinstance(event, ToolBegan) and event.target == "sleep 60"


async def nobody(question: Question) -> Answer:
    raise AssertionError("nothing is asked")


def run(project: Project, command: str, choice: str = "all", *, quiet: bool = False) -> list[Event]:
    """The events of a command in the session "talk", whose question is answered so."""
    heard: list[Event] = []

    async def answer(question: Question) -> Answer:
        return Answer(choice)

    async def do() -> None:
        with project.session("talk") as session:
            session.listeners.append(lambda event, path: heard.append(event))
            await run_command(project, session, command, answer, quiet=quiet)

    asyncio.run(do())
    return heard


def told(project: Project, words: str) -> str:
    """What the model gets with the next task."""

    async def no(question: Question) -> Answer:
        return Answer("no")

    unchecked = replace(project, settings=replace(project.settings, check=("none",)))
    asyncio.run(run_task(unchecked, Task(words), no, id="talk"))
    said = project.log.past("talk").threads["task"]
    return [message.text for message in said if message.role == "user"][-1]


def test_a_yes_brings_in_what_it_changed_without_checks(project: Project) -> None:
    heard = run(project, MAKES)
    (ended,) = [event for event in heard if isinstance(event, ToolEnded)]
    assert ended.ran and ended.ran.output == "made it" and ended.ran.command == MAKES
    assert (project.root / "made.txt").read_text() == "new\n"
    assert heard[-1] == RunEnded("done", "")
    asyncio.run(project.undo())
    assert not (project.root / "made.txt").exists()
    words = told(project, "what now?")
    assert f"I ran `{MAKES}` (exit code 0)" in words and "made it" in words and "It changed made.txt" in words
    assert "I ran" not in told(project, "and now?"), "it is told once"


def test_a_no_leaves_everything_and_says_so_to_the_model(project: Project) -> None:
    heard = run(project, MAKES, "none")
    assert isinstance(heard[-1], RunEnded) and heard[-1].status == "rejected"
    assert not (project.root / "made.txt").exists()
    assert "put back" in told(project, "what now?")


def test_what_only_looks_is_not_asked_about(project: Project) -> None:
    heard = run(project, "cat utils.py; exit 3")
    (ended,) = [event for event in heard if isinstance(event, ToolEnded)]
    assert not ended.ok and ended.ran and ended.ran.code == 3 and "def mean" in ended.ran.output
    assert not any(isinstance(event, Asked) for event in heard)


def test_what_it_prints_is_heard_while_it_runs(project: Project) -> None:
    heard: list[bytes] = []

    async def do() -> None:
        with project.session("talk") as session:
            command = "echo one; until [ -e go ]; do sleep 0.05; done; echo two"
            with heard_by(heard.append):
                running = asyncio.ensure_future(run_command(project, session, command, nobody))
            await soon(lambda: heard)
            assert heard == [b"one\n"] and not running.done()
            running.cancel()
            await asyncio.wait([running])

    asyncio.run(do())
    assert "I ran" not in told(project, "what now?"), "it was cut short"


def test_a_stopped_task_lends_its_trial(project: Project) -> None:
    script = project.root.parent / "script.json"
    write = {"calls": [{"name": "write", "args": {"path": "task.txt", "content": "made by the task"}}]}
    sleep = {"calls": [{"name": "bash", "args": {"command": "sleep 60"}}]}
    script.write_text(json.dumps([write, sleep, "Done."]))

    async def stop() -> None:
        working = asyncio.ensure_future(run_task(project, Task("begin"), nobody, id="talk"))
        while not any(_sleeps(record.event) for record in project.log.events("talk")):
            await asyncio.sleep(0.02)
        working.cancel()
        await asyncio.wait([working])

    asyncio.run(stop())
    heard = run(project, "cat task.txt; echo new > made.txt")
    (ended,) = [event for event in heard if isinstance(event, ToolEnded)]
    assert ended.ran and ended.ran.output == "made by the task"
    assert not any(isinstance(event, Asked) for event in heard), "it belongs to the task's change"
    waiting = project.tree.waiting_change(project.waiting_in("talk") or "")
    assert [each.path for each in waiting] == ["made.txt", "task.txt"]
    assert not (project.root / "made.txt").exists()


def test_a_quiet_one_stays_between_kith_and_the_person(project: Project) -> None:
    run(project, MAKES, quiet=True)
    assert (project.root / "made.txt").exists()
    words = told(project, "what now?")
    assert "I ran" not in words and "made it" not in words


def test_where_nothing_may_be_changed_its_changes_are_thrown_away(project: Project, repository: Path) -> None:
    closed = Project.open(repository, {"read_only": True})
    heard = run(closed, MAKES)
    assert not (repository / "made.txt").exists()
    assert [event.text for event in heard if isinstance(event, Notice) and "made.txt" in event.text]


def test_commits_in_the_trial_are_not_lost_without_a_word(project: Project) -> None:
    (project.root / "utils.py").write_text("x = 1\n")
    heard = run(project, "git -c user.name=me -c user.email=me@example.org commit -qam mine")
    assert any(isinstance(event, Notice) and "commit" in event.text for event in heard)
