"""A look at the processes that kith's own engine leaves on this machine."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kith.features.engine.home import EngineRecord
from kith.features.engine.running import RunningEngine, running_engines

WAIT_S = 10.0


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


def only(state: Path) -> RunningEngine:
    (engine,) = running_engines(state)
    return engine


def record_of(state: Path) -> EngineRecord:
    """What the keeper of the only engine wrote last."""
    record = only(state).home.read()
    assert record
    return record
