"""Every file of a tree looked at once, by a process for each processor; what is known already is kept."""

import asyncio
import gc
import hashlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

from kith.analysis.facts import (
    LARGEST_READ,
    find_facts,
    read_facts,
    read_prints,
    unread_facts,
    write_facts,
    write_prints,
)
from kith.memory.scanned import Kept, ScanStore, Stamp
from kith.trees.bulk import read_files, stamp_files
from kith.workflows.scan.report import Survey

Tell = Callable[[int, int], None]  # files done, files to do

_FEW: Final = 60  # files; up to here starting processes costs more than they save
_BATCH_FILES: Final = 64
_BATCH_BYTES: Final = 1_000_000
_MOST: Final = 8  # processes
_SETTLED: Final = 2_000_000_000  # ns; a file written later than this ago may change and keep its stamp


async def survey(root: Path, stamps: Mapping[str, Stamp], store: ScanStore, tell: Tell) -> Survey:
    """Look at the files whose stamp the store does not know, and take the rest from there.

    What vanishes meanwhile, or cannot be read, is left out. Cut short, it goes on from there the next time.
    """
    known = store.load()
    stale = sorted(path for path, stamp in stamps.items() if path not in known or known[path].stamp != stamp)
    found = {path: known[path] for path in stamps.keys() - set(stale)}
    settled = time.time_ns() - _SETTLED
    done = 0
    with Crew(root, len(stale)) as crew:
        for waiting in _in_flight(crew, _batches(stale, stamps)):
            batch, looked = await waiting
            kept = [_kept(each, stamps[each.path], known.get(each.path), settled) for each in looked]
            store.put(kept)
            found |= {each.path: each for each in kept}
            done += len(batch)
            tell(done, len(stale))
    return _read(found, stamps, len(stale))


def _kept(looked: "Looked", stamp: Stamp, before: Kept | None, settled: int) -> Kept:
    """What the store keeps; a file that was written just now is looked at again the next time."""
    stamp = (stamp[0], stamp[1] if stamp[1] < settled else 0)
    if before is not None and before.digest == looked.digest:
        return Kept(before.path, stamp, before.digest, before.facts, before.prints)
    return Kept(looked.path, stamp, looked.digest, looked.facts, looked.prints)


def _read(found: Mapping[str, Kept], stamps: Mapping[str, Stamp], changed: int) -> Survey:
    paths = sorted(found)
    return Survey(
        {path: read_facts(found[path].facts) for path in paths},
        {path: read_prints(found[path].prints) for path in paths},
        {path: found[path].digest for path in paths},
        {path: stamps[path][0] for path in paths},
        changed,
    )


def _batches(paths: Sequence[str], stamps: Mapping[str, Stamp]) -> Iterator[list[str]]:
    """Paths in their order, in groups that take about a third of a second each."""
    batch: list[str] = []
    size = 0
    for path in paths:
        if batch and (len(batch) == _BATCH_FILES or size + stamps[path][0] > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += stamps[path][0]
    if batch:
        yield batch


def _in_flight(crew: "Crew", batches: Iterator[list[str]]) -> "Iterator[asyncio.Task[Answer]]":
    """The batches' answers in their order, twice as many under way as there are processes."""
    tasks: deque[asyncio.Task[Answer]] = deque()
    try:
        for batch in batches:
            tasks.append(asyncio.ensure_future(crew.look(batch)))
            if len(tasks) >= crew.width:
                yield tasks.popleft()
        while tasks:
            yield tasks.popleft()
    finally:
        for task in tasks:
            task.cancel()


class Crew:
    """Processes that look at files, none where there are few; stopped at once when it is left."""

    def __init__(self, root: Path, files: int) -> None:
        self._root = root
        self._processes = min(_MOST, os.cpu_count() or 1) if files > _FEW else 0
        self._pool = self._start() if self._processes else None
        self.width = 2 * self._processes or 1

    def _start(self) -> ProcessPoolExecutor:
        # A fork would take along this process's threads' locks, so each begins afresh.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._processes, mp_context=context, initializer=_settle_in)

    async def look(self, paths: list[str]) -> "Answer":
        """What is in these files. One that kills the process that parses it counts as unread."""
        pool = self._pool
        try:
            return paths, await asyncio.get_running_loop().run_in_executor(pool, look_at, self._root, paths)
        except BrokenExecutor:
            if self._pool is pool:
                self._pool = self._start()
        if len(paths) == 1:
            return paths, [_unread(paths[0])]
        half = len(paths) // 2
        return paths, (await self.look(paths[:half]))[1] + (await self.look(paths[half:]))[1]

    def __enter__(self) -> "Crew":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is None:
            return
        if kind is not None:
            for process in multiprocessing.active_children():  # nobody waits for what they are at
                process.terminate()
        self._pool.shutdown(wait=False, cancel_futures=True)


# --- in the processes --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Looked:
    """One file as a process saw it, in the form that is kept."""

    path: str
    digest: bytes
    facts: str
    prints: bytes


Answer = tuple[list[str], list[Looked]]  # what was asked for, and what could be read of it


def look_at(root: Path, paths: Sequence[str]) -> list[Looked]:
    """Look at some files of a tree, in their order; those that cannot be read are left out."""
    sizes = stamp_files(root, paths)
    large = [path for path, (size, _) in sizes.items() if size > LARGEST_READ]
    looked = [_unread(path) for path in large]
    for path, data in read_files(root, [path for path in sizes if path not in large]).items():
        facts, prints = find_facts(path, data)
        digest = hashlib.sha256(data).digest()[:16]
        looked.append(Looked(path, digest, write_facts(facts), write_prints(prints)))
    return looked


def _unread(path: str) -> Looked:
    return Looked(path, b"", write_facts(unread_facts(path)), b"")


def _settle_in() -> None:
    """A worker leaves Ctrl-C to its parent, and ends when that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # syntax trees have no cycles, and looking for some takes a third of the time
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
