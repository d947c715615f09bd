"""Ways around the terms that a second opening, a step, a name or a council once left open."""

import asyncio
import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from test_terms import Person, Task, begin, new_secret, per_token, provider_at

from kith.agent.asking.terms import Terms
from kith.core.errors import LimitError
from kith.core.events import Called, Options, RunStarted
from kith.core.model import Prompt
from kith.core.values import Sampling, Usage, say
from kith.features.coach import CoachSettings
from kith.features.coach.coach import coaching_limits
from kith.features.confer.checks import check_objection
from kith.features.confer.messages import Objection
from kith.features.demo.standin import Server, serve
from kith.features.route.delegation import delegation_tools
from kith.memory.log import Log
from kith.models.account import Budget
from kith.models.stack import Opened, look
from kith.settings import Settings
from kith.settings.values import Routing
from kith.tools import standard_tools

SECRET = new_secret()


def plant(root: Path) -> None:
    (root / ".gitignore").write_text(".env\n")
    (root / ".env").write_text(f"API_TOKEN={SECRET}\n")


async def hand_over(task: Task, server: Server, script: Path, check: str) -> str:
    """What comes back to a model in the cloud of an errand with such a check."""
    script.write_text(json.dumps(["Nothing to do.", "Nothing to do."]))
    name = f"replay/{script}"
    project = replace(task.project, settings=replace(task.project.settings, route=Routing(local=(name,))))
    terms, giver = Terms(project, task.run, task.session.id), await open_at(task, server)
    await terms.admit(giver)
    tools = terms.show(giver, delegation_tools(terms, giver))
    delegate = next(tool for tool in tools if tool.name == "delegate")
    async with project.tree.trial() as trial:
        args = {"model": name, "task": "look", "check": check}
        result = await delegate.fn(args, task.run.inside(trial))
    await giver.aclose()
    return result.text


async def open_at(task: Task, server: Server, asked_as: str = "") -> Opened:
    opened = await look(provider_at(server, "vllm"), task.project.log.card, 0, task.run.emit, per_token)
    return replace(opened, asked_as=asked_as)


@pytest.mark.slow
def test_a_model_that_is_opened_twice_gets_no_secret_the_second_time(repository: Path) -> None:
    plant(repository)

    async def run() -> bytes:
        async with serve(["done"] * 2, "vllm") as server, begin(repository, Person(["yes"])) as task:
            terms = Terms(task.project, task.run, task.session.id)
            for _ in range(2):
                opened = await open_at(task, server)
                await terms.admit(opened)
                prompt = Prompt("", (say(f"it is {SECRET}"),), purpose="work")
                await terms.wrap(opened)(prompt, task.run.emit)
                await opened.aclose()
            return b"".join(request.raw for request in server.requests)

    assert SECRET.encode() not in asyncio.run(run())


def test_steps_that_begin_at_once_share_the_money_of_the_task(repository: Path) -> None:
    """Each has tokens and seconds of its own; three of them must not cost three times the limit."""

    async def run() -> list[Called]:
        async with (
            serve(["done"] * 3, "vllm", window=200_000) as server,
            begin(repository, Person(["yes"]), max_task_usd=0.015) as task,
        ):
            terms, opened = Terms(task.project, task.run, task.session.id), await open_at(task, server)
            await terms.admit(opened)
            steps = [terms.wrap(opened, budget=Budget()) for _ in range(3)]
            prompt = Prompt("", (say("hi " * 9_000),), sampling=Sampling(max_tokens=200))
            with pytest.raises(LimitError, match="max_task_usd"):
                for step in steps:
                    await step(prompt, task.run.emit)
            await opened.aclose()
            return [event for event in task.told if isinstance(event, Called)]

    paid = [call.usd or 0.0 for call in asyncio.run(run())]
    assert 1 <= len(paid) < 3 and sum(paid) <= 0.015


def test_yes_agrees_to_the_model_at_its_place_and_to_no_namesake(repository: Path, home: Path) -> None:
    config = home / ".config/kith/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[endpoints.far]\nurl = "https://far.example.org"\n')

    async def run(model: str, asked_as: str) -> str:
        person = Person(["yes"])
        async with serve(["done"], "vllm") as server, begin(repository, person, model=model) as task:
            terms = Terms(task.project, task.run, task.session.id)
            opened = await open_at(task, server, asked_as)
            await terms.admit(opened)
            await terms.wrap(opened)(Prompt("", (say("hi"),)), task.run.emit)
            await opened.aclose()
            return str(person.asked[0].kind)

    assert asyncio.run(run("far/standin", "far/standin")) == "plan"
    names = (
        ("ollama/stand", "far/standin"),
        ("near/standin", "far/standin"),
        ("standin", "standin"),
        ("s", ""),
    )
    for model, asked_as in names:
        assert asyncio.run(run(model, asked_as)) == "trust"


@pytest.mark.slow
def test_the_check_of_an_errand_sees_no_more_than_its_giver(
    repository: Path, tmp_path: Path, sandbox: None
) -> None:
    """It is the giver's own command, and what it prints goes back to the giver."""
    plant(repository)

    async def run() -> str:
        async with serve(["done"], "vllm") as server, begin(repository, Person(["yes"])) as task:
            return await hand_over(task, server, tmp_path / "replies.json", "rev .env; cat .env; false")

    text = asyncio.run(run())
    assert "did not" in text and SECRET not in text and SECRET[::-1] not in text


def test_no_check_of_an_errand_runs_unasked_without_a_sandbox(repository: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    async def run() -> str:
        async with (
            serve(["done"], "vllm") as server,
            begin(repository, Person(["yes"]), sandbox="off") as task,
        ):
            return await hand_over(task, server, tmp_path / "replies.json", f"touch {ran}")

    assert "No sandbox" in asyncio.run(run()) and not ran.exists()


def test_no_council_in_the_cloud_can_guess_at_a_secret(repository: Path, sandbox: None) -> None:
    """A yes or no to a command of its own would tell it one letter after the other."""
    plant(repository)
    guesses = (
        Objection("A", "x", command=f"grep -q API_TOKEN={SECRET[:2]} .env", ends="passes"),
        Objection("A", "x", place=".env:1", quote=f"API_TOKEN={SECRET[:6]}"),
    )

    async def run() -> list[str]:
        async with serve(["done"], "vllm") as server, begin(repository, Person(["yes"])) as task:
            terms, opened = Terms(task.project, task.run, task.session.id), await open_at(task, server)
            await terms.admit(opened)
            seen = terms.hide(task.run, opened)
            checked = [await check_objection(seen, guess) for guess in guesses]
            await opened.aclose()
            return [each.result for each in checked]

    assert "confirmed" not in asyncio.run(run())


def test_coaching_has_its_own_money_for_a_day(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.db")
    for number in range(2):
        log.append(f"c{number}", RunStarted("coach", "", "", "0", Options("coach")), ())
        log.append(f"c{number}", Called("cloud/x", "coach", 1, Usage(1, 1), usd=0.2), ())
    log.append("other", RunStarted("work", "", "", "0", Options("run")), ())
    log.append("other", Called("cloud/x", "work", 1, Usage(1, 1), usd=9.0), ())
    for most, task, left in ((0.5, None, 0.1), (0.5, 0.05, 0.05), (0.0, None, 0.0), (None, 2.0, 2.0)):
        chosen = Settings(max_task_usd=task, sections={"coach": CoachSettings(max_usd=most)})
        assert coaching_limits(chosen, log).max_task_usd == pytest.approx(left)


@pytest.mark.slow
def test_who_is_read_along_by_a_cloud_sees_no_more_than_it(repository: Path, sandbox: None) -> None:
    """The local member of a panel reads for all of them."""
    plant(repository)

    async def run() -> list[str]:
        async with serve(["done"], "vllm") as server, begin(repository, Person(["yes"])) as task:
            terms, far = Terms(task.project, task.run, task.session.id), await open_at(task, server)
            near = replace(far, facts=replace(far.facts, cloud=False))
            for each in (near, far):
                await terms.admit(each)
            read = next(tool for tool in standard_tools() if tool.name == "bash")
            texts = []
            for tools in (terms.show(near, (read,)), terms.show(near, (read,), far)):
                async with task.project.tree.trial() as trial:
                    result = await tools[0].fn({"command": "rev .env"}, task.run.inside(trial))
                texts.append(result.text)
            await far.aclose()
            return texts

    alone, with_a_cloud = asyncio.run(run())
    assert SECRET[::-1] in alone and SECRET[::-1] not in with_a_cloud
