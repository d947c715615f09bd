"""The project's index, fed by the pass of a scan over all files."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from kith.agent.project import Project
from kith.context.outline import Outline
from kith.core.errors import KithError
from kith.core.events import Notice
from kith.core.model import Emit
from kith.memory.caches import Stamp, is_storable, settle
from kith.memory.index import Damaged, Index, open_index


class FedIndex:
    """The project's index, updated by another pass over all files.

    `stale` are the files it wants to be fed. An index that cannot be used is said, and done without.
    """

    def __init__(self, project: Project, stamps: Mapping[str, Stamp], emit: Emit) -> None:
        now, self._emit = time.time_ns(), emit
        self._index: Index | None = None
        self._stamps = {path: settle(stamp, now) for path, stamp in stamps.items() if is_storable(path)}
        self.stale = frozenset[str]()
        with self._forgiving():
            self._index = open_index(project.settings.cache, project.root)
            if self._index.note:
                emit(Notice(self._index.note))
            known = self._index.known()
            self._index.forget(sorted(known.keys() - self._stamps.keys()))
            self.stale = frozenset(
                path for path in self._stamps if path not in known or known[path][0] != stamps[path]
            )

    def feed(self, outlines: Sequence[Outline]) -> None:
        """Keep what was found in some of the files."""
        with self._forgiving():
            if self._index and outlines:
                self._index.put(outlines, {each.path: self._stamps[each.path] for each in outlines})

    def finish(self) -> None:
        """Say that all that is stale has been fed."""
        with self._forgiving():
            if self._index:
                self._index.finish()

    def close(self) -> None:
        if self._index:
            self._index.close()
        self._index = None

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        try:
            yield
        except (KithError, Damaged) as error:
            self.close()
            self._emit(Notice(f"The index was not updated: {error}", "warning"))
