"""Bring a project's index up to date: look again at the files whose size or time differs, and only there."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol

from kith.context.outline import LARGEST, Outline, count_only, digest_of, outline_all, unread
from kith.core.event_loop import leave
from kith.memory.caches import Stamp, is_storable, settle
from kith.memory.index import Damaged, Index
from kith.memory.workers import Crew

Tell = Callable[[int, int], None]  # files done, files to do

_BATCH: Final = 32  # files that are read, looked into and written together
_NEW: Final = ((0, 0), b"")  # what is known of a file nobody looked at
_File = tuple[str, bytes]  # path, content


class Tree(Protocol):
    """The part of a tree that an index is made from."""

    async def stamps(self) -> Mapping[str, Stamp]:
        """Size and time of each file that is not ignored."""

    async def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """The contents of these files; what vanished meanwhile, or may not be read, is left out."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What differed: paths, sorted."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


async def refresh(index: Index, tree: Tree, tell: Tell = lambda done, count: None) -> Refreshed:
    """Make the index what a new one of this tree would be, and say what differed.

    Cut short at any point, it goes on from there the next time. Raises TreeError, KithError, BusyError.
    """
    try:
        return await _refresh(index, tree, tell)
    except Damaged as damage:
        index.rebuild(damage)
        return await _refresh(index, tree, tell)


async def _refresh(index: Index, tree: Tree, tell: Tell) -> Refreshed:
    now, known = time.time_ns(), index.known()
    stamps = {path: stamp for path, stamp in (await tree.stamps()).items() if is_storable(path)}
    removed = sorted(known.keys() - stamps.keys())
    stale = {path: stamp for path, stamp in stamps.items() if path not in known or known[path][0] != stamp}
    settled = {path: settle(stamp, now) for path, stamp in stale.items()}
    batches, different, done = _batches(stale), list[str](), 0

    async def work(crew: Crew[_File, Outline]) -> None:
        nonlocal done
        for paths in batches:
            large = [path for path in paths if stale[path][0] > LARGEST]
            contents = await tree.read_many([path for path in paths if stale[path][0] <= LARGEST])
            new = [each for each in contents.items() if digest_of(each[1]) != known.get(each[0], _NEW)[1]]
            outlines = [*map(unread, large), *(await crew.look(new) if new else ())]
            index.put(outlines, {path: settled[path] for path in (*large, *contents)})
            different.extend(each.path for each in outlines)
            done += len(paths)
            tell(done, len(stale))

    index.forget(removed)
    with Crew(len(stale), outline_all, lambda file: count_only(*file), aside=True) as crew:
        await _together(work(crew) for _ in range(crew.width))
    index.finish()
    different.sort()
    added = tuple(path for path in different if path not in known)
    return Refreshed(added, tuple(path for path in different if path in known), tuple(removed))


async def _together(works: Iterable[Coroutine[None, None, None]]) -> None:
    """All of them at once; when one fails, none goes on."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        await leave(*tasks)


def _batches(paths: Iterable[str]) -> Iterator[list[str]]:
    waiting = iter(paths)
    while batch := list(islice(waiting, _BATCH)):
        yield batch
