"""Keeps one engine: starts it, says how far it is, starts it again when it crashes, and ends with it."""

import http.client
import json
import os
import resource
import select
import signal
import time
import traceback
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from kith.core.codec import decode
from kith.core.replace_file import put_private
from kith.features.engine.failures import why_it_failed
from kith.features.engine.home import EngineHome, EngineRecord, EngineSpec, take
from kith.features.engine.processes import (
    HOST,
    EngineProcess,
    birth,
    end,
    end_child,
    resident_bytes,
    start_engine,
)

_MOST_CRASHES = 5  # after so many it is not started again
_LOADING_TICK_S, _READY_TICK_S = 0.05, 0.5
_CLAIM_S = 0.5  # somebody who only looks whether an engine is kept holds its lock for a moment
_ASK_S = 2.0

Outcome = Literal["crashed", "unwanted", "stopped"]


_LARGEST = 1 << 20  # bytes of a log; beyond it, the older part goes
_KEPT = _LARGEST // 4
_TAIL = 80  # lines remembered for an explanation


class EngineLog:
    """The log at `path`, and its last lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tail: deque[str] = deque(maxlen=_TAIL)
        self._rest = b""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def add(self, data: bytes) -> None:
        """Write what was said; cut the log's older part when it is full."""
        os.write(self._file, data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-4096:]
        self.tail.extend(line.decode("utf-8", "replace") for line in lines)
        if os.fstat(self._file).st_size > _LARGEST:
            newest = self.path.read_bytes()[-_KEPT:]
            os.ftruncate(self._file, 0)
            os.write(self._file, newest)

    def last_lines(self) -> list[str]:
        """The last lines, one that is not ended included."""
        return [*self.tail, self._rest.decode("utf-8", "replace")]

    def copy_to(self, path: Path) -> None:
        """Keep what was said so far beyond the engine's own life."""
        put_private(path, self.path.read_bytes())


def keep(folder: str, spec_text: str) -> None:
    """Keep the engine of `folder` until it is unused. Returns at once in the process that was called.

    The work continues in a detached child. When this returns, either that child holds the keeper's lock
    and has written a record, or another keeper was there before.
    """
    os.umask(0o077)
    home, spec = EngineHome(Path(folder)), decode(json.loads(spec_text), EngineSpec)
    lock = _claim(home)
    if lock is None:
        return
    old = home.read()
    if old is not None:  # its keeper was killed
        end(old.engine, old.engine_born)
    home.write(EngineRecord("loading", spec.name, spec.model, since=time.time(), flags=spec.flags))
    if os.fork():
        os._exit(0)  # the lock is the child's now: it is one open file for both
    log = EngineLog(home.log)
    _leave(home)
    try:
        _Keeper(home, spec, log).serve()
    except Exception:  # a bug: whoever started this process is long gone, and its own log goes with it
        put_private(home.last_failure, traceback.format_exc().encode())
        raise
    finally:
        home.clear()
        lock.close()


def _claim(home: EngineHome) -> FileIO | None:
    until = time.monotonic() + _CLAIM_S
    while (lock := take(home.keeper)) is None and time.monotonic() < until:
        time.sleep(0.02)
    return lock


def _leave(home: EngineHome) -> None:
    """Let go of the terminal and of everything that was open; what this process says goes into the log."""
    # A crash must not write the memory of a model to the disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing, log = os.open(os.devnull, os.O_RDWR), os.open(home.log, os.O_WRONLY | os.O_APPEND)
    for new, old in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(new, old)
    os.close(nothing)
    os.close(log)


@dataclass(slots=True)
class _Keeper:
    """One engine after another, as long as somebody wants it."""

    home: EngineHome
    spec: EngineSpec
    log: EngineLog
    record: EngineRecord = field(init=False)
    stopped: bool = field(default=False, init=False)
    bell: int = field(default=-1, init=False)
    last_wanted: float = field(default_factory=time.monotonic, init=False)
    lease: FileIO | None = field(default=None, init=False)  # held at the end, so that nobody comes in

    def serve(self) -> None:
        self.bell, rung = os.pipe()
        os.set_blocking(rung, False)
        signal.set_wakeup_fd(rung, warn_on_full_buffer=False)  # a signal ends a wait at once
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)
        spec = self.spec
        pid, now = os.getpid(), time.time()
        record = EngineRecord("loading", spec.name, spec.model, pid, birth(pid), since=now, flags=spec.flags)
        self._tell(record)
        while self._serve_once() == "crashed":
            if self.record.state == "failed" or self.record.crashes > _MOST_CRASHES:
                self._tell(replace(self.record, state="failed"))
                while not self._unwanted(0) and not self.stopped:
                    time.sleep(_LOADING_TICK_S)
                return

    def _serve_once(self) -> Outcome:
        """Run an engine to its end. A crash is written down; one while loading is a failure."""
        try:
            engine = start_engine(self.home, self.spec)
        except OSError as error:
            words = f"The engine {self.spec.engine} cannot be started: {error.strerror}."
            self._tell(replace(self.record, state="failed", trouble=words))
            return "crashed"
        process = engine.process
        self._tell(
            replace(
                self.record,
                state="loading",
                loaded=0,
                engine=process.pid,
                engine_born=birth(process.pid),
                url=engine.url,
                key=engine.key,
            )
        )
        try:
            outcome = self._watch(engine)
        finally:
            code = end_child(process)
        if outcome == "crashed":
            self._note_crash(code)
        return outcome

    def _watch(self, engine: EngineProcess) -> Outcome:
        """Read what the engine says and look after it until it ends, or should."""
        assert engine.process.stdout
        said = engine.process.stdout.fileno()
        while True:
            tick = _READY_TICK_S if self.record.state == "ready" else _LOADING_TICK_S
            if said in select.select([said, self.bell], [], [], min(tick, self.spec.idle_s / 4))[0]:
                data = os.read(said, 1 << 16)
                if not data:
                    return "crashed"
                self.log.add(data)
            if self.stopped:
                return "stopped"
            if self._unwanted(self.spec.idle_s):
                return "unwanted"
            if self.record.state == "loading":
                self._look(engine)

    def _look(self, engine: EngineProcess) -> None:
        """Write down how much of the model is in memory, or that it is ready."""
        window = _window_of(engine)
        if window is not None:
            self._tell(replace(self.record, state="ready", loaded=100, window=window))
            return
        # Weights are mapped or read into memory; what comes with them makes it a little too much.
        loaded = min(99, 100 * resident_bytes(engine.process.pid) // max(1, self.spec.size))
        if loaded > self.record.loaded:
            self._tell(replace(self.record, loaded=loaded))

    def _note_crash(self, code: int) -> None:
        loading = self.record.state == "loading"
        words = why_it_failed(self.spec.name, self.log.last_lines(), code, loading=loading)
        with suppress(OSError):
            self.log.copy_to(self.home.last_failure)
        if loading:
            self._tell(replace(self.record, state="failed", trouble=words))
        else:
            crashes = self.record.crashes + 1
            self._tell(replace(self.record, state="loading", crash=words, trouble=words, crashes=crashes))

    def _unwanted(self, patience_s: float) -> bool:
        """True if the engine was unused for so long; from then on, it cannot be taken."""
        now = time.monotonic()
        lease = take(self.home.lease)
        if lease is None and not self.home.lease.exists():
            return True  # somebody removed the state: no kith can find this engine any more
        if lease is None:
            self.last_wanted = now
        elif now - self.last_wanted >= patience_s:
            self.lease = lease
            return True
        else:
            lease.close()
        return False

    def _stop(self, number: int, frame: object) -> None:
        self.stopped = True

    def _tell(self, record: EngineRecord) -> None:
        self.record = record
        self.home.write(record)


def _window_of(engine: EngineProcess) -> int | None:
    """The window of an engine that is ready, in tokens (0 if it does not say); None while it is not ready."""
    # /health needs no key: somebody else's server that took this port meanwhile would not get to see it.
    if _ask(engine, "/health", "") is None:
        return None
    try:
        return int((_ask(engine, "/props", engine.key) or {})["default_generation_settings"]["n_ctx"])
    except (KeyError, TypeError, ValueError):
        return 0


def _ask(engine: EngineProcess, path: str, key: str) -> Any:
    """The JSON at a path, None unless it is given gladly."""
    connection = http.client.HTTPConnection(HOST, int(engine.url.rpartition(":")[2]), timeout=_ASK_S)
    try:
        connection.request("GET", path, headers={"authorization": f"Bearer {key}"} if key else {})
        response = connection.getresponse()
        return json.loads(response.read()) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
