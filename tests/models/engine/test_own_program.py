"""A llama-server of the person's as kith's engine: a program of this test that has its command line."""

import asyncio
import json
from pathlib import Path

import pytest
from engines import (
    SMALL,
    another_kith,
    heard,
    ignore,
    kill,
    only,
    provider,
    record_of,
    wait_for,
    wait_until_gone,
)

from kith.core.errors import ModelError
from kith.core.events import Event, Progress
from kith.core.model import Prompt
from kith.core.values import Reply, say
from kith.models.engine.options import EngineOptions
from kith.models.engine.share import open_engine


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


def test_what_loads_for_nobody_ends(state: Path, program: Path) -> None:
    kith = another_kith(state, program, "llama-server", "--load-seconds", "60")
    heard(kith, "event")
    wait_for(lambda: record_of(state).engine, "nothing was started")
    kill(kith)
    wait_until_gone(state)


def test_giving_up_while_it_loads_ends_it(state: Path, program: Path) -> None:
    options = EngineOptions(2048, threads=1, extra=("--load-seconds", "60"))
    waiting = open_engine(program, options, state, ignore, prefer="llama-server", idle_s=0.1)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(waiting, 1.0)
        assert only(state).state == "loading"

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
