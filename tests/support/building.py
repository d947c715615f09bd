"""Builds that are played: real projects, real tests, and roles whose replies are written down beforehand."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kith.agent.asking.roles import find_role
from kith.agent.attempt import Outcome
from kith.agent.judges import Checking, make_judges
from kith.agent.roles import Player, make_role
from kith.core.events import Advanced, Event, Notice, Said
from kith.core.loop import INTERRUPTED
from kith.core.model import Emit, Prompt
from kith.core.run import Answerer, Run
from kith.core.values import Answer, Changes, Question, Reply, Sampling
from kith.core.workspace import ExecLimits, SizeLimits
from kith.features.build.driver import build
from kith.features.build.state import Build
from kith.features.build.work import BuildOptions
from kith.features.demo.replay import Replay
from kith.memory.log import Log
from kith.memory.past import fold
from kith.memory.session import Listener, Session
from kith.models.wrappers.metered import Metered
from kith.tools import standard_tools
from kith.trees.local import open_tree

Script = Mapping[str, Sequence[Any]]
DONE = {"calls": [{"name": "done", "args": {"summary": "Done."}}]}


def write(path: str, content: str, append: bool = False) -> dict[str, Any]:
    """A reply that writes a file."""
    args: dict[str, Any] = {"path": path, "content": content, **({"append": True} if append else {})}
    return {"calls": [{"name": "write", "args": args}]}


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    """A reply that replaces a piece of a file."""
    return {"calls": [{"name": "edit", "args": {"path": path, "old": old, "new": new}}]}


def bash(line: str) -> dict[str, Any]:
    """A reply that runs a command."""
    return {"calls": [{"name": "bash", "args": {"command": line}}]}


def tasks(*tasks: Mapping[str, Any]) -> str:
    """An architect's reply."""
    return json.dumps({"tasks": list(tasks)})


# --- projects that others wrote --------------------------------------------------------------


def copy_package(name: str, folder: Path, keep: Callable[[str], bool] = lambda path: True) -> Path:
    """A package of this Python, with its tests, as the only thing in a git repository."""
    spec = find_spec(name)
    assert spec and spec.origin
    source = Path(spec.origin).parent
    for file in source.rglob("*.py"):
        path = file.relative_to(source)
        if keep(str(path)):
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder / name / path)
    return commit_all(folder)


def commit_all(folder: Path) -> Path:
    """A git repository of what is in a folder."""
    (folder / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n.kith-build/\n")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "As it was"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file of a tree, without git's own."""
    files = (file for file in folder.rglob("*") if file.is_file() and ".git" not in file.parts)
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


# --- a build, as the app runs it -------------------------------------------------------------


def drop(event: Event, path: tuple[str, ...]) -> None:
    """Hear nothing of what happens."""


class _Stay(Exception):
    """Leaves a trial as it is."""


@dataclass(slots=True)
class Actor:
    """Says what the script of a conversation has next; it remembers nothing but what it was asked."""

    script: Script
    asked: list[tuple[str, int]]
    name: str = "actor"

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        said = sum(m.role == "assistant" and m.author != "kith" for m in prompt.messages)
        # What was cut short is not run again by itself: like any model, it asks once more.
        said -= sum(result.text == INTERRUPTED for m in prompt.messages for result in m.results)
        thread = prompt.thread.removeprefix("build/")
        self.asked.append((thread, said))
        replies = self.script.get(thread, ())
        assert said < len(replies), f"{thread} has no reply {said} to: {prompt.messages[-1].text}"
        return await Replay(self.name, [replies[said]])(prompt, emit)


PLAIN = BuildOptions(refine=False, coverage=0, suite=ExecLimits(seconds=60.0))


@dataclass(slots=True)
class Stage:
    """A project, its log, and the script of the roles; `answers` are the person's, by kind of question."""

    root: Path
    script: Script
    options: BuildOptions = PLAIN
    answers: Mapping[str, Sequence[Answer]] = field(default_factory=dict)
    checks: tuple[str, ...] | None = None
    id: str = "play"
    small: bool = False  # the models have little room
    tells: bool = True  # else every event is dropped
    asked: list[tuple[str, int]] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    answerer: Answerer | None = None  # in place of `answers`
    listeners: list[Listener] = field(default_factory=list)
    stop_after: int = 0  # the build is cancelled after so many finished steps

    @property
    def log(self) -> Log:
        return Log(self.root.parent / "state" / "log.sqlite3")

    def play(self) -> Outcome:
        """Begin the build, or go on where its log ends. Raises CancelledError when it was stopped."""
        os.environ.update(VIRTUAL_ENV=sys.prefix)
        return asyncio.run(self._play())

    async def _play(self) -> Outcome:
        log = self.log
        tree = open_tree(self.root, log.path.parent, self.root.parent / "cache")
        with Session(log, self.id) as session:
            state = Build()
            for record in log.events(self.id):
                state.take(record.event, record.path, record.at)
            threads = fold(record.event for record in log.events(self.id)).threads

            def listen(event: Event, path: tuple[str, ...]) -> None:
                if isinstance(event, Advanced) and state.finished + 1 == self.stop_after:
                    raise asyncio.CancelledError

            session.listeners += [listen, *self.listeners]
            run = Run(session.emit if self.tells else drop, self._answer, tree)
            checking = Checking(self.checks, True, self.options.suite, SizeLimits())
            judges = make_judges(run, checking, self._commit)
            words = "Do what the tasks say."
            return await build(
                run, self._cast, words, judges, self.options, name="play", earlier=state, threads=threads
            )

    def changes(self) -> Changes:
        """What the trial holds, which a build that was not done leaves behind."""

        async def look() -> Changes:
            tree = open_tree(self.root, self.log.path.parent, self.root.parent / "cache")
            with suppress(_Stay):
                async with tree.trial("play") as trial:
                    found = await trial.changes()
                    raise _Stay
            return found

        return asyncio.run(look())

    async def _cast(self, name: str) -> Player:
        model = Metered(Actor(self.script, self.asked))
        role = make_role(find_role(name), model, standard_tools(), Sampling(), small=self.small)
        return Player(role, 4_096 if self.small else 16_384, self.small)

    async def _answer(self, question: Question) -> Answer:
        if self.answerer:
            return await self.answerer(question)
        before = sum(each.kind == question.kind for each in self.questions)
        self.questions.append(question)
        given = self.answers.get(question.kind, ())
        return given[before] if before < len(given) else Answer("all" if question.kind == "change" else "yes")

    async def _commit(self, paths: Sequence[str], message: str) -> str:
        from kith.trees.git import commit_paths

        return await commit_paths(self.root, paths, message)

    # --- what the log says ---------------------------------------------------------------

    @property
    def events(self) -> list[Event]:
        return [record.event for record in self.log.events(self.id)]

    @property
    def state(self) -> Build:
        state = Build()
        for record in self.log.events(self.id):
            state.take(record.event, record.path, record.at)
        return state

    @property
    def steps(self) -> list[str]:
        """Each finished step with what came of it."""
        return [f"{each.step} {each.outcome}" for each in self.events if isinstance(each, Advanced)]

    @property
    def notices(self) -> str:
        return "\n".join(each.text for each in self.events if isinstance(each, Notice))

    def said_to(self, thread: str) -> list[str]:
        """What was said to the role in a conversation."""
        return [
            each.message.text
            for each in self.events
            if isinstance(each, Said) and each.thread == f"build/{thread}" and each.message.role == "user"
        ]
