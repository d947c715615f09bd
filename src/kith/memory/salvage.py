"""Repair a damaged log: copy its readable rows to a new file, and keep the damaged one beside it."""

import json
import os
import sqlite3
import struct
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.core.errors import BusyError
from kith.core.locks import hold_now, let_go
from kith.memory.database import prepare

_COLUMNS: Final = 6  # of both tables
_MARK: Final = "-damaged"  # ends the name of the file that says so

Value = None | int | float | str | bytes
Row = tuple[int, tuple[Value, ...]]  # its number, and its columns

_MAGIC: Final = b"SQLite format 3\0"
_USUAL: Final = 4096  # bytes of a page, where the file's beginning is lost
_HEADER: Final = 100  # bytes at the beginning of the first page
_TABLE_LEAF: Final = 0x0D
_WAL_HEADER, _FRAME_HEADER = 32, 24
_WAL_MAGIC: Final = (0x377F0682, 0x377F0683)
_INTEGERS: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # serial type -> bytes
_BROKEN: Final = (IndexError, ValueError, struct.error)


def mark(path: Path) -> None:
    """Mark the log for repair; the next process that opens it repairs it."""
    with suppress(OSError):
        _mark(path).touch(mode=0o600)


def is_marked(path: Path) -> bool:
    """True if the log was marked as damaged."""
    return _mark(path).exists()


def salvage(path: Path) -> str:
    """Repair the log; returns the outcome in a sentence.

    Raises BusyError while somebody works with it, OSError and sqlite3.Error where the disk refuses.
    """
    lock = hold_now(path.with_name(f"{path.name}-mending"))
    if lock is None:
        raise BusyError(f"Another kith is repairing the log {path}.")
    try:
        return _salvage(path)
    finally:
        let_go(lock)


def _salvage(path: Path) -> str:
    new = path.with_name(f"{path.name}-mended")
    for end in ("", "-wal", "-shm"):
        new.with_name(new.name + end).unlink(missing_ok=True)
    events, sessions = _copy(path, new)
    aside = next(each for n in count(1) if not (each := path.with_name(f"{path.name}.damaged-{n}")).exists())
    try:
        os.link(path, aside)  # so that there is a log at every moment
    except OSError:  # not every disk knows links
        path.replace(aside)
    for end in ("-wal", "-shm"):  # they belong to the damaged one
        with suppress(FileNotFoundError):
            path.with_name(path.name + end).replace(aside.with_name(aside.name + end))
    new.replace(path)
    _mark(path).unlink(missing_ok=True)
    held = (
        f"{events:,} events of {sessions:,} sessions were saved" if events else "nothing of it could be read"
    )
    return f"The log was damaged: {held}; the damaged file is kept as {aside}."


def _copy(path: Path, new: Path) -> tuple[int, int]:
    """Write a log of all rows that can be read; how many events, of how many sessions."""
    with closing(sqlite3.connect(new, isolation_level=None)) as db:
        new.chmod(0o600)
        prepare(db, new)
        db.execute("PRAGMA journal_mode=DELETE")  # nothing is left beside the file
        db.execute("BEGIN")
        for number, columns in read_rows(path):
            _keep(db, (number, columns))
        db.execute("COMMIT")
        ((events, sessions),) = db.execute("SELECT COUNT(*), COUNT(DISTINCT session) FROM events").fetchall()
    return events, sessions


def _keep(db: sqlite3.Connection, row: Row) -> None:
    """A row of one of the two tables, if it is one."""
    number, columns = row
    if len(columns) != _COLUMNS or number < 1:
        return
    first, session, third, fourth, fifth, sixth = columns
    texts = (session, fourth, fifth)
    if first is not None or not all(isinstance(each, str) for each in texts):
        return
    if isinstance(third, int | float) and isinstance(sixth, str) and _is_json(sixth):
        db.execute("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?)", (number, *columns[1:]))
    elif isinstance(third, str) and isinstance(sixth, int):
        db.execute("INSERT OR IGNORE INTO post VALUES (?, ?, ?, ?, ?, ?)", (number, *columns[1:]))


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _mark(path: Path) -> Path:
    return path.with_name(path.name + _MARK)


# --- rows of a SQLite file, page by page, also where SQLite itself refuses the file ----------
# Source of all formats: https://www.sqlite.org/fileformat2.html. Every page stands for itself: a damaged one
# costs its own rows, and those whose long texts lie in it.


class _Pages(Struct, frozen=True):
    """A file's pages, with those that its write-ahead log holds in newer versions."""

    data: bytes
    size: int
    reserved: int
    newer: Mapping[int, bytes]

    def __len__(self) -> int:
        return max(-(-len(self.data) // self.size), max(self.newer, default=0))

    def __getitem__(self, number: int) -> bytes:
        """Page `number`, from 1. Raises IndexError."""
        page = self.newer.get(number) or self.data[(number - 1) * self.size : number * self.size]
        if number < 1 or len(page) < self.size:
            raise IndexError(number)
        return page

    @property
    def usable(self) -> int:
        return self.size - self.reserved


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of all tables that can be read, in the order of the file. Raises OSError."""
    pages = _open(path)
    for number in range(1, len(pages) + 1):
        try:
            page = pages[number]
        except IndexError:  # the end of a file that was cut
            continue
        yield from _rows_in(pages, page, _HEADER if number == 1 else 0)


def _open(path: Path) -> _Pages:
    data = path.read_bytes()
    size, reserved = int.from_bytes(data[16:18], "big"), data[20] if len(data) > 20 else 0
    size = 65_536 if size == 1 else size
    if not data.startswith(_MAGIC) or size < 512 or size & (size - 1) or reserved > size - 480:
        size, reserved = _USUAL, 0
    wal = path.with_name(f"{path.name}-wal")
    return _Pages(data, size, reserved, _newer(wal.read_bytes(), size) if wal.exists() else {})


def _newer(wal: bytes, size: int) -> dict[int, bytes]:
    """The pages of all transactions that were committed to a write-ahead log."""
    found, pending = dict[int, bytes](), dict[int, bytes]()
    if len(wal) < _WAL_HEADER or int.from_bytes(wal[:4], "big") not in _WAL_MAGIC:
        return found
    for place in range(_WAL_HEADER, len(wal) - _FRAME_HEADER - size + 1, _FRAME_HEADER + size):
        number, commits = struct.unpack_from(">II", wal, place)
        if wal[place + 8 : place + 16] != wal[16:24]:  # left from an earlier round
            break
        pending[number] = wal[place + _FRAME_HEADER : place + _FRAME_HEADER + size]
        if commits:
            found |= pending
            pending = {}
    return found


def _rows_in(pages: _Pages, page: bytes, begin: int) -> Iterator[Row]:
    if page[begin] != _TABLE_LEAF:
        return
    (count,) = struct.unpack_from(">H", page, begin + 3)
    for cell in range(min(count, (len(page) - begin - 8) // 2)):
        try:
            (place,) = struct.unpack_from(">H", page, begin + 8 + 2 * cell)
            yield _read_cell(pages, page, place)
        except _BROKEN:
            continue


def _read_cell(pages: _Pages, page: bytes, place: int) -> Row:
    length, place = _varint(page, place)
    number, place = _varint(page, place)
    usable = pages.usable
    most, least = usable - 35, (usable - 12) * 32 // 255 - 23
    local = length
    if length > most:
        local = least + (length - least) % (usable - 4)
        local = local if local <= most else least
    payload = page[place : place + local]
    if length > local:
        payload += _overflow(pages, page[place + local : place + local + 4], length - local)
    if len(payload) != length:
        raise ValueError("cut short")
    return number, _columns(payload)


def _overflow(pages: _Pages, first: bytes, length: int) -> bytes:
    """Read the part of a row that did not fit on its page."""
    found, following = bytearray(), first
    while len(found) < length:
        page = pages[int.from_bytes(following, "big")]
        following = page[:4]
        found += page[4 : pages.usable]
    return bytes(found[:length])


def _columns(payload: bytes) -> tuple[Value, ...]:
    end, place = _varint(payload, 0)
    kinds = []
    while place < end:
        kind, place = _varint(payload, place)
        kinds.append(kind)
    values = []
    for kind in kinds:
        value, place = _value(payload, place, kind)
        values.append(value)
    if place > len(payload):
        raise ValueError("cut short")
    return tuple(values)


def _value(payload: bytes, place: int, kind: int) -> tuple[Value, int]:
    if kind in _INTEGERS:
        end = place + _INTEGERS[kind]
        return int.from_bytes(payload[place:end], "big", signed=True), end
    if kind == 7:
        return struct.unpack_from(">d", payload, place)[0], place + 8
    if kind < 12:
        if kind in (10, 11):
            raise ValueError("no kind of value")
        return (None if kind == 0 else kind - 8), place
    end = place + (kind - 12) // 2
    return (payload[place:end].decode() if kind % 2 else payload[place:end]), end


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """A number of one to nine bytes, seven bits in each but the last, and the place after it."""
    value = 0
    for step in range(8):
        byte = data[place + step]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + step + 1
    value = value << 8 | data[place + 8]
    return value - (1 << 64 if value >> 63 else 0), place + 9
