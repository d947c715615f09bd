"""A damaged log: whatever can be read is saved, the damaged file is kept, and a sentence says so."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kith.core.errors import BusyError, KithError
from kith.core.events import Notice, RunStarted
from kith.memory.inbox import Inbox, Letter
from kith.memory.log import Log
from kith.memory.salvage import read_rows
from kith.memory.session import Session

PAGE = 4096
LONG = "long " * 3_000  # some pages of overflow


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = Log(tmp_path / "log.sqlite3")
    for number in range(6):
        with Session(log, f"s{number}") as session:
            session.emit(RunStarted(f"task {number}", "/p", "", "0"))
            for words in range(10):
                session.emit(Notice(f"{number} {words} " + "z" * 300))
            session.emit(Notice(LONG))
    Inbox(log, "s1").write(Letter("hello"))
    return log


def bodies(log: Log) -> set[tuple[int, str]]:
    return set(log.query("SELECT seq, body FROM events"))


def test_the_pages_hold_what_sqlite_reads(log: Log) -> None:
    assert told(log.path) == bodies(log)  # most of it in the write-ahead log
    before = bodies(log)
    log.close()
    assert told(log.path) == before


def told(path: Path) -> set[tuple[int, str]]:
    events = ((seq, columns) for seq, columns in read_rows(path) if len(columns) == 6 and columns[5] != 0)
    return {(seq, str(columns[5])) for seq, columns in events}


@pytest.mark.parametrize("damage", ["zeroed", "flipped", "cut", "headless", "all"])
def test_what_can_be_read_is_saved(log: Log, damage: str) -> None:
    before = bodies(log)
    log.close()
    whole, chance = log.path.read_bytes(), random.Random(3)
    last = len(whole) // PAGE - 1
    page = 0 if damage == "headless" else last
    kept, rest = whole[: page * PAGE], whole[(page + 1) * PAGE :]
    middle = bytearray(whole[page * PAGE : (page + 1) * PAGE])
    for _ in range(800):
        middle[chance.randrange(PAGE)] ^= 255
    harmed = {
        "zeroed": kept + bytes(PAGE) + rest,
        "flipped": kept + middle + rest,
        "cut": kept[:-100],
        "headless": bytes(PAGE) + rest,
        "all": b"not a database at all" * 100,
    }
    log.path.write_bytes(harmed[damage])
    again = Log(log.path)
    if not again.mended:  # found where it is read
        with pytest.raises(KithError, match="repairs"):
            again.query("SELECT COUNT(body || kind || at) FROM events NOT INDEXED")
        again.close()
        again = Log(log.path)
    saved = bodies(again)
    assert "log.sqlite3.damaged-1" in again.mended
    assert saved <= before and (len(saved) > len(before) / 2 or damage == "all")
    assert (log.path.parent / "log.sqlite3.damaged-1").read_bytes() == harmed[damage]
    with Session(again, "new") as session:
        session.emit(Notice("and so on"))
    again.close()
    assert Log(log.path).mended == ""


def test_what_was_left_for_a_session_is_saved_too(log: Log) -> None:
    log.close()
    harmed = bytearray(log.path.read_bytes())
    harmed[:16] = bytes(16)
    log.path.write_bytes(harmed)
    again = Log(log.path)
    assert [letter.words for letter in Inbox(again, "s1").letters()] == ["hello"]
    assert again.past("s3").started == RunStarted("task 3", "/p", "", "0")


def test_nothing_is_mended_while_somebody_works_with_it(log: Log) -> None:
    with Session(log, "s1"):
        log.path.with_name("log.sqlite3-damaged").touch()
        with pytest.raises(BusyError):
            Log(log.path)
    log.close()
    assert "72 events of 6 sessions" in Log(log.path).mended


def test_who_had_it_open_goes_on_with_the_mended_file(log: Log) -> None:
    log.path.with_name("log.sqlite3-damaged").touch()
    assert Log(log.path).mended
    with Session(log, "s1") as session:
        session.emit(Notice("said later"))
    assert any(record.event == Notice("said later") for record in Log(log.path).events("s1"))


def test_a_bad_byte_costs_its_own_row(log: Log) -> None:
    log.close()
    with closing(sqlite3.connect(log.path, isolation_level=None)) as db:
        db.execute("UPDATE events SET body = CAST(x'7bff7d' AS TEXT) WHERE seq = 2")
    again = Log(log.path)
    assert len(list(again.events("s0"))) == 11 and again.left_out("s0") == 1
    assert len(list(again.events("s1"))) == 12 and not again.mended


@pytest.mark.slow
def test_wherever_a_log_is_damaged_the_other_pages_are_saved(log: Log) -> None:
    before = bodies(log)
    log.close()
    whole, chance = log.path.read_bytes(), random.Random(3)
    for page in range(0, len(whole), PAGE):
        flipped = bytearray(whole)
        for _ in range(40):
            flipped[page + chance.randrange(PAGE)] ^= 255
        ways = (flipped, whole[:page] + bytes(PAGE) + whole[page + PAGE :], whole[:page])
        damaged = ways[page // PAGE % 3]
        log.path.write_bytes(damaged)
        log.path.with_name("log.sqlite3-damaged").touch()
        again = Log(log.path)
        saved = {seq for seq, _ in bodies(again)}
        again.close()
        assert len(before) - len(saved) < 30 or len(damaged) < len(whole)
        assert saved <= {seq for seq, _ in before}
