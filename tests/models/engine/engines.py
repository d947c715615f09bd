"""What the tests of kith's own engine share: other kiths, and a look at the processes of this machine."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kith.core.events import Event
from kith.models.engine.home import Record
from kith.models.engine.listing import RunningEngine, running_engines
from kith.models.engine.options import EngineOptions
from kith.models.engine.share import EngineAddress
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint

HELP = Path(__file__).parents[2] / "engine"
SMALL = EngineOptions(window=2048, threads=1, extra=("--no-warmup", "--cache-ram", "64"))
WAIT_S = 10.0

Kith = subprocess.Popen[str]


def wait_for(done: Callable[[], Any], what: str) -> None:
    """Wait until it is so; fail, saying `what`, when it does not come."""
    until = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < until, what
        time.sleep(0.02)


def processes_of(state: Path) -> list[int]:
    """Every process that was called with a path in this state folder."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes()
        except OSError:  # it ended meanwhile
            continue
        if os.fsencode(state) in words:
            found.append(int(file.parent.name))
    return found


def wait_until_gone(state: Path) -> None:
    """Nothing runs any more, and nothing lies about."""
    homes = state / "engines"
    wait_for(lambda: not [path for path in homes.glob("*") if path.is_dir()], "its files stayed")
    wait_for(lambda: not processes_of(state), "its processes stayed")


def names_of(state: Path) -> list[str]:
    return sorted(engine.name for engine in running_engines(state))


def only(state: Path) -> RunningEngine:
    (engine,) = running_engines(state)
    return engine


def record_of(state: Path) -> Record:
    """What the keeper of the only engine wrote last."""
    record = only(state).home.read()
    assert record
    return record


def provider(address: EngineAddress, **fields: Any) -> OpenAILike:
    return OpenAILike("tiny", Endpoint(address.url, address.key), "llama-server", fields)


def another_kith(state: Path, model: Path, prefer: str, *flags: str) -> Kith:
    """Another process that opens the engine and holds on to it."""
    command = [sys.executable, str(HELP / "holder.py"), str(model), str(state), prefer, *flags]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def heard(kith: Kith, word: str) -> str:
    """The next line that it begins with a word."""
    assert kith.stdout
    return next(line for line in kith.stdout if line.startswith(word))


def kill(kith: Kith) -> None:
    """SIGKILL: it gets no chance to tidy up."""
    with kith:
        kith.kill()


def ignore(event: Event) -> None:
    """Nobody listens."""
