"""The engines that run, and how to end them."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kith.core.errors import BusyError
from kith.features.engine.home import Home, all_homes
from kith.features.engine.locks import take
from kith.features.engine.processes import end, lives, resident_bytes

_STOP_S, _KILL_S = 10.0, 15.0  # when to stop asking politely, and when to give up
_PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class RunningEngine:
    """One engine that runs. `memory` in bytes (0 where the system does not say), `since` in seconds of 1970.

    `state` is "loading", "ready" or "failed"; `used` says whether a kith holds on to it.
    """

    name: str
    model: Path
    state: str
    used: bool
    url: str
    window: int
    memory: int
    since: float
    crashes: int
    home: Home


def running_engines(state: Path) -> list[RunningEngine]:
    """Every engine of this user that runs or is being loaded."""
    return [
        RunningEngine(
            record.name,
            Path(record.model),
            record.state,
            home.wanted,
            record.url,
            record.window,
            resident_bytes(record.engine),
            record.since,
            record.crashes,
            home,
        )
        for home in all_homes(state)
        if (record := home.read()) is not None and home.kept
    ]


def stop_engines(state: Path) -> int:
    """End every engine of this user; how many there were.

    An engine in use is ended too: the kith that uses it starts it again when it next needs it.
    """
    found = running_engines(state)
    for engine in found:
        _stop(engine.home)
    return len(found)


def stop_if_idle(home: Home) -> str:
    """End an engine that nobody uses and clear away what is left of a dead one; the name of one that ran."""
    lease = take(home.lease)
    if lease is None:
        return ""
    try:  # meanwhile nobody can begin to use it
        record = home.read()
        return record.name if _stop(home) and record else ""
    finally:
        lease.close()


def _stop(home: Home) -> bool:
    """End an engine by its keeper; True if there was one. What is left of a dead one is cleared away.

    A keeper that has just begun has not said yet who it is: it is waited for. Raises BusyError when it stays.
    """
    began, ran, last = time.monotonic(), False, home.read()
    while home.kept:
        ran, record, waited = True, home.read(), time.monotonic() - began
        last = record or last
        if waited > _KILL_S:
            raise BusyError(f"The engine in {home.folder} does not end.")
        if record is not None and lives(record.keeper, record.keeper_born):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(record.keeper, signal.SIGTERM if waited < _STOP_S else signal.SIGKILL)
        time.sleep(_PAUSE_S)
    while last and lives(last.keeper, last.keeper_born) and time.monotonic() - began < _KILL_S:
        time.sleep(_PAUSE_S)  # it has let go of everything, and has only to end
    lock = take(home.keeper) if home.folder.exists() else None
    if lock is not None:  # a keeper that was killed could not clear away
        record = home.read()
        if record is not None:
            end(record.engine, record.engine_born)
        home.clear()
        lock.close()
    return ran
