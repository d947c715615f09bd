"""The tool of background processes, and a whole task of a played model with two servers."""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from counting import count_tokens
from kith.core.events import Event
from kith.core.loop import check_args
from kith.core.run import Run
from kith.core.values import Answer, Question, ToolResult
from kith.core.workspace import ShellCommand, Workspace
from kith.features.background.events import JobEnded, JobStarted
from kith.features.background.tool import BACKGROUND
from kith.memory.log import LOG_FILE, Log
from kith.models.providers.messages import tool_rows
from kith.settings.features import features
from kith.tools.veiled import Veil, hide
from kith.trees.local import LocalTree, open_tree
from outside import Kith, Serve, StandIn
from outside_fixtures import PRICES
from waiting import running, until

SERVER = "python3 -u -m http.server 8123"
NODE = (
    'node -e \'require("http").createServer((q, r) => r.end("hello")).listen(3000, () => console.log("up"))\''
)
FETCH = "curl -s --retry 20 --retry-connrefused --retry-delay 0 -m 9"


@pytest.fixture
def tree(tmp_path: Path) -> LocalTree:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a").write_text("first")
    (tmp_path / "tree" / ".env").write_text("KEY=secret")
    tree = open_tree(tmp_path / "tree", tmp_path / "state", tmp_path / "cache")
    if not tree.hosts_jobs:
        pytest.skip("there are no overlays here")
    return tree


class Calls:
    """Calls of the tool in one trial, and the events that they gave."""

    def __init__(self, workspace: Workspace) -> None:
        self.events: list[Event] = []
        self.run = Run(lambda event, path: self.events.append(event), _nobody, workspace)

    async def __call__(self, **args: Any) -> ToolResult:
        checked, fault = check_args(args, BACKGROUND.schema)
        assert not fault
        return await BACKGROUND.fn(checked, self.run)


async def _nobody(question: Question) -> Answer:
    raise AssertionError("nobody is asked")


@asynccontextmanager
async def calls_in(tree: LocalTree) -> AsyncIterator[Calls]:
    async with tree.trial() as trial, trial.turn():
        yield Calls(trial)


def test_its_schema_costs_at_most_110_tokens() -> None:
    assert count_tokens("\n" + json.dumps(tool_rows((BACKGROUND,))[0])) <= 110


def test_starting_is_a_command_and_looking_is_none() -> None:
    for args, effect, target in (
        ({"command": "make serve"}, "exec", "make serve"),
        ({"id": 2}, "read", "2"),
        ({"id": 2, "stop": True}, "read", "stop 2"),
        ({}, "read", ""),
    ):
        assert (BACKGROUND.effect_for(args), BACKGROUND.target(args).text) == (effect, target)


def test_a_process_is_started_read_on_and_stopped(tree: LocalTree) -> None:
    async def main() -> list[Event]:
        async with calls_in(tree) as call:
            began = await call(command="echo one; sleep 0.5; echo two; sleep 60")
            assert began.ok and began.text.startswith("process 1 running, ") and began.text.endswith("\none")
            news = await call(id=1)
            assert news.text.startswith("process 1 running, ") and news.text.endswith("\ntwo")
            listed = await call()
            assert listed.text.startswith("1 running, ") and "echo one; sleep 0.5" in listed.text
            ended = await call(id=1, stop=True)
            assert ended.ok and ended.text.startswith("process 1 stopped after ")
            assert (await call(id=1)).text == ended.text
            return call.events

    started, end = asyncio.run(main())
    assert started == JobStarted(1, "echo one; sleep 0.5; echo two; sleep 60")
    assert isinstance(end, JobEnded) and (end.number, end.by) == (1, "asked")


def test_a_process_that_fails_at_once_is_told_with_its_output(tree: LocalTree) -> None:
    async def main() -> list[Event]:
        async with calls_in(tree) as call:
            failed = await call(command="echo no such port >&2; exit 3")
            assert not failed.ok
            assert failed.text.startswith("process 1 ended, exit code 3") and failed.text.endswith(
                "\nno such port"
            )
            return call.events

    end = asyncio.run(main())[-1]
    assert isinstance(end, JobEnded) and (end.code, end.by) == (3, "itself")


def test_a_flood_is_cut_and_counted(tree: LocalTree) -> None:
    async def main() -> None:
        async with calls_in(tree) as call:
            wait = "until [ -e {} ]; do sleep 0.01; done"
            flood = f"{wait.format('go')}; yes | head -c 5000000; echo end; touch gone; sleep 60"
            seen = [(await call(command=flood)).text]
            await call.run.workspace.exec(ShellCommand(f"touch go; {wait.format('gone')}"))
            while "\nend" not in seen[-1]:
                seen.append((await call(id=1)).text)
            assert "bytes of the output left out" in seen[1] and max(map(len, seen)) < 31_000

    asyncio.run(main())


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"id": 7}, "There is no process 7; there are: none."),
        ({"command": " "}, "The command is empty"),
        ({"command": "a\0b"}, "The command is empty"),
        ({"command": "true", "id": 1}, "Send either"),
    ],
)
def test_mistakes_are_answered_in_one_sentence(tree: LocalTree, args: dict[str, Any], words: str) -> None:
    async def main() -> None:
        async with calls_in(tree) as call:
            result = await call(**args)
            assert not result.ok and result.text.startswith(words) and "\n" not in result.text

    asyncio.run(main())


def test_outside_of_a_trial_nothing_is_started(tree: LocalTree) -> None:
    result = asyncio.run(Calls(tree)(command="true"))
    assert not result.ok and "no trial" in result.text


def test_files_that_are_hidden_from_a_model_are_hidden_from_its_processes(tree: LocalTree) -> None:
    async def main() -> None:
        async with tree.trial() as trial, trial.turn():
            call = Calls(hide(trial, Veil(masked=(".env",))))
            result = await call(command="cat .env a; ls -l .env")
            assert "secret" not in result.text and "first" in result.text

    asyncio.run(main())


# --- a whole task --------------------------------------------------------------------------------


def use(**args: Any) -> dict[str, Any]:
    return {"name": "background", "args": args}


def bash(command: str) -> dict[str, Any]:
    return {"name": "bash", "args": {"command": command}}


def events_of(home: Path, session: str) -> list[Event]:
    features()  # their events are known to the log
    log = Log(home / ".local" / "state" / "kith" / LOG_FILE)
    return [record.event for record in log.events(session)]


@pytest.mark.slow
def test_a_model_serves_fetches_reads_and_stops(
    kith: Kith, script: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_BACKGROUND_TOOL", "true")
    change = {"name": "write", "args": {"path": "page.txt", "content": "served\n"}}
    model = script(
        {"calls": [use(command=SERVER), use(command=NODE)]},
        {"calls": [change, bash(f"{FETCH} localhost:8123/page.txt localhost:3000")]},
        {"expect": "served\nhello", "calls": [use(id=1)]},
        {"expect": "GET /page.txt", "calls": [use(id=2, stop=True), use()]},
        {"expect": "1 running", "calls": [{"name": "done", "args": {"summary": "Served."}}]},
    )
    report = kith.run(
        "--yes", "-m", model, "--check", "curl -s -m 5 localhost:8123; test -f page.txt", "serve"
    )
    assert (report["status"], report["text"]) == ("done", "Served.")
    assert (kith.folder / "page.txt").read_text() == "served\n"
    events = events_of(home, report["session"])
    ends = [(each.number, each.by) for each in events if isinstance(each, JobEnded)]
    assert ends == [(2, "asked"), (1, "turn")]
    assert not running("http.server\08123")


def test_without_the_setting_the_model_has_no_such_tool(kith: Kith, script: Any) -> None:
    model = script({"calls": [use()]}, {"expect": "There is no tool 'background'", "text": "None."})
    assert kith.run("-m", model, "--check", "none", "serve")["text"] == "None."


def test_a_cloud_models_processes_read_no_secrets(
    kith: Kith, serve: Serve, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kith.folder / ".gitignore").write_text(".env\n")
    (kith.folder / ".env").write_text("DB_PASSWORD=hunter2-CANARY\n")
    encoded = base64.b64encode((kith.folder / ".env").read_bytes()).decode()
    server = serve([{"calls": [use(command="base64 .env; echo seen")]}, "Looked."], "vllm")
    monkeypatch.delenv("OPENAI_BASE_URL")
    (config := home / ".config" / "kith").mkdir(parents=True)
    endpoint = f'[endpoints.far]\nkind = "vllm"\nurl = "{server.url}"\ncloud = true\n'
    (config / "config.toml").write_text(f'cloud = "allow"\n[background]\ntool = true\n{endpoint}')
    (config / "prices.toml").write_text(PRICES)
    kith.run("-m", "far/standin", "--check", "none", "look")
    sent = json.dumps(server.requests)
    assert "process 1 ended" in sent and "seen" in sent and encoded not in sent


@pytest.mark.slow
def test_nothing_is_left_of_a_task_that_is_killed(
    kith: Kith, script: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_BACKGROUND_TOOL", "true")
    seconds = str(8_000_000 + os.getpid())
    model = script(
        {"calls": [use(command=f"setsid sleep {seconds} & sleep {seconds}"), bash(f"sleep {seconds}")]}
    )
    words = [sys.executable, "-m", "kith", "run", "--yes", "-m", model, "--check", "none", "serve"]
    with subprocess.Popen(
        words, cwd=kith.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        until(lambda: len(running(f"sleep\0{seconds}")) >= 3)
        process.send_signal(signal.SIGKILL)
    until(lambda: not running(seconds), "processes are left")


def test_where_no_trial_can_hold_one_the_person_is_told(
    kith: Kith, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_BACKGROUND_TOOL", "true")
    monkeypatch.setenv("KITH_SANDBOX", "off")
    server = stand_in(["Hello."])
    said = kith("run", "say hello").stderr
    assert "no trials on an overlay" in " ".join(said.split())
    assert "background" not in [each["function"]["name"] for each in server.requests[0].body["tools"]]
