"""A look at the processes that kith's own engine leaves on this machine."""

from pathlib import Path

from kith.features.engine.home import EngineRecord
from kith.features.engine.running import RunningEngine, running_engines
from waiting import running, until


def processes_of(state: Path) -> list[int]:
    """Every process that was called with a path in this state folder."""
    return running(str(state))


def wait_until_gone(state: Path) -> None:
    """Nothing runs any more, and nothing lies about."""
    homes = state / "engines"
    until(lambda: not [path for path in homes.glob("*") if path.is_dir()], "its files stayed")
    until(lambda: not processes_of(state), "its processes stayed")


def only(state: Path) -> RunningEngine:
    (engine,) = running_engines(state)
    return engine


def record_of(state: Path) -> EngineRecord:
    """What the keeper of the only engine wrote last."""
    record = only(state).home.read()
    assert record
    return record
