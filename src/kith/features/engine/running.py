"""The engines that run: list and stop them, join the one that runs a model, or start it.

As long as somebody holds a share of its lease, an engine stays.
"""

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kith.core.codec import encode
from kith.core.errors import BusyError, ModelError
from kith.core.events import Notice, Progress
from kith.core.model import Emit
from kith.core.structs import repr_without
from kith.features.engine.failures import last_words
from kith.features.engine.gguf import read_header
from kith.features.engine.home import (
    EngineHome,
    EngineRecord,
    EngineSpec,
    all_homes,
    holds,
    home_for,
    model_files,
    real_path,
    share,
    take,
)
from kith.features.engine.options import EngineOptions, flags_of
from kith.features.engine.processes import (
    WHEEL,
    calm_environment,
    end,
    find_engine,
    lives,
    python,
    resident_bytes,
)
from kith.features.engine.wheel import check_flags

_STOP_S, _KILL_S = 10.0, 15.0  # when to stop asking politely, and when to give up
_STOP_PAUSE_S = 0.02
IDLE_S = 300.0
_TRIES = 5  # an engine may end just when it is found
_PAUSE_S = 0.05
_START_S = 30.0
_HEALTH_S = 5.0


class RunningEngine(Struct, frozen=True):
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
    home: EngineHome
    flags: tuple[str, ...] = ()


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
            record.flags,
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


def stop_if_idle(home: EngineHome) -> str:
    """End an engine that nobody uses and clear away what is left of a dead one; the name of one that ran."""
    lease = take(home.lease)
    if lease is None:
        return ""
    try:  # meanwhile nobody can begin to use it
        record = home.read()
        return record.name if _stop(home) and record else ""
    finally:
        lease.close()


def _stop(home: EngineHome) -> bool:
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
        time.sleep(_STOP_PAUSE_S)
    while last and lives(last.keeper, last.keeper_born) and time.monotonic() - began < _KILL_S:
        time.sleep(_STOP_PAUSE_S)  # it has let go of everything, and has only to end
    lock = take(home.keeper) if home.folder.exists() else None
    if lock is not None:  # a keeper that was killed could not clear away
        record = home.read()
        if record is not None:
            end(record.engine, record.engine_born)
        home.clear()
        lock.close()
    return ran


# --- join one, or start it -------------------------------------------------------------------


class EngineAddress(Struct, frozen=True, eq=False):
    """A running engine. `digest` is that of the model file's header, `window` is in tokens.

    The lease keeps the engine alive; it ends with this value, with `release`, or with the process.
    """

    url: str
    key: str
    digest: str
    window: int
    name: str
    home: EngineHome
    crashes: int = 0
    lease: FileIO | None = None
    __repr__ = repr_without("key", "lease")

    def release(self) -> None:
        """Do without the engine from now on."""
        if self.lease is not None:
            self.lease.close()


async def open_engine(
    model: Path,
    options: EngineOptions,
    state: Path,
    emit: Emit,
    *,
    name: str = "",
    prefer: str = "",
    idle_s: float = IDLE_S,
    others: Sequence[EngineOptions] = (),
) -> EngineAddress:
    """Open the engine for this model file with these options: a running one, or a new one.

    `others` are options that are accepted if an engine already runs with these, the best first. Its own
    memory was not free when `options` were chosen. Emits Progress while it loads. Raises NoModelError without
    an engine, ModelFileError for a file that is no model, UsageError for invalid flags, ModelError when the
    engine fails.
    """
    spec = await asyncio.to_thread(_describe, model, options, name, prefer, idle_s)
    if running_engines(state):
        able = (replace(spec, flags=flags_of(each)) for each in others)
        spec = next((other for other in able if home_for(other, state).kept), spec)
    home = home_for(spec, state)
    for _ in range(_TRIES):
        lease = await _lease(home)
        try:
            if not home.kept:
                await make_room(state, emit, spare=[home])
                await asyncio.to_thread(_start, home, spec)
            record = await _follow(home, emit)
            if record and holds(lease, home.lease) and await answers(record.url):
                return _address(record, spec, home, lease)
        except BaseException:
            lease.close()
            raise
        lease.close()
        await asyncio.sleep(_PAUSE_S)
    raise ModelError(
        f"The engine for {spec.name} ended each time it was started; its log may be {home.last_failure}.",
        retryable=True,
    )


async def make_room(state: Path, emit: Emit, *, spare: Collection[EngineHome]) -> None:
    """End every other engine that nobody uses: two models seldom fit into one machine's memory."""
    for other in all_homes(state):
        if other not in spare and (name := await asyncio.to_thread(stop_if_idle, other)):
            emit(Notice(f"Stopped the idle engine of {name} to make room."))


async def answers(url: str) -> bool:
    """True if an engine at an address of this machine reports that it is healthy.

    A connection alone proves nothing: the system accepts it for a process that is just dying.
    """
    host, _, port = url.removeprefix("http://").partition(":")
    try:
        async with asyncio.timeout(_HEALTH_S):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"GET /health HTTP/1.0\r\n\r\n")
            status = await reader.readline()
            writer.close()
    except (OSError, TimeoutError):
        return False
    return b" 200" in status


async def runs(address: EngineAddress) -> bool:
    """True if the opened engine still runs, and not another one in its place."""
    record = address.home.read()
    same = record is not None and (record.url, record.crashes) == (address.url, address.crashes)
    return same and await answers(address.url)


def _describe(model: Path, options: EngineOptions, name: str, prefer: str, idle_s: float) -> EngineSpec:
    """Describe the engine to run, with all checks that are possible before the start."""
    engine = find_engine(prefer)
    check_flags(options.extra, known=engine == WHEEL)
    path = real_path(model)
    header = read_header(path)
    size = sum(file.stat().st_size for file in model_files(path))
    flags, given = flags_of(options), len(options.extra)
    return EngineSpec(name or path.stem, str(path), header.digest, engine, flags, size, idle_s, given)


def _address(record: EngineRecord, spec: EngineSpec, home: EngineHome, lease: FileIO) -> EngineAddress:
    return EngineAddress(
        record.url, record.key, spec.digest, record.window, spec.name, home, record.crashes, lease
    )


async def _lease(home: EngineHome) -> FileIO:
    """A share of the engine. Where one is just going away, wait until it is gone. Raises ModelError."""
    while True:
        try:
            home.make()
            lease = share(home.lease)
        except OSError as error:
            raise ModelError(f"No engine can be kept in {home.folder}: {error.strerror}.") from error
        if lease is not None:
            return lease
        await asyncio.sleep(_PAUSE_S)


def _start(home: EngineHome, spec: EngineSpec) -> None:
    """Start a keeper, unless another kith was quicker. Raises ModelError."""
    spec_text = json.dumps(encode(spec))
    try:
        done = subprocess.run(
            python("keep", str(home.folder), spec_text),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # the terminal's Ctrl-C is for kith alone
            cwd=home.folder.parent,
            env=calm_environment(os.environ),
            timeout=_START_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelError(f"The keeper of the engine could not be started: {error}") from error
    if done.returncode:
        words = last_words(done.stderr.decode("utf-8", "replace").splitlines())
        raise ModelError(f"The keeper of the engine could not be started: {words}")


async def _follow(home: EngineHome, emit: Emit) -> EngineRecord | None:
    """Wait until the engine is ready, telling how far it is; None when its keeper is gone.

    Raises ModelError when it failed.
    """
    told, turns = -1, 0
    while (record := home.read()) is not None:
        if record.state == "ready":
            return record if home.kept else None
        if record.state == "failed":
            raise ModelError(record.trouble)
        if record.loaded != told:
            told = record.loaded
            emit(Progress(f"loading {record.name}", told, 100))
        turns += 1
        if turns % 20 == 0 and not home.kept:
            return None
        await asyncio.sleep(_PAUSE_S)
    return None
