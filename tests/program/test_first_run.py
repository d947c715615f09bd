"""kith on a machine with nothing but a model file: its own engine, from the first run to the last process."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kith.core.errors import NoModelError
from kith.core.events import Called
from kith.features.engine.processes import find_engine
from kith.features.engine.running import running_engines, stop_engines
from kith.memory.log import Log
from kith.models.providers.wire import Endpoint
from outside import Kith
from places import SUPPORT
from processes import processes_of, record_of, wait_until_gone
from tmux_screen import KITH, Screen, no_terminal_is_left  # noqa: F401
from waiting import until

pytestmark = pytest.mark.slow

PROGRAM = SUPPORT / "llama_server.py"
LONG = "".join(f"value_{number} = compute({number})\n" for number in range(400))
STOP = "with"  # the tiny model says noise, and this every twenty words
USUAL_PORTS = (11434, 8080, 1234, 8000)


@pytest.fixture
def state(home: Path, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """kith's state on a machine with one model file; afterwards nothing may be left running."""
    monkeypatch.setenv("KITH_SAMPLING_STOP", STOP)
    monkeypatch.setenv("KITH_MODEL", "file/tiny")  # a developer may have a model server
    try:
        find_engine("xllamacpp")
    except NoModelError as error:
        pytest.skip(str(error))
    (home / "models").mkdir()
    shutil.copy(tiny_gguf, home / "models" / "tiny.gguf")
    folder = home / ".local" / "state" / "kith"
    yield folder
    stop_engines(folder)
    wait_until_gone(folder)


def calls_of(state: Path, session: str) -> list[Called]:
    records = Log(state / "log.sqlite3").events(session)
    return [record.event for record in records if isinstance(record.event, Called)]


@pytest.fixture
def no_server(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens where model servers usually do, and no model is named."""
    monkeypatch.delenv("KITH_MODEL")
    for port in USUAL_PORTS:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                pytest.skip(f"a server listens on port {port}")


@pytest.mark.usefixtures("no_server")
def test_a_file_is_enough(kith: Kith, state: Path) -> None:
    done = kith("run", "what is a mean?")
    assert done.stdout.strip() and "kith's own engine runs file/tiny" in done.stderr
    assert [engine.name for engine in running_engines(state)] == ["tiny"]


def test_a_second_run_finds_the_engine_and_its_cache(kith: Kith, state: Path) -> None:
    first = kith.run("what is a mean?")
    assert (first["status"], first["model"]) == ("done", "file/tiny")
    assert first["usage"]["output"] > 0 and first["usage"]["cached"] == 0
    engine = record_of(state).engine
    second = kith.run("what is a mean?")
    assert record_of(state).engine == engine and len(processes_of(state)) == 2
    assert second["usage"]["cached"] > 0.95 * first["usage"]["input"] > 0


def test_nothing_is_left_of_an_idle_engine(kith: Kith, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITH_ENGINE_IDLE", "1")
    assert kith("run", "what is a mean?").stdout
    wait_until_gone(state)
    assert "No engine of kith's runs." in kith("engine").stderr


def test_every_command_knows_the_engine_inside(kith: Kith, state: Path) -> None:
    assert "file/tiny" in kith("models").stdout
    assert "file/tiny" in kith("doctor").stdout and not processes_of(state)
    explained = json.loads(kith("run", "--explain-prompt", "--output-format", "json", "fix mean").stdout)
    assert (explained["model"], explained["window"], explained["exact"]) == ("file/tiny", 32_768, True)
    assert {cost["part"] for cost in explained["costs"]} >= {"tool read", "project layout", "task"}
    assert kith("engine").stdout.startswith("file/tiny  ready, idle  window 32,768")
    probed = json.loads(kith("models", "probe", "--json").stdout)
    assert probed["model"] == "file/tiny" and probed["probe"]["speeds"][0]["by"] == "server"
    rows = {row["name"]: row for row in json.loads(kith("models", "--json").stdout)}
    assert rows["file/tiny"]["read_rate"] > 0
    assert kith("engine", "stop").stdout == "Stopped 1 engine.\n"
    assert not processes_of(state)


def test_a_measured_model_runs_as_it_was_measured(kith: Kith, state: Path) -> None:
    done = kith("engine", "tune", "file/tiny", "--rounds", "1", "--threads", "1")
    assert "file/tiny, measured" in done.stdout and "ngram-mod" in done.stdout
    assert not processes_of(state)
    file = state / "engine-tuning.json"
    kept = json.loads(file.read_text())
    plain, way = (each for each in kept["tunings"][0]["ways"] if each["name"] in ("plain", "ngram-mod"))
    kept["tunings"][0]["ways"] = [plain, way]
    for speed in way["speeds"]:
        speed |= {"ratio": 1.5, "read": 1.0, "same": True, "loops": False}
    file.write_text(json.dumps(kept))
    assert "speculation         ngram-mod" in kith("engine").stdout
    kith("run", "--engine-arg=--no-warmup", "what is a mean?")
    words = Path(f"/proc/{record_of(state).engine}/cmdline").read_text().split("\0")
    assert words[words.index("--spec-type") + 1] == "ngram-mod"
    kith("engine", "stop")
    kith("run", "--engine-arg=--spec-type", "--engine-arg=none", "what is a mean?")
    words = Path(f"/proc/{record_of(state).engine}/cmdline").read_text().split("\0")
    assert words.count("--spec-type") == 1 and words[words.index("--spec-type") + 1] == "none"


def listen(folder: Path, *words: str, input: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kith", "run", "--output-format", "stream-json", *words]
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin
    process.stdin.write(input)
    process.stdin.close()
    process.stdin = None
    return process


def heard(process: subprocess.Popen[str], event: str, **fields: Any) -> dict[str, Any]:
    """The next event of that kind for which each field is what is asked, or passes its test."""
    assert process.stdout
    for line in process.stdout:
        told: dict[str, Any] = json.loads(line)
        if told["event"] == event and all(test(told[name]) for name, test in fields.items()):
            return told
    raise AssertionError(f"never heard {event}: {process.stderr and process.stderr.read()}")


def test_an_engine_killed_in_mid_reply_is_started_again(
    kith: Kith, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_SAMPLING_TEMPERATURE", "0")  # it repeats itself, so the reply is long
    monkeypatch.delenv("KITH_SAMPLING_STOP")
    process = listen(kith.folder, "what is a mean?")
    heard(process, "Delta")
    os.kill(record_of(state).engine, signal.SIGKILL)
    rest, words = process.communicate(timeout=60)
    events = [json.loads(line) for line in rest.splitlines()]
    assert process.returncode == 0 and not words and events[-1]["status"] == "done"
    warnings = [event["text"] for event in events if event.get("level") == "warning"]
    # A model of random weights may be stopped for repeating itself, too, which is said first.
    assert [each for each in warnings if "SIGKILL" in each and each.endswith("it was started again.")]
    (session,) = json.loads(kith("sessions", "--json").stdout)
    assert session["status"] == "done" and calls_of(state, session["id"])[-1].usage.output > 0


def test_ctrl_c_while_a_prompt_is_read(kith: Kith, state: Path) -> None:
    process = listen(kith.folder, "--read-only", "what is this?", input=LONG)
    heard(process, "Progress", what=lambda words: words.startswith("reading"), done=lambda done: done > 0)
    assert is_busy(state)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=60)
    assert process.returncode == 130
    assert words == "kith: interrupted\n"
    until(lambda: not is_busy(state), "the slot is still taken")
    (session,) = json.loads(kith("sessions", "--json").stdout)
    assert session["status"] == "interrupted"
    assert kith.run("--resume", session["id"])["status"] == "done"


def is_busy(state: Path) -> bool:
    record = record_of(state)
    (slot,) = asyncio.run(Endpoint(record.url, record.key).get("/slots"))
    return bool(slot["is_processing"])


def test_two_at_once_share_one_engine(kith: Kith, state: Path) -> None:
    runs = [listen(kith.folder, f"what is a mean? {number}") for number in range(2)]
    for run in runs:
        rest, words = run.communicate(timeout=60)
        assert run.returncode == 0, words
        assert json.loads(rest.splitlines()[-1])["status"] == "done"
    assert len(processes_of(state)) == 2


def test_a_conversation_is_warmed_up(repository: Path, state: Path) -> None:
    screen = Screen(repository, f"KITH_SAMPLING_STOP={STOP} {KITH} -m file/tiny")
    shown = screen.wait("Ctrl-D leaves").partition("Ctrl-D leaves")[0]
    until(lambda: "stop processing" in log_of(state), "it was not warmed up")
    until(lambda: "file/tiny" in screen.text, "the status does not say who is asked")
    before, _, after = screen.text.partition("Ctrl-D leaves")
    assert before == shown and after.split()[1] == ">", "something was said that nobody asked for"
    screen.press("what is a mean?", "Enter")
    log = Log(state / "log.sqlite3")
    until(lambda: bool(log.session_ids()), "no session began")
    (session,) = log.session_ids()
    # A model of noise may write what the engine cannot read as a reply; of such a call it counts no tokens.
    until(lambda: any(each.usage.input for each in calls_of(state, session)), "no answer came")
    assert next(each for each in calls_of(state, session) if each.usage.input).usage.cached > 500
    screen.press("C-d")
    screen.wait("exit 0")


def log_of(state: Path) -> str:
    return "".join(path.read_text(errors="replace") for path in state.glob("engines/*/log"))


def test_who_leaves_does_not_wait_for_the_warm_up(repository: Path, state: Path, tmp_path: Path) -> None:
    binary = tmp_path / "llama-server"
    binary.write_text(f"#!{sys.executable}\n{PROGRAM.read_text()}")
    binary.chmod(0o755)
    variables = f"PATH={tmp_path}:$PATH KITH_ENGINE_PROGRAM=llama-server KITH_ENGINE_IDLE=1"
    screen = Screen(
        repository, f"{variables} {KITH} -m file/tiny --engine-arg=--load-seconds --engine-arg=600"
    )
    screen.wait("/help lists commands")
    until(lambda: len(processes_of(state)) == 2, "nothing is being warmed up")
    screen.press("C-d")
    screen.wait("exit 0")
    wait_until_gone(state)
