"""Beginning again: a fork holds what was said before a turn, and going back takes its changes back, too."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from kith.agent.conversations import files_since, fork, go_back
from kith.agent.project import Project
from kith.agent.tasks import Task, run_task
from kith.core.errors import TreeError, UsageError
from kith.core.values import Answer, Question
from kith.memory.turns import turns


class Talk:
    """A conversation in which every task writes one file, or only words."""

    def __init__(self, root: Path) -> None:
        self.root, self.id = root, "talk"

    def project(self, *replies: Any) -> Project:
        script = self.root.parent / "script.json"
        script.write_text(json.dumps(replies))
        return Project.open(self.root, {"model": f"replay/{script}", "check": ("none",)})

    def __call__(self, words: str, *replies: Any, choice: str = "all") -> None:
        async def answer(question: Question) -> Answer:
            return Answer(choice)

        project = self.project(*replies)
        asyncio.run(run_task(project, Task(words), answer, id=self.id))

    def write(self, words: str, path: str, text: str, choice: str = "all") -> None:
        call = {"calls": [{"name": "write", "args": {"path": path, "content": text}}]}
        self(words, call, f"Wrote {path}.", choice=choice)

    @property
    def said(self) -> list[str]:
        messages = self.project().log.past(self.id).threads.get("task", [])
        return [message.text for message in messages if message.text]


@pytest.fixture
def talk(repository: Path) -> Talk:
    talk = Talk(repository)
    talk.write("write one", "one.txt", "1\n")
    talk.write("write two", "two.txt", "2\n")
    talk("how many?", "Two.")
    return talk


def test_a_fork_holds_what_was_said_before_the_turn(talk: Talk) -> None:
    project = talk.project()
    assert [(turn.number, turn.words, turn.status, turn.files) for turn in turns(project.log, "talk")] == [
        (1, "write one", "done", ("one.txt",)),
        (2, "write two", "done", ("two.txt",)),
        (3, "how many?", "done", ()),
    ]
    made = fork(project, "talk", 2)
    assert made.words == "write two" and (talk.root / "two.txt").exists()
    before, talk.id = talk.said, made.id
    assert talk.said == before[:2]
    talk("and now?", {"expect": "^Since then, these files were changed: two.txt", "text": "I see."})
    assert talk.said[-1] == "I see."
    (new, old) = project.sessions()
    assert (new.title, new.source, new.talks) == ("write one", "talk", True) and old.id == "talk"


def test_a_whole_fork_goes_on_where_the_other_one_was_and_outlives_it(talk: Talk) -> None:
    project = talk.project()
    before, made = talk.said, fork(project, "talk")
    project.log.delete("talk")
    talk.id = made.id
    assert talk.said == before and made.words == ""
    talk("more", {"expect": "^more$", "text": "Yes."})
    assert [turn.words for turn in turns(project.log, made.id)] == [
        "write one",
        "write two",
        "how many?",
        "more",
    ]
    again = fork(project, made.id, 2)
    assert [turn.words for turn in turns(project.log, again.id)] == ["write one"]
    assert project.log.past(again.id).threads["task"] == project.log.past(made.id).threads["task"][:4]


def test_going_back_takes_the_files_back(talk: Talk) -> None:
    project = talk.project()
    assert files_since(project, "talk", 1) == ("one.txt", "two.txt")
    made = asyncio.run(go_back(project, "talk", 1))
    assert made.words == "write one" and len(made.undone) == 2
    assert not (talk.root / "one.txt").exists() and not (talk.root / "two.txt").exists()
    assert files_since(project, "talk", 1) == ()
    asyncio.run(project.recover(None))
    assert len(project.sessions()) == 2  # nothing was left for the log to learn


def test_going_back_is_whole_or_not_at_all(talk: Talk) -> None:
    project = talk.project()
    (talk.root / "one.txt").write_text("mine\n")
    with pytest.raises(TreeError, match=r"one\.txt; all files are as they were"):
        asyncio.run(go_back(project, "talk", 1))
    assert (talk.root / "two.txt").read_text() == "2\n" and (talk.root / "one.txt").read_text() == "mine\n"
    asyncio.run(project.recover(None))
    assert [session.title for session in project.sessions()] == ["go back", "write one"]
    (talk.root / "one.txt").write_text("1\n")
    (talk.root / "two.txt").unlink()  # taken back by hand
    made = asyncio.run(go_back(project, "talk", 1))
    assert len(made.undone) == 1 and not (talk.root / "one.txt").exists()


@pytest.mark.slow
def test_a_refused_change_is_told_in_the_fork(talk: Talk) -> None:
    talk.write("write three", "three.txt", "3\n", choice="none")
    talk("hm", "Hm.")
    talk.id = fork(talk.project(), "talk", 5).id
    talk("why?", {"expect": "^Your last change was not applied", "text": "I see."})
    assert talk.said[-1] == "I see."


def test_what_is_not_there_is_said(repository: Path) -> None:
    project = Project.open(repository, {})
    with project.session("talk") as session:
        session.emit(project.started("a task", {"plan": "no"}))
    for wrong in (2, -1):
        with pytest.raises(UsageError, match="has one turn, and no turn"):
            fork(project, "talk", wrong)
    with pytest.raises(UsageError, match="no task"):
        fork(project, "nobody")
