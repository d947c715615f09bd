"""A llama-server of the person's as kith's engine: a program of this test that has its command line."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engines import SMALL, another_kith, heard, ignore, kill, provider
from kith.core.errors import ModelError
from kith.core.events import Event, Progress
from kith.core.model import Prompt
from kith.core.values import Reply, say
from kith.features.engine.home import EngineHome, EngineRecord, take
from kith.features.engine.model_files import OwnEngine
from kith.features.engine.options import EngineOptions
from kith.features.engine.running import open_engine, running_engines
from processes import only, record_of, wait_until_gone
from waiting import soon, until


@pytest.mark.slow
def test_it_is_called_with_the_flags(state: Path, program: Path) -> None:
    extra = ("--load-seconds", "0.3", "--new", "x")
    options = EngineOptions(4096, 12, "on", threads=3, cache_type_k="q8_0", extra=extra)
    events: list[Event] = []

    async def work() -> Reply:
        address = await open_engine(program, options, state, events.append, prefer="llama-server", idle_s=30)
        assert address.window == 4096
        return await provider(address)(Prompt("", (say("Say it."),)), ignore)

    assert asyncio.run(work()).message.text == "one two"
    *called, key = json.loads(program.with_suffix(".called").read_text())
    assert called[:5] == ["--model", str(program), "--host", "127.0.0.1", "--port"]
    assert "--offline" in called and "--sleep-idle-seconds" not in called  # its help knows only the one
    chosen = ["--ctx-size", "4096", "--parallel", "1", "--threads", "3", "--gpu-layers", "12"]
    assert called[-16:] == [*chosen, "--flash-attn", "on", "--cache-type-k", "q8_0", *extra]
    assert len(key.strip()) > 20 and key.strip() not in called
    assert any(isinstance(event, Progress) for event in events)


@pytest.mark.slow
def test_an_older_program_gets_no_flag_that_only_kith_chose(state: Path, program: Path) -> None:
    options = EngineOptions(4096, slots=2, swa_full=True, cache_ram=128, extra=("--new", "x"))
    asyncio.run(open_engine(program, options, state, ignore, prefer="llama-server", idle_s=30))
    called = json.loads(program.with_suffix(".called").read_text())
    assert called[called.index("--cache-ram") :][:2] == ["--cache-ram", "128"]
    assert called.count("--cache-ram") == 1 and "--swa-full" not in called
    assert called[called.index("--ctx-size") :][:4] == ["--ctx-size", "8192", "--parallel", "2"]
    assert called[-3:-1] == ["--new", "x"]


@pytest.mark.slow
def test_what_loads_for_nobody_ends(state: Path, program: Path) -> None:
    kith = another_kith(state, program, "llama-server", "--load-seconds", "60")
    heard(kith, "event")
    until(lambda: record_of(state).engine, "nothing was started")
    kill(kith)
    wait_until_gone(state)


@pytest.mark.slow
def test_giving_up_while_it_loads_ends_it(state: Path, program: Path) -> None:
    options = EngineOptions(2048, threads=1, extra=("--load-seconds", "600"))
    opening = open_engine(program, options, state, ignore, prefer="llama-server", idle_s=0.1)

    async def give_up() -> None:
        waiting = asyncio.ensure_future(opening)
        await soon(lambda: any(each.state == "loading" for each in running_engines(state)))
        waiting.cancel()
        await asyncio.wait([waiting], timeout=60)
        assert waiting.cancelled() and only(state).state == "loading"

    asyncio.run(give_up())
    wait_until_gone(state)


def test_a_flag_that_it_does_not_know_is_named(state: Path, program: Path) -> None:
    options = EngineOptions(2048, extra=("--load-seconds", "-1"))
    with pytest.raises(ModelError, match="does not know the flag --load-seconds"):
        asyncio.run(open_engine(program, options, state, ignore, prefer="llama-server"))
    wait_until_gone(state)


def test_nobody_else_can_read_its_key_and_it_has_no_secrets(
    state: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret-of-the-shell")
    monkeypatch.setenv("LLAMA_ARG_HOST", "0.0.0.0")
    asyncio.run(open_engine(program, SMALL, state, ignore, prefer="llama-server", idle_s=30))
    record, folder = record_of(state), only(state).home.folder
    for process in (record.keeper, record.engine):
        variables = Path(f"/proc/{process}/environ").read_text()
        assert "PATH=" in variables
        assert "secret-of-the-shell" not in variables and "LLAMA_ARG_HOST" not in variables
    assert {path.name for path in (folder, *folder.iterdir()) if path.stat().st_mode & 0o077} == set()


@pytest.mark.slow
def test_an_engine_with_a_wider_window_will_do(state: Path, program: Path) -> None:
    def options(window: int) -> EngineOptions:
        return EngineOptions(window, threads=1)

    async def window_of(window: int, *wider: int) -> int:
        others = [options(each) for each in wider]
        address = await open_engine(
            program, options(window), state, ignore, prefer="llama-server", idle_s=30, others=others
        )
        address.release()
        return address.window

    async def work() -> list[int]:
        return [
            await window_of(4096, 8192),  # none runs yet
            await window_of(2048, 8192, 4096),
            await window_of(8192),  # the idle one is not large enough, and goes
            await window_of(2048),
        ]

    assert asyncio.run(work()) == [4096, 4096, 8192, 2048]


def test_a_keeper_that_has_not_said_who_it_is_is_waited_for(state: Path) -> None:
    """Its record names process 0 until then: a signal to that would end everybody around."""
    home = EngineHome(state / "engines" / "young")
    home.make()
    home.write(EngineRecord("loading", "young", "/young.gguf"))
    lock = take(home.keeper)
    assert lock
    code = f"from kith.features.engine.running import *; stop_engines(Path({str(state)!r})); print('well')"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, text=True) as other:
        time.sleep(0.5)
        assert other.poll() is None
        lock.close()
        assert other.communicate(timeout=60)[0] == "well\n"


def test_a_folder_that_cannot_hold_an_engine_is_said(state: Path, program: Path) -> None:
    state.mkdir()
    (state / "engines").touch()
    with pytest.raises(ModelError, match=r"No engine can be kept in .*: Not a directory"):
        asyncio.run(open_engine(program, SMALL, state, ignore, prefer="llama-server"))


@pytest.mark.slow
def test_a_file_whose_engine_runs_is_asked_before_a_better_one(
    state: Path, program: Path, home: Path
) -> None:
    small, large = home / "models" / "small.gguf", home / "models" / "large.gguf"
    small.parent.mkdir()
    for path in (small, large):
        path.write_bytes(program.read_bytes())
    with large.open("ab") as file:
        file.write(bytes(1 << 20))
    own = OwnEngine(state, state / "cache", program="llama-server", idle_s=30)

    async def names() -> list[str]:
        before = await own.best()
        opened = await own.open("small", ignore)
        await opened.start(ignore)
        after = await own.best()
        await opened.close()
        return [before, after]

    assert asyncio.run(names()) == ["large", "small"]


@pytest.mark.slow
def test_a_split_file_keeps_its_name_though_it_is_a_link(state: Path, program: Path) -> None:
    """As in the cache of Hugging Face: by its name the engine finds the other parts."""
    parts = [program.with_name(f"big-0000{number}-of-00002.gguf") for number in (1, 2)]
    for part in parts:
        part.symlink_to(program)
    asyncio.run(open_engine(parts[0], SMALL, state, ignore, prefer="llama-server", idle_s=30))
    called = json.loads(parts[0].with_suffix(".called").read_text())
    assert called[called.index("--model") + 1] == str(parts[0])
