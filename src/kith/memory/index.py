"""Index a project's definitions and their uses: a cache in SQLite, rebuilt when in doubt.

index = open_index(settings.cache, root)             cheap; `index.complete`: a refresh ran to its end before
told = await refresh(index, project.tree, progress)  looks at what changed, and only there
index.find("Cache.get") -> SymbolReferences          definitions, or near names; the files that use it
index.files() -> {path: IndexedFile(size, lines, definitions)}
index.fitting(find_words(task)) -> Signals           for context/brief.py
index.definitions(path), index.uses(path), index.defining(name), index.using(name)
"""

import asyncio
import math
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Container, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Struct

from kith.context.outline import (
    LARGEST,
    Definition,
    Outline,
    SymbolReferences,
    choose_named,
    count_only,
    digest_of,
    last_part,
    outline_all,
    unread,
)
from kith.context.rank_files import Signals
from kith.context.task_words import Words, find_words
from kith.core.errors import BusyError, KithError
from kith.core.event_loop import leave
from kith.core.git import Commit
from kith.memory.caches import Stamp, find_place, is_storable, remove, settle
from kith.memory.database import BUSY, distrust, is_damaged, write_ahead
from kith.memory.workers import Crew

_VERSION: Final = 3  # of everything below and of what context/outline.py finds
_SCHEMA: Final = """
CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  written INTEGER NOT NULL,
  digest BLOB NOT NULL,
  lines INTEGER NOT NULL
);
CREATE TABLE definitions (
  file INTEGER NOT NULL,
  own TEXT NOT NULL COLLATE NOCASE,
  name TEXT NOT NULL,
  sort TEXT NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  signature TEXT NOT NULL
);
CREATE INDEX definitions_by_name ON definitions (own);
CREATE INDEX definitions_by_file ON definitions (file);
CREATE TABLE uses (file INTEGER PRIMARY KEY, names TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (stems, said, tokenize = "unicode61 remove_diacritics 0");
CREATE TABLE commits (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, at INTEGER NOT NULL);
CREATE INDEX commits_by_time ON commits (at);
CREATE VIRTUAL TABLE messages USING fts5 (stems, tokenize = "unicode61 remove_diacritics 0");
CREATE TABLE touched (id INTEGER NOT NULL, path TEXT NOT NULL, PRIMARY KEY (id, path)) WITHOUT ROWID;
CREATE TABLE notes (name TEXT PRIMARY KEY, text TEXT NOT NULL)
"""
_NEAR, _USERS, _DEFINED, _FITTING = 5, 200, 200, 200  # of each, at most, in an answer
_NAMES: Final = 4  # names of a task that are searched for in all files
_LIKE: Final = 60  # commits whose messages are like a task's words
_LATELY, _FADING = 200, 0.98  # commits that count as recent; what each counts of the one after it
_WIDE: Final = 20  # files; a commit that changed more says little of any of them
_NOW: Final = 2**62  # later than every commit


class IndexedFile(Struct, frozen=True):
    """A file in the index: bytes, lines (0: not text), and how many definitions it holds."""

    size: int
    lines: int
    definitions: int


class Damaged(Exception):
    """The index cannot be read and must be rebuilt."""


def open_index(cache: Path, root: Path) -> "Index":
    """The index of the project at `root`, which may still be empty. Raises KithError, BusyError."""
    try:
        return Index(find_place(cache, "index", root))
    except OSError as error:
        raise KithError(f"{cache / 'index'} cannot be written: {error.strerror}.") from error


class Index:
    """One project's index. Several processes may use it at once; each change of it is whole or not there.

    `note` is a sentence for the person when the file was broken and is being rebuilt, else "".
    """

    def __init__(self, path: Path) -> None:
        self.path, self.note = path, ""
        try:
            self._connect()
        except Damaged as damage:
            self.rebuild(damage)

    # --- the file ----------------------------------------------------------------------------

    def _connect(self) -> None:
        with self._in_words():
            self._db = sqlite3.connect(self.path, isolation_level=None, timeout=10, check_same_thread=False)
            self.path.chmod(0o600)
            distrust(self._db)
            write_ahead(self._db)
            self._db.execute("PRAGMA synchronous=OFF")  # a cache: after a power cut it is made anew
            if self._version() != _VERSION:
                with self._change():  # two first starts may meet here
                    self._create()

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _create(self) -> None:
        version = self._version()
        if version == _VERSION:
            return
        if version:
            raise Damaged(f"it was made by another kith (schema {version})")
        for statement in _SCHEMA.split(";"):
            self._db.execute(statement)
        self._db.execute(f"PRAGMA user_version={_VERSION}")

    def rebuild(self, damage: Damaged) -> None:
        """Begin with an empty file. Raises KithError when the old one cannot be removed."""
        self.note = f"Rebuilding the index {self.path}: {damage}."
        self.close()
        try:
            remove(self.path)
            self._connect()
        except (OSError, Damaged) as error:
            raise KithError(f"The index {self.path} is damaged and cannot be removed.") from error

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """SQLite's refusals as what can be done about them."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in BUSY:
                raise BusyError(f"The index {self.path} is in use by another kith.") from error
            if is_damaged(error):
                raise Damaged("it was damaged") from error
            raise KithError(f"The index {self.path} cannot be used: {error}.") from error

    @contextmanager
    def _change(self) -> Iterator[None]:
        with self._in_words():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _read(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """All the rows of a query; none of an index that turns out to be damaged, and then is empty."""
        try:
            with self._in_words():
                return self._db.execute(query, values).fetchall()
        except Damaged as damage:
            self.rebuild(damage)
            return []

    def close(self) -> None:
        self._db.close()

    # --- keeping it up to date ---------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """True when a refresh ran to its end: the index may be old, but nothing is missing for good."""
        return bool(self._read("SELECT 1 FROM notes WHERE name = 'complete'"))

    @property
    def size(self) -> int:
        """The number of indexed files."""
        ((number,),) = self._read("SELECT count(*) FROM files")
        return int(number)

    def finish(self) -> None:
        """Say that everything has been looked at."""
        if self.complete:
            return
        with self._change():
            self._db.execute("INSERT OR REPLACE INTO notes VALUES ('complete', 'yes')")

    def known(self) -> dict[str, tuple[Stamp, bytes]]:
        """The stamp and the digest of each file."""
        rows = self._read("SELECT path, size, written, digest FROM files")
        return {path: ((size, written), digest) for path, size, written, digest in rows}

    def forget(self, paths: Sequence[str]) -> None:
        """Files that are gone."""
        if paths:
            with self._change():
                self._remove(paths)

    def put(self, outlines: Sequence[Outline], stamps: Mapping[str, Stamp]) -> None:
        """Files that were looked at, with their stamps; those without an outline have their old content."""
        with self._change():
            self._remove([each.path for each in outlines])
            restamped = [(size, written, path) for path, (size, written) in stamps.items()]
            self._db.executemany("UPDATE files SET size = ?, written = ? WHERE path = ?", restamped)
            ((highest,),) = self._db.execute("SELECT coalesce(max(id), 0) FROM files").fetchall()
            files, definitions, uses, words = list[Any](), list[Any](), list[Any](), list[Any]()
            for id, each in enumerate(outlines, highest + 1):
                files.append((id, each.path, *stamps[each.path], each.digest, each.lines))
                if each.references:
                    uses.append((id, _pack(each.references)))
                    words.append((id, each.words, each.said))
                for one in each.definitions:
                    own = last_part(one.name)
                    definitions.append((id, own, one.name, one.sort, one.first, one.last, one.signature))
            self._db.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", files)
            self._db.executemany("INSERT INTO definitions VALUES (?, ?, ?, ?, ?, ?, ?)", definitions)
            self._db.executemany("INSERT INTO uses VALUES (?, ?)", uses)
            self._db.executemany("INSERT INTO words (rowid, stems, said) VALUES (?, ?, ?)", words)

    def _remove(self, paths: Iterable[str]) -> None:
        rows = [(path,) for path in paths]
        for table, key in (("definitions", "file"), ("uses", "file"), ("words", "rowid")):
            self._db.executemany(
                f"DELETE FROM {table} WHERE {key} = (SELECT id FROM files WHERE path = ?)", rows
            )
        self._db.executemany("DELETE FROM files WHERE path = ?", rows)

    def commit_names(self) -> frozenset[str]:
        """The commits that it knows."""
        return frozenset(name for (name,) in self._read("SELECT name FROM commits"))

    def put_commits(self, names: Sequence[str], new: Sequence[Commit]) -> None:
        """Keep the commits called `names`, of which `new` were not known; forget all others."""
        stems = {each.name: " ".join(find_words(each.message).stems) for each in new}
        with self._change():
            known = {name for (name,) in self._db.execute("SELECT name FROM commits")}  # of another kith, too
            gone = [(name,) for name in known.difference(names)]
            added = [each for each in new if each.name not in known]
            for table, key in (("messages", "rowid"), ("touched", "id")):
                self._db.executemany(
                    f"DELETE FROM {table} WHERE {key} = (SELECT id FROM commits WHERE name = ?)", gone
                )
            self._db.executemany("DELETE FROM commits WHERE name = ?", gone)
            ((highest,),) = self._db.execute("SELECT coalesce(max(id), 0) FROM commits").fetchall()
            commits, messages, touched = list[Any](), list[Any](), list[Any]()
            for id, each in enumerate(added, highest + 1):
                commits.append((id, each.name, each.at))
                messages.append((id, stems[each.name]))
                touched += ((id, path) for path in each.paths if is_storable(path))
            self._db.executemany("INSERT INTO commits VALUES (?, ?, ?)", commits)
            self._db.executemany("INSERT INTO messages (rowid, stems) VALUES (?, ?)", messages)
            self._db.executemany("INSERT OR IGNORE INTO touched VALUES (?, ?)", touched)

    # --- asking ------------------------------------------------------------------------------

    def files(self) -> dict[str, IndexedFile]:
        """Every file, sorted by path."""
        rows = self._read(
            "SELECT path, size, lines, (SELECT count(*) FROM definitions WHERE file = id) "
            "FROM files ORDER BY path"
        )
        return {path: IndexedFile(size, lines, count) for path, size, lines, count in rows}

    def definitions(self, path: str) -> tuple[Definition, ...]:
        """Return the definitions of a file, in order of the first line."""
        return self._definitions("path = ?", (path,))

    def uses(self, path: str) -> dict[str, int]:
        """The names that a file uses, and how often."""
        rows = self._read(
            "SELECT names FROM uses WHERE file = (SELECT id FROM files WHERE path = ?)", (path,)
        )
        return _unpack(rows[0][0]) if rows else {}

    def defining(self, name: str) -> tuple[Definition, ...]:
        """The definitions of a name, as `choose_named` has it."""
        return choose_named(self._definitions("own = ?", (last_part(name),)), name)

    def using(self, name: str) -> tuple[tuple[str, int], ...]:
        """The files that use a name, and how often: the most first."""
        # A search through all texts takes 0.1 s for 20,000 files; a table of uses has millions of rows.
        rows = self._read(
            "SELECT path, names FROM uses JOIN files ON id = file WHERE instr(names, ?)", (f" {name} ",)
        )
        found = [(path, _unpack(names)[name]) for path, names in rows]
        return tuple(sorted(found, key=lambda each: (-each[1], each[0]))[:_USERS])

    def find(self, name: str) -> SymbolReferences:
        """All that is known of a name."""
        definitions = self.defining(name)
        own = last_part(definitions[0].name if definitions else name)
        return SymbolReferences(definitions, () if definitions else self._near(name), self.using(own))

    def fitting(self, words: Words, before: int = _NOW) -> Signals:
        """Score files for a task by their contents and the commits `before` a time (seconds since 1970).

        BM25 over stems (k1 = 1.2, b = 0.75: SQLite's FTS5 has them fixed). A definition counts by how few
        files define that name, a use by how few use it.
        """
        asked = " OR ".join(f'"{stem}"' for stem in words.stems)
        return Signals(
            names=self._match(asked, 1, 0),
            said=self._match(asked, 0, 1),
            defines=self._defining_any(words.names),
            holds=self._using_any(words.names[:_NAMES]),
            history=self._changed_for(asked, before),
            recent=self._changed_lately(before),
        )

    def _match(self, asked: str, names: int, said: int) -> dict[str, float]:
        query = f"""
            SELECT path, -bm25(words, {names}, {said}) AS fit FROM words JOIN files ON id = words.rowid
            WHERE words MATCH ? ORDER BY fit DESC, path LIMIT {_FITTING}
        """
        return {path: fit for path, fit in self._read(query, (asked,)) if fit > 0} if asked else {}

    def _defining_any(self, names: Iterable[str]) -> dict[str, float]:
        defined = Counter[str]()
        for name in names:
            paths = {each.path for each in self._definitions("own = ? COLLATE BINARY", (name,))}
            defined.update({path: 1 / len(paths) for path in paths})
        return dict(defined)

    def _using_any(self, names: Sequence[str]) -> dict[str, float]:
        """Files that use some of the names: one search through all texts, 0.1 s for 20,000 files."""
        if not names:
            return {}
        wanted = [f" {name} " for name in names]
        holds = ", ".join("instr(names, ?) > 0" for _ in names)
        any_holds = " OR ".join("instr(names, ?)" for _ in names)
        query = f"SELECT path, {holds} FROM uses JOIN files ON id = file WHERE {any_holds}"
        rows = self._read(query, [*wanted, *wanted])
        counts = [sum(row[at] for row in rows) for at in range(1, len(names) + 1)]
        rarity = [math.log(1 + self.size / count) if count else 0.0 for count in counts]
        found = {row[0]: sum(has * rare for has, rare in zip(row[1:], rarity, strict=True)) for row in rows}
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0]))[:_FITTING])

    def _changed_for(self, asked: str, before: int) -> dict[str, float]:
        """Files that commits changed whose messages are like the task; a commit of many files tells less."""
        if not asked:
            return {}
        query = f"""
            SELECT id, -bm25(messages) AS fit FROM messages JOIN commits ON id = messages.rowid
            WHERE messages MATCH ? AND at < ? ORDER BY fit DESC, id LIMIT {_LIKE}
        """
        changed = Counter[str]()
        for id, fit in self._read(query, (asked, before)):
            paths = [path for (path,) in self._read("SELECT path FROM touched WHERE id = ?", (id,))]
            if 0 < len(paths) <= _WIDE:
                changed.update({path: fit * fit / math.sqrt(len(paths)) for path in paths})
        return dict(changed)

    def _changed_lately(self, before: int) -> dict[str, float]:
        """Each of the last commits counts a little less than the one after it."""
        query = "SELECT id FROM commits WHERE at < ? ORDER BY at DESC, id LIMIT ?"
        ages = {id: age for age, (id,) in enumerate(self._read(query, (before, _LATELY)))}
        if not ages:
            return {}
        listed = ", ".join(map(str, ages))
        touched: dict[int, list[str]] = {}
        for id, path in self._read(f"SELECT id, path FROM touched WHERE id IN ({listed})"):
            touched.setdefault(id, []).append(path)
        recent = Counter[str]()
        for id, paths in touched.items():
            if len(paths) <= _WIDE:
                recent.update(dict.fromkeys(paths, _FADING ** ages[id]))
        return dict(recent)

    def _definitions(self, where: str, values: Sequence[object]) -> tuple[Definition, ...]:
        query = f"""
            SELECT path, name, sort, first, last, signature FROM definitions JOIN files ON id = file
            WHERE {where} ORDER BY path, first LIMIT ?
        """
        limit = -1 if where.startswith("path") else _DEFINED
        return tuple(Definition(*row) for row in self._read(query, (*values, limit)))

    def _near(self, name: str) -> tuple[str, ...]:
        from rapidfuzz import fuzz, process

        names = [each for (each,) in self._read("SELECT DISTINCT name FROM definitions ORDER BY name")]
        own = [last_part(each).lower() for each in names]
        near = process.extract(last_part(name).lower(), own, scorer=fuzz.ratio, limit=_NEAR, score_cutoff=70)
        return tuple(names[at] for _, _, at in near)


def _pack(uses: Mapping[str, int]) -> str:
    """Names with their counts as one text in which ` name ` can be searched."""
    return f" {' '.join(f'{name} {count}' for name, count in sorted(uses.items()))} "


def _unpack(text: str) -> dict[str, int]:
    words = text.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


# --- bring it up to date: only files whose size or time differs ------------------------------


Tell = Callable[[int, int], None]  # files done, files to do

_BATCH: Final = 32  # files that are read, looked into and written together
_NEW: Final = ((0, 0), b"")  # what is known of a file nobody looked at
_File = tuple[str, bytes]  # path, content


class IndexSource(Protocol):
    """The part of a tree that an index is made from."""

    async def stamps(self) -> Mapping[str, Stamp]:
        """Size and time of each file that is not ignored."""

    async def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """The contents of these files; what vanished meanwhile, or may not be read, is left out."""

    async def commits(self, known: Container[str]) -> tuple[Sequence[str], Sequence[Commit]]:
        """The names of the newest commits, and those of them that are not `known`."""


class Refreshed(Struct, frozen=True):
    """The paths that differed, sorted."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


async def refresh(index: Index, tree: IndexSource, tell: Tell = lambda done, count: None) -> Refreshed:
    """Make the index what a new one of this tree would be, and say what differed.

    Interrupted at any point, it continues from there the next time. Raises TreeError, KithError, BusyError.
    """
    try:
        return await _refresh(index, tree, tell)
    except Damaged as damage:
        index.rebuild(damage)
        return await _refresh(index, tree, tell)


async def _refresh(index: Index, tree: IndexSource, tell: Tell) -> Refreshed:
    known, commits = index.known(), index.commit_names()
    history = asyncio.ensure_future(tree.commits(commits))  # git lists them beside the look at the files
    try:
        refreshed = await _refresh_files(index, known, tree, tell)
        names, new = await history
    finally:
        await leave(history)
    if new or len(commits) != len(names):
        index.put_commits(names, new)
    index.finish()
    return refreshed


async def _refresh_files(
    index: Index, known: Mapping[str, tuple[Stamp, bytes]], tree: IndexSource, tell: Tell
) -> Refreshed:
    now = time.time_ns()
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
