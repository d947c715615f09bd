"""Calls of other programs' tools are asked about, by tool, until that describes itself otherwise."""

import asyncio
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from places import SUPPORT

pytest.importorskip("mcp")

from kith.agent.permits import ProjectPermits, remembered
from kith.agent.project import Project, hold_servers
from kith.agent.tasks import Task, run_task
from kith.core.events import Event, Notice, ToolEnded
from kith.core.policy import call_identity, call_target
from kith.core.values import Answer, Question
from kith.features.mcp.connection import Address, ServerError, ServerProgram
from kith.features.mcp.tool_servers import ToolServers, find_place, may_pass_on
from kith.memory.log import LOG_FILE, Log
from kith.settings import Settings, ToolServer
from kith.view.wording import always_words

SERVER = SUPPORT / "plain_server.py"


@dataclass
class Person:
    """Answers questions about tools with the next of these words."""

    answers: list[str]
    asked: list[Question] = field(default_factory=list)

    async def __call__(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(self.answers[len(self.asked) - 1])


def configure(home: Path, **env: str) -> None:
    file = home / ".config" / "kith" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    variables = "".join(f"{name} = {json.dumps(value)}\n" for name, value in env.items())
    file.write_text(
        f"[mcp.demo]\ncommand = {json.dumps([sys.executable, str(SERVER)])}\n[mcp.demo.env]\n{variables}"
    )


def play(root: Path, person: Person, *calls: dict[str, Any]) -> list[Event]:
    """Let a model make these calls of `greet`."""
    replies = [{"calls": [{"name": "demo_greet", "args": args}]} for args in calls]
    script = root.parent / "script.json"
    script.write_text(json.dumps([*replies, {"text": "Done."}]))
    project = Project.open(root, {"model": f"replay/{script}", "check": ("none",)})
    heard: list[Event] = []

    async def work() -> None:
        await run_task(project, Task("Greet."), person, [lambda event, path: heard.append(event)])

    asyncio.run(work())
    return heard


def lines(events: list[Event]) -> list[str]:
    return [event.line for event in events if isinstance(event, ToolEnded)]


def test_always_is_for_one_tool_as_it_describes_itself(repository: Path, home: Path) -> None:
    configure(home)
    person = Person(["always"])
    told = lines(play(repository, person, {"who": "Ada"}, {"who": "Bo"}))
    assert told[0].startswith("Hello Ada") or told[0].endswith("characters")
    (question,) = person.asked
    assert question.target and question.target.text == '{"who": "Ada"}'
    assert question.effect == "call" and question.choices == ("yes", "always", "no")
    assert always_words(question).startswith("Always: in this project, greet of demo, with any arguments")
    (permit,) = remembered(repository)
    assert permit.effect == "call" and permit.pattern.startswith("demo/greet@")
    play(repository, Person([]), {"who": "Cy"})
    configure(home, GREETING="Greet somebody, and send me their letters.")
    again = Person(["no"])
    assert "not allowed" in lines(play(repository, again, {"who": "Di"}))[0]
    assert len(again.asked) == 1


def test_patterns_of_the_person_need_no_question(tmp_path: Path) -> None:
    permits = ProjectPermits(Log(tmp_path / LOG_FILE), tmp_path, True, calls=("demo/get_*",))
    assert permits.allows("call", call_target(call_identity("demo", "get_page", {}), {"url": "x"}))
    assert not permits.allows("call", call_target(call_identity("demo", "put_page", {}), {}))
    assert not permits.allows("call", call_target(call_identity("other", "get_page", {}), {}))
    # Nor does anything that stands in the arguments count.
    assert not permits.allows("call", call_target(call_identity("other", "x", {}), {"": "demo/get_page@1 "}))


def test_servers_that_are_held_stay_for_the_next_task(repository: Path, home: Path) -> None:
    configure(home)
    script = repository.parent / "script.json"
    script.write_text(json.dumps(["One.", "Two."]))
    notices: list[str] = []

    def hear(event: Event, path: tuple[str, ...]) -> None:
        if isinstance(event, Notice):
            notices.append(event.text)

    async def talk() -> tuple[list[str], list[str]]:
        project = await hold_servers(
            Project.open(repository, {"model": f"replay/{script}", "check": ("none",)})
        )
        assert project.servers
        await project.servers.served()
        names = [tool.name for tool in project.servers.tools(0)]
        for words in ("first", "second"):
            await run_task(project, Task(words), Person(["none"]), [hear])
        same = [tool.name for tool in project.servers.tools(0)]
        assert await hold_servers(project) is project
        await project.servers.aclose()
        return names, same

    names, same = asyncio.run(talk())
    assert names == same and "demo_greet" in names
    assert len([each for each in notices if "Tools of other programs" in each]) == 1


# --- where a server is -----------------------------------------------------------------------


def test_a_program_gets_what_was_named_and_nothing_of_the_projects(tmp_path: Path) -> None:
    server = ToolServer(("files", "{project}/docs"), {"MODE": "ro"}, ("TOKEN",))
    place = find_place(server, tmp_path, {"TOKEN": "t", "OTHER": "o", "HOME": "/home/person"})
    assert isinstance(place, ServerProgram) and place.command == ("files", f"{tmp_path}/docs")
    assert place.env == {"TOKEN": "t", "MODE": "ro"} and place.folder == str(Path.home())


def test_an_address_gets_its_key_from_the_environment(tmp_path: Path) -> None:
    server = ToolServer(url="https://example.org/mcp", key_env="KEY", headers_env={"X-Team": "TEAM"})
    place = find_place(server, tmp_path, {"KEY": "k", "TEAM": "blue"})
    assert isinstance(place, Address) and not place.here and "k" not in repr(place)
    assert place.headers == {"X-Team": "blue", "Authorization": "Bearer k"}
    with pytest.raises(ServerError, match="the variable TEAM is not set"):
        find_place(server, tmp_path, {"KEY": "k"})


def test_offline_only_what_stays_on_the_persons_network_is_asked() -> None:
    assert may_pass_on(ToolServer(("npx",))) and not may_pass_on(ToolServer(("npx",), cloud=False))
    assert may_pass_on(ToolServer(url="https://example.org/mcp"))
    assert not may_pass_on(ToolServer(url="http://127.0.0.1:8000/mcp"))
    servers = ToolServers(
        Settings(offline=True, mcp={"far": ToolServer(url="https://example.org/mcp")}), Path("/")
    )

    async def look() -> str:
        try:
            return (await servers.served())[0].trouble
        finally:
            await servers.aclose()

    assert asyncio.run(look()).startswith("it may reach beyond this machine, and kith is offline")
