"""`/jobs`: a person sees background processes, reads, starts and stops them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from confined import find_abilities
from outside import Serve
from outside_fixtures import PRICES
from played_screen import Beside, Made, Seen, Stop, converse
from waiting import running

HELLO = {"calls": [{"name": "background", "args": {"command": "echo hello; sleep 97531"}}]}
STARTED = Seen("background  1 running")
END = {"text": "It is over."}


@pytest.fixture(autouse=True)
def offered(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := find_abilities().no_overlay:
        pytest.skip(reason)
    monkeypatch.setenv("KITH_BACKGROUND_TOOL", "true")


def shown(repository: Path, *said: str, replies: Sequence[Any] = (HELLO, END)) -> str:
    return converse(repository, said, replies)[0].text


def test_a_person_sees_reads_and_stops_what_the_model_started(repository: Path) -> None:
    tried = Made(repository.parent / "tried")
    listed = [STARTED, Seen("1 job"), Beside("/jobs"), Seen("\n1 running, ")]
    read = [Beside("/jobs 1"), Seen("\n  hello")]
    stopped = [Beside("/jobs stop 1"), Seen("\n1 stopped after ")]
    wrong = [Beside("/jobs 4"), Beside("/jobs x"), Beside("/jobs stop")]
    said = ["serve", *listed, *read, *stopped, *wrong, Seen("/jobs lists, /jobs N"), tried]
    text = shown(repository, *said, replies=[HELLO, {**END, "when": tried}])
    assert "There is no background process '4'" in text
    assert text.count("/jobs lists, /jobs N") == 2
    assert not running("sleep\00097531")


def test_a_person_starts_one_and_the_model_hears_of_it(repository: Path) -> None:
    started = Made(repository.parent / "started")
    replies = [
        {"calls": [{"name": "bash", "args": {"command": "echo begun"}}]},
        {"text": "", "calls": [{"name": "bash", "args": {"command": "true"}}], "when": started},
        {"expect": "in the background, as process 1: echo mine", "calls": [background(1)]},
        {"expect": "mine", "text": "I see it."},
    ]
    start = [Beside("/jobs start echo mine; exit 4"), Seen(": echo mine; exit 4"), started]
    text = shown(repository, "serve", Seen("begun"), *start, replies=replies)
    assert ": echo mine; exit 4" in text and "I see it." in text
    assert "Background process 1 ended, exit code 4, " in text


@pytest.mark.slow
def test_a_process_started_beside_a_cloud_model_reads_no_private_files(
    repository: Path, serve: Serve, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / ".gitignore").write_text(".env\n")
    (repository / ".env").write_text("DB_PASSWORD=hunter2-CANARY\n")
    commands = ("echo begun", "sleep 2", "sleep 1")
    busy = [{"calls": [{"name": "bash", "args": {"command": command}}]} for command in commands]
    server = serve([*busy, {"calls": [background(1)]}, "Looked."], "vllm")
    monkeypatch.delenv("OPENAI_BASE_URL")
    (config := home / ".config" / "kith").mkdir(parents=True)
    endpoint = f'[endpoints.far]\nkind = "vllm"\nurl = "{server.url}"\ncloud = true\n'
    (config / "config.toml").write_text(f'cloud = "allow"\n{endpoint}')
    (config / "prices.toml").write_text(PRICES)
    start = Beside("/jobs start cat .env; echo over")
    beside = [Seen("begun"), start, Seen("Hidden from it"), Seen("ended, exit code")]
    screen, _ = converse(repository, ["look", *beside], model="far/standin")
    assert "Hidden from it, since the model is in the cloud: .env" in screen.text
    sent = json.dumps(server.requests)
    assert "process 1 ended" in sent and "over" in sent and "CANARY" not in sent + screen.text


def background(number: int) -> dict[str, Any]:
    return {"name": "background", "args": {"id": number}}


def test_escape_ends_them(repository: Path) -> None:
    slow = {**END, "delay": 60}
    text = shown(repository, "serve", Stop("background  1 running"), replies=[HELLO, slow])
    assert "Stopped" in text and not running("sleep\00097531")


def test_without_a_task_there_is_nothing(repository: Path) -> None:
    assert "No task is at work, so nothing runs in the background." in shown(
        repository, "/jobs", replies=["-"]
    )
