"""`kith run` on a busy machine: its server answers late, and the task ends well all the same."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from outside import Kith, Serve, StandIn

OLD, NEW = "(len(numbers) + 1)", "max(len(numbers), 1)"
CHECK = "grep -q max.len utils.py"
LOOK = {"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}]}
EDIT = {"calls": [{"name": "edit", "args": {"path": "utils.py", "old": OLD, "new": NEW}}]}
DONE = {"calls": [{"name": "done", "args": {"summary": "Fixed."}}]}
CACHE_WORDS = ("cache", "another program", "loaded the model again", "processed again")


@contextmanager
def busy_cores() -> Iterator[None]:
    """Processes that do nothing but compute, two for each core."""
    spin = [sys.executable, "-c", "while True: pass"]
    spinning = [subprocess.Popen(spin) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def fix(kith: Kith, *words: str) -> str:
    """Fix `mean`, and check that it worked; what a person reads of it."""
    done = kith("run", "--yes", *words, "--check", CHECK, "fix mean")
    assert NEW in (kith.folder / "utils.py").read_text()
    warned = [line for line in done.stderr.splitlines() if line.startswith("  ! ")]
    assert not [line for line in warned if any(words in line for words in CACHE_WORDS)], done.stderr
    return done.stderr


@pytest.mark.slow
def test_a_slow_server_on_a_busy_machine_is_waited_for(kith: Kith, stand_in: StandIn) -> None:
    late: list[Any] = [{**reply, "delay": 2.0} for reply in (LOOK, EDIT, DONE)]
    stand_in(late, "llama-server", delay_looks=0.8, delay_first_byte=0.5)
    with busy_cores():
        fix(kith)


@pytest.mark.slow
def test_a_named_server_is_waited_for_before_anything_is_said(
    kith: Kith, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = stand_in([EDIT, DONE], "vllm", delay_looks=0.9)
    monkeypatch.delenv("KITH_MODEL")
    said = fix(kith)
    assert "Asking vllm/standin" in said and "No model was found" not in said
    assert f"Waiting for {server.url}: no answer for 5 s" not in said


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="nothing can be stopped here")
def test_a_server_that_gets_no_time_is_waited_for_and_said(
    kith: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its port is open and accepts, as the kernel does that; nothing answers for eight seconds."""
    server = serve([EDIT, DONE], "llama-server")
    monkeypatch.setenv("KITH_MODEL", "openai/standin")
    os.kill(server.pid, signal.SIGSTOP)
    threading.Timer(8, os.kill, (server.pid, signal.SIGCONT)).start()
    said = fix(kith)
    assert f"Waiting for {server.url}: no answer for 5 s (`stall`: at most 600 s)." in said
    assert "reading" not in said


@pytest.mark.slow
def test_nobody_at_a_named_address_is_said_at_once(kith: Kith, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITH_MODEL", "openai/standin")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    done = kith("run", "--yes", "--check", CHECK, "fix mean", code=75)
    assert done.stderr.splitlines()[-1] == (
        "kith: no model server answers at http://127.0.0.1:9; is it running?"
    ), done.stderr
