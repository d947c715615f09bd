"""A model in the cloud gets what the person agreed to, and never a secret, whatever it tries."""

import asyncio
import random
import re
import string
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kith.agent.asking.roles import find_role
from kith.agent.asking.terms import Terms, budget_of
from kith.agent.project import Project
from kith.agent.roles import make_role
from kith.core.errors import LimitError, NoModelError
from kith.core.events import Called, Event, Notice
from kith.core.loop import converse
from kith.core.model import Prompt
from kith.core.run import Run, Thread
from kith.core.values import Answer, Question, Sampling, Usage, say
from kith.features.clouds.anthropic import Anthropic, anthropic_endpoint
from kith.features.demo.standin import Server, serve
from kith.memory.permits import agreed
from kith.memory.queries import paid_today, usual_cost
from kith.memory.session import Session
from kith.models.account import Account
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.stack import look
from kith.models.wrappers.gate import RejectedError
from kith.tools import standard_tools
from sparing import first

RANDOM = random.Random(3)
WORDS = string.ascii_letters + string.digits
PIECE = 16  # characters of a secret that nobody may see in a row


def new_secret(length: int = 32) -> str:
    while True:
        value = "".join(RANDOM.choices(WORDS, k=length))
        if sum(map(str.isdigit, value)) > 2:
            return value


@dataclass
class Person:
    """Answers each question with the next of the choices, and remembers what was asked."""

    choices: list[str] = field(default_factory=list)
    away: bool = False
    asked: list[Question] = field(default_factory=list)

    async def __call__(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(self.choices.pop(0) if self.choices else "no", unasked=self.away)


@dataclass
class Task:
    """What a task in the cloud needs: the project, its run, and what was told."""

    project: Project
    run: Run
    session: Session
    told: list[Event]


@asynccontextmanager
async def begin(root: Path, person: Person, **flags: Any) -> AsyncIterator[Task]:
    project, told = Project.open(root, flags), list[Event]()
    name = f"s{len(project.sessions())}"
    with Session(project.log, name) as session:
        session.listeners.append(lambda event, path: told.append(event))
        run = project.begin(session, person)
        run.emit(project.started("a task", {}))
        yield Task(project, run, session, told)


def per_token(model: str, usage: Usage) -> float:
    return (usage.input + 5 * usage.output) / 1_000_000


def provider_at(server: Server, dialect: str) -> Any:
    if dialect == "anthropic":
        return Anthropic("standin", anthropic_endpoint(server.url, "key-of-mine", cloud=True))
    return OpenAILike("standin", Endpoint(server.url, cloud=True), "vllm")


async def work(task: Task, server: Server, dialect: str = "vllm", words: str = "do it") -> list[bytes]:
    """One conversation with tools in a trial; returns what the server got."""
    log = task.project.log
    opened = await look(provider_at(server, dialect), log.card, 0, task.run.emit, per_token)
    opened = replace(opened, asked_as=opened.facts.name)
    terms = Terms(task.project, task.run, task.session.id)
    try:
        await terms.admit(opened)
        tools = terms.show(opened, standard_tools())
        role = make_role(find_role("worker"), terms.wrap(opened), tools, Sampling())
        async with task.project.tree.trial() as trial:
            thread = Thread("task")
            thread.add(task.run, say(words))
            await converse(task.run.inside(trial), role, thread)
    finally:
        await opened.aclose()
    return [request.raw for request in server.requests]


def visit(
    root: Path,
    replies: Sequence[Any],
    person: Person,
    dialect: str = "vllm",
    words: str = "do it",
    **flags: Any,
) -> tuple[list[bytes], Task]:
    async def run() -> tuple[list[bytes], Task]:
        async with serve(replies, dialect, window=200_000) as server, begin(root, person, **flags) as task:  # type: ignore[arg-type]
            try:
                return await work(task, server, dialect, words), task
            except BaseException:
                assert all(b"do it" not in request.raw for request in server.requests)
                raise

    return asyncio.run(run())


# --- consent ---------------------------------------------------------------------------------


def test_the_person_is_asked_once_with_what_would_be_sent(repository: Path) -> None:
    person = Person(["yes"])
    replies = [{"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}]}, "done"]
    sent, task = visit(repository, replies, person)
    assert len(sent) == 2 and len(person.asked) == 1
    (question,) = person.asked
    assert question.kind == "trust" and question.choices == ("yes", "no", "always")
    said = (
        r"Ask vllm/standin at http://127\.0\.0\.1:\d+ for this task\? It gets 1 message, about [\d,]+ tokens"
        r"; the first call costs \$0\.0\d+ to \$[\d.]+\."
    )
    assert re.fullmatch(said, question.text)
    assert all(call.usd for call in task.told if isinstance(call, Called))


def test_what_files_are_in_it_is_said(repository: Path) -> None:
    person = Person(["yes"])
    shown = "utils.py\n```\ndef mean\n```\nb.py, lines 2-2, 4 of 9\ndefines b 2-2\n````\n```\nx\n````"
    words = f"# The project\nx\n\n# Parts of it that may matter\n{shown}\n\n# Task\ndo it\n```\nz\n```"
    visit(repository, ["done"], person, words=words)
    assert "with the contents of utils.py, b.py; the first" in person.asked[0].text


def test_a_no_sends_nothing_and_nobody_there_is_said_so(repository: Path) -> None:
    with pytest.raises(RejectedError, match=r"Nothing was sent to vllm/standin\.") as no:
        visit(repository, ["done"], Person(["no"]))
    assert no.value.code == 3
    with pytest.raises(NoModelError):
        visit(repository, ["done"], Person(["no"], away=True))


def test_never_means_never_and_allow_tells(repository: Path) -> None:
    with pytest.raises(NoModelError, match='"never"'):
        visit(repository, ["done"], Person(["yes"]), cloud="never", model="vllm/standin")
    with pytest.raises(NoModelError, match="--offline"):
        visit(repository, ["done"], Person(["yes"]), offline=True, model="vllm/standin")
    person = Person()
    _, task = visit(repository, ["done"], person, cloud="allow")
    assert not person.asked
    assert any("vllm/standin at" in event.text for event in task.told if isinstance(event, Notice))


def test_the_model_named_on_the_command_line_is_asked_about_like_a_plan(repository: Path) -> None:
    """So that --yes, which agrees to plans and changes, agrees to it; and to no other model."""
    for model, kind in (("vllm/standin", "plan"), ("vllm/other", "trust")):
        person = Person(["yes"])
        visit(repository, ["done"], person, model=model)
        assert person.asked[0].kind == kind


def test_always_holds_for_the_project_and_can_be_seen(repository: Path, tmp_path: Path) -> None:
    async def run() -> None:
        async with serve(["done"] * 4, "vllm") as server:
            for person, asked in ((Person(["always"]), 1), (Person(), 0)):
                async with begin(repository, person) as task:
                    await work(task, server)
                assert len(person.asked) == asked
            (consent,) = agreed(task.project.log, repository)
            assert (consent.model, consent.group, consent.server) == ("vllm/standin", "work", server.url)
            elsewhere = tmp_path / "elsewhere"
            elsewhere.mkdir()
            async with begin(elsewhere, person := Person(["yes"])) as task:
                await work(task, server)
            assert len(person.asked) == 1 and not agreed(task.project.log, elsewhere)

    asyncio.run(run())


def test_without_a_permit_no_door_opens(repository: Path) -> None:
    """Neither a call, nor counting, nor warming up."""

    async def run() -> None:
        async with serve(["done"], "llama-server") as server, begin(repository, Person()) as task:
            provider = OpenAILike("standin", Endpoint(server.url, cloud=True), "llama-server")
            opened = await look(provider, task.project.log.card, 0, task.run.emit)
            looked, prompt = len(server.visits), Prompt("", (say("do it"),))
            for model in (opened.metered(), opened.wrap(Account(budget_of(task.project.settings)))):
                with pytest.raises(NoModelError, match="agreed"):
                    await model(prompt, task.run.emit)
            assert await opened.count(prompt) > 0
            await opened.provider.warm(prompt)
            await opened.aclose()
            assert not server.requests and len(server.visits) == looked

    asyncio.run(run())


# --- money -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_was_paid_is_counted_over_sessions(repository: Path) -> None:
    _, first = visit(repository, ["done"], Person(["yes"]))
    _, second = visit(repository, ["done"], Person(["yes"]))
    log = second.project.log
    paid = [event.usd or 0.0 for task in (first, second) for event in task.told if isinstance(event, Called)]
    assert len(paid) == 2 and paid_today(log) == pytest.approx(sum(paid))
    assert log.paid_in(first.session.id) == pytest.approx(paid[0])
    usual = usual_cost(log, "vllm/standin")
    assert usual and usual.sessions == 2 and usual_cost(log, "ollama/x") is None
    with pytest.raises(LimitError, match="max_day_usd"):
        visit(repository, ["done"], Person(["yes"]), max_day_usd=0.02 + sum(paid))


# --- secrets ---------------------------------------------------------------------------------

BASH = (
    "cat .env",
    "cat .e* config/*.yaml private/*",
    "grep -rn . --include='*env*' --include='*.yaml' .",
    "sed -n 1,9p config/secrets.yaml; tail -c 20 .env",
    "python3 -c 'print(open(\".env\").read()[::-1])'",
    "base64 .env; xxd .env; rev .env; tac config/secrets.yaml",
    "cp .env a; cat a; ln -s .env b; cat b; ln .env c; cat c; mv .env d; cat d",
    "find . -name '*env*' -exec cat {} +",
    "tar cf - .env config | cat",
    "git --no-pager diff --no-index /dev/null .env; git show HEAD:deploy.env; git log -p -- deploy.env",
    "cat deploy.env; cut -c1-40 deploy.env; cat remote; cat .git/config",
    "cat local_settings.py; python3 -c 'import local_settings as s; print(s.API_TOKEN[:20])'",
    "python3 -c 'import local_settings as s; assert s.API_TOKEN == 5, s.API_TOKEN[:24]'",
    "env; cat /proc/self/environ /proc/1/environ; cat ~/.netrc",
    "sh show_key.sh",
)
READ = (
    [".env"],
    ["./config/../.env", "config/secrets.yaml", "private/id_rsa"],
    ["deploy.env", "local_settings.py", "link", "b"],
    [".git/config"],
)
OTHERS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("search", {"pattern": "[A-Za-z0-9]{12,}"}),
    ("search", {"pattern": ".", "path": ".env"}),
    ("search", {"pattern": "TOKEN", "path": "config"}),
    ("list", {}),
    ("edit", {"path": ".env", "old": "A", "new": "B"}),
    ("edit", {"path": "deploy.env", "old": "DEPLOY", "new": "X"}),
    ("write", {"path": ".env", "content": "x"}),
    ("git", {"action": "show", "revision": "HEAD"}),
    ("git", {"action": "diff"}),
)


def plant(root: Path) -> dict[str, str]:
    """Secrets where people have them; returns them by place."""
    places = ("env", "yaml", "key", "deploy", "local", "environment", "remote", "url", "former")
    secrets = {place: new_secret(RANDOM.randint(20, 48)) for place in places}
    key = [new_secret(64) for _ in range(3)]
    for folder in ("config", "private"):
        (root / folder).mkdir(exist_ok=True)
    (root / ".env").write_text(f"export API_TOKEN='{secrets['env']}'\nURL=pg://me:{secrets['url']}@h/x\n")
    (root / "config/secrets.yaml").write_text(f"db:\n  token: {secrets['yaml']}\n")
    (root / "private/id_rsa").write_text("\n".join(["-----BEGIN RSA PRIVATE KEY-----", *key, ""]))
    (root / "local_settings.py").write_text(f"API_TOKEN = '{secrets['local']}'\n")
    (root / "deploy.env").write_text(f"DEPLOY_PASSWORD={secrets['former']}\n")  # in the repository, alas
    subprocess.run(["git", "add", "deploy.env"], cwd=root, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "Deploy"], cwd=root, check=True)
    (root / "deploy.env").write_text(f"DEPLOY_PASSWORD={secrets['deploy']}\n")
    (root / "link").symlink_to("deploy.env")
    github = "".join(RANDOM.choices(WORDS, k=36))
    (root / "show_key.sh").write_text(f"printf '%s%s\\n' ghp_ {github[:18]}{github[18:]}\n")
    with (root / ".gitignore").open("a") as ignore:
        ignore.write(".env\nconfig/secrets.yaml\nprivate/\nlocal_settings.py\n")
    for command in (
        ["add", "."],
        ["commit", "-q", "-m", "Another password"],
        ["remote", "add", "origin", f"https://me:{secrets['remote']}@example.org/x.git"],
    ):
        subprocess.run(["git", *command], cwd=root, check=True)
    return secrets | {f"line {n}": line for n, line in enumerate(key)} | {"form": f"ghp_{github}"}


@pytest.mark.parametrize("dialect", first(["anthropic", "vllm"]))
def test_no_secret_reaches_the_server_whatever_the_model_tries(
    repository: Path, sandbox: None, monkeypatch: pytest.MonkeyPatch, dialect: str
) -> None:
    tries = [("bash", {"command": line}) for line in BASH] + [("read", {"paths": each}) for each in READ]
    secrets = plant(repository)
    monkeypatch.setenv("DEPLOY_API_KEY", secrets["environment"])
    (repository / "remote").write_text(f"key of mine: {secrets['environment']}\n")
    chosen = [*tries, *OTHERS]
    RANDOM.shuffle(chosen)
    replies = [{"calls": [{"name": name, "args": args}]} for name, args in chosen]
    words = f"do it with {secrets['env']}"  # the person's own words, too
    sent, task = visit(
        repository, [*replies, "done"], Person(["yes"]), dialect, words, max_steps=len(chosen) + 1
    )
    assert len(sent) == len(chosen) + 1
    got = b"\n".join(sent).decode("utf-8", "replace")
    for place, secret in secrets.items():
        pieces = {secret[at : at + PIECE] for at in range(len(secret) - PIECE + 1)}
        seen = [piece for piece in pieces if piece in got or piece[::-1] in got]
        # The key that a command puts together is known as a whole; its parts stand in a plain file.
        assert not seen or (place == "form" and secret not in got), f"{place}: {seen[0]}"
    told = [event.text for event in task.told if isinstance(event, Notice)]
    assert sum("removed" in text for text in told) == 1
    for before, after in pairwise(sent) if dialect == "vllm" else ():
        assert after.startswith(before.rpartition(b"]")[0])  # what was sent once is sent again


def test_local_models_see_what_they_always_saw(repository: Path, sandbox: None) -> None:
    plant(repository)

    async def run() -> str:
        async with begin(repository, Person()) as task, task.project.tree.trial() as trial:
            bash = next(tool for tool in standard_tools() if tool.name == "bash")
            return (await bash.fn({"command": "cat .env"}, replace(task.run, workspace=trial))).text

    assert "API_TOKEN" in asyncio.run(run())
