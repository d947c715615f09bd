"""Every file of a tree looked at once, by a process for each processor; what is known already is kept."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.context.outline import LARGEST, Outline, digest_of, outline, unread
from kith.features.scan.facts import (
    LARGEST_READ,
    FileFacts,
    find_facts,
    read_facts,
    read_prints,
    unread_facts,
    write_facts,
    write_prints,
)
from kith.features.scan.fed_index import FedIndex
from kith.features.scan.report import Survey
from kith.memory.caches import KeptScan, ScanStore, Stamp, settle
from kith.memory.workers import Crew
from kith.trees.bulk_read import read_files, stamp_files

Tell = Callable[[int, int], None]  # files done, files to do

_BATCH_FILES: Final = 64
_BATCH_BYTES: Final = 1_000_000


async def survey(
    root: Path,
    stamps: Mapping[str, Stamp],
    store: ScanStore,
    tell: Tell,
    folder: str = "",
    index: FedIndex | None = None,
) -> Survey:
    """Look at the files whose stamp the store, or the index, does not know, and take the rest from there.

    `folder` limits it to what lies below. What vanishes meanwhile, or cannot be read, is left out. Cut
    short, it goes on from there the next time.
    """
    unknown = index.stale if index else frozenset[str]()
    kept = store.load()
    below = f"{folder}/" if folder else ""
    inside = [path for path in sorted(stamps) if path == folder or path.startswith(below)]
    found = {path: known for path in inside if (known := _unchanged(kept.get(path), stamps[path]))}
    stale = [path for path in inside if path not in found or path in unknown]
    wanted = [FileToScan(path, path in unknown) for path in stale]
    now, done = time.time_ns(), 0
    with Crew(len(stale), partial(look_at, root), _unread) as crew:
        for batch, looking in _in_flight(crew, _batches(wanted, stamps)):
            looked = await looking
            new = [
                KeptScan(each.path, settle(stamps[each.path], now), each.digest, each.facts, each.prints)
                for each in looked
            ]
            store.put(new)
            if index:
                index.feed([each.outline for each in looked if each.outline])
            found |= {each.path: (each, read_facts(each.facts)) for each in new}
            done += len(batch)
            tell(done, len(stale))
    store.forget(kept.keys() - stamps.keys())
    if index and not folder:
        index.finish()
    return _survey(found, stamps)


def _unchanged(known: KeptScan | None, stamp: Stamp) -> tuple[KeptScan, FileFacts] | None:
    """The known facts of a file that is still the same."""
    if known is None or known.stamp != stamp:
        return None
    try:
        return known, read_facts(known.facts)
    except (ValueError, TypeError):  # the cache is broken; the file is there
        return None


def _survey(found: Mapping[str, tuple[KeptScan, FileFacts]], stamps: Mapping[str, Stamp]) -> Survey:
    paths = sorted(found)
    return Survey(
        sorted(stamps),
        {path: found[path][1] for path in paths},
        {path: read_prints(found[path][0].prints) for path in paths},
        {path: found[path][0].digest for path in paths},
        {path: stamps[path][0] for path in paths},
    )


class FileToScan(Struct, frozen=True):
    """A file to look at, and whether its outline is wanted too."""

    path: str
    outline: bool


class ScannedFile(Struct, frozen=True):
    """One file as a process saw it, in the form that is kept."""

    path: str
    digest: bytes
    facts: str
    prints: bytes
    outline: Outline | None


def _batches(wanted: Sequence[FileToScan], stamps: Mapping[str, Stamp]) -> Iterator[list[FileToScan]]:
    """Files in their order, in groups that take about half a second each."""
    batch: list[FileToScan] = []
    size = 0
    for each in wanted:
        if batch and (len(batch) == _BATCH_FILES or size + stamps[each.path][0] > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += stamps[each.path][0]
    if batch:
        yield batch


def _in_flight(
    crew: Crew[FileToScan, ScannedFile], batches: Iterator[list[FileToScan]]
) -> Iterator[tuple[list[FileToScan], asyncio.Task[list[ScannedFile]]]]:
    """The batches with their answers in their order, as many under way as the crew is wide."""
    tasks: deque[tuple[list[FileToScan], asyncio.Task[list[ScannedFile]]]] = deque()
    try:
        for batch in batches:
            tasks.append((batch, asyncio.ensure_future(crew.look(batch))))
            if len(tasks) >= crew.width:
                yield tasks.popleft()
        while tasks:
            yield tasks.popleft()
    finally:
        for _, task in tasks:
            task.cancel()


# --- in the processes --------------------------------------------------------------------------


def look_at(root: Path, wanted: Sequence[FileToScan]) -> list[ScannedFile]:
    """Look at some files of a tree, in their order; those that cannot be read are left out."""
    by_path = {each.path: each for each in wanted}
    sizes = stamp_files(root, by_path)
    large = [path for path, (size, _) in sizes.items() if size > LARGEST_READ]
    looked = [_unread(by_path[path]) for path in large]
    for path, data in read_files(root, [path for path in sizes if path not in large]).items():
        facts, prints = find_facts(path, data)
        seen = None
        if by_path[path].outline:
            seen = outline(path, data) if len(data) <= LARGEST else unread(path)
        looked.append(ScannedFile(path, digest_of(data), write_facts(facts), write_prints(prints), seen))
    return looked


def _unread(wanted: FileToScan) -> ScannedFile:
    path = wanted.path
    return ScannedFile(
        path, b"", write_facts(unread_facts(path)), b"", unread(path) if wanted.outline else None
    )
