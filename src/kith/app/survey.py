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
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

from kith.analysis.facts import (
    LARGEST_READ,
    FileFacts,
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


async def survey(
    root: Path, stamps: Mapping[str, Stamp], store: ScanStore, tell: Tell, folder: str = ""
) -> Survey:
    """Look at the files whose stamp the store does not know, and take the rest from there.

    `folder` limits it to what lies below. What vanishes meanwhile, or cannot be read, is left out. Cut
    short, it goes on from there the next time.
    """
    kept = store.load()
    inside = [path for path in sorted(stamps) if _is_inside(path, folder)]
    found = {path: known for path in inside if (known := _unchanged(kept.get(path), stamps[path]))}
    stale = [path for path in inside if path not in found]
    settled, done = time.time_ns() - _SETTLED, 0
    with Crew(root, len(stale)) as crew:
        for waiting in _in_flight(crew, _batches(stale, stamps)):
            batch, looked = await waiting
            new = [_keep(each, stamps[each.path], settled) for each in looked]
            store.put(new)
            found |= {each.path: (each, read_facts(each.facts)) for each in new}
            done += len(batch)
            tell(done, len(stale))
    store.forget(kept.keys() - stamps.keys())
    return _survey(found, stamps)


def _is_inside(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder}/")


def _unchanged(known: Kept | None, stamp: Stamp) -> tuple[Kept, FileFacts] | None:
    """What is known of a file that is still the same."""
    if known is None or known.stamp != stamp:
        return None
    try:
        return known, read_facts(known.facts)
    except (ValueError, TypeError):  # the cache is broken; the file is there
        return None


def _keep(looked: "Looked", stamp: Stamp, settled: int) -> Kept:
    """What the store keeps; a file that was written just now is looked at again the next time."""
    stamp = (stamp[0], stamp[1] if stamp[1] < settled else 0)
    return Kept(looked.path, stamp, looked.digest, looked.facts, looked.prints)


def _survey(found: Mapping[str, tuple[Kept, FileFacts]], stamps: Mapping[str, Stamp]) -> Survey:
    paths = sorted(found)
    return Survey(
        sorted(stamps),
        {path: found[path][1] for path in paths},
        {path: read_prints(found[path][0].prints) for path in paths},
        {path: found[path][0].digest for path in paths},
        {path: stamps[path][0] for path in paths},
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
        if pool is None:
            return paths, await asyncio.to_thread(look_at, self._root, paths)
        try:
            with _interrupts_held():
                looking = pool.submit(look_at, self._root, paths)
            return paths, await asyncio.wrap_future(looking)
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


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """What is started meanwhile never hears of Ctrl-C, not even before it could say that it ignores it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
