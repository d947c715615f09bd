"""Files of SQLite that somebody else has written in: they do nothing, and say so or are made anew."""

import multiprocessing
import os
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from kith.core.events import Notice, RunStarted
from kith.core.values import Consent
from kith.memory.caches import CacheFile
from kith.memory.index import open_index
from kith.memory.log import Log
from kith.memory.session import Session

TRIGGER = "CREATE TRIGGER yes AFTER INSERT ON {} BEGIN DELETE FROM {}; END"
SCHEMA = "CREATE TABLE notes (name TEXT, text TEXT)"


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = Log(tmp_path / "log.sqlite3")
    with Session(log, "s") as session:
        session.emit(RunStarted("task", "/p", "", "0"))
    return log


@pytest.mark.parametrize(
    "statement",
    [TRIGGER.format("events", "events"), "CREATE VIEW more AS SELECT load_extension('./evil.so')"],
)
def test_of_a_log_with_what_kith_never_makes_only_the_rows_are_used(log: Log, statement: str) -> None:
    log.close()
    change(log.path, statement)
    again = Log(log.path)
    assert "1 events of 1 sessions were saved" in again.mended
    assert not again.query("SELECT * FROM sqlite_master WHERE type IN ('trigger', 'view')")
    assert len(list(again.events("s"))) == 1


def test_caches_with_what_kith_never_makes_are_made_anew(tmp_path: Path) -> None:
    kept = CacheFile(tmp_path, "kind", tmp_path, SCHEMA, "1")
    kept.change(("INSERT INTO notes VALUES (?, ?)", [("a", "b")]))
    kept.close()
    (place,) = (tmp_path / "kind").glob("*.sqlite3")
    change(place, TRIGGER.format("notes", "notes"))
    again = CacheFile(tmp_path, "kind", tmp_path, SCHEMA, "1")
    assert again.usable and again.read("SELECT * FROM notes") == []
    again.close()
    index = open_index(tmp_path, tmp_path)
    index.close()
    change(index.path, "CREATE VIEW more AS SELECT * FROM files")
    index = open_index(tmp_path, tmp_path)
    assert "Rebuilding" in index.note
    index.close()


DEEP = '{"task":' * 3_000


@pytest.mark.parametrize(
    "body", ["", "[]", "null", '"x"', "12", "NaN", DEEP, '{"usage": [1]}', '{"text": {}']
)
@pytest.mark.parametrize("kind", ["RunStarted", "Called"])
def test_an_event_that_is_none_costs_only_itself(log: Log, kind: str, body: str) -> None:
    log.append("s", Notice("x"), ())
    log.append("s", Notice("y"), ())
    log.query("UPDATE events SET kind = ?, body = ? WHERE seq = 2", (kind, body))
    assert [type(record.event).__name__ for record in log.events("s")] == ["RunStarted", "Notice"]
    assert log.left_out("s") == 1
    assert log.past("s").started == RunStarted("task", "/p", "", "0") and log.sessions()[0].task == "task"
    assert not log.applied_ids() and not log.answers(Consent) and not log.of_kind("run")
    assert log.paid(0.0) == 0
    assert log.left_out("s") == 1


def test_what_is_forgotten_or_heard_is_not_in_the_file_any_more(log: Log) -> None:
    log.append("s", Notice("a word that is CANARY"), ())
    log.post("other", "letter", "", '{"words": "CANARY"}')
    ((number, _),) = log.posted("other", "letter")
    log.take([number])
    log.delete("s")
    log.close()
    assert b"CANARY" not in b"".join(
        path.read_bytes() for path in log.path.parent.iterdir() if path.is_file()
    )


# --- first starts in one moment -----------------------------------------------------------------

STARTS, ROUNDS = 6, 60
Start = Callable[[Path], object]


def open_log(folder: Path) -> object:
    log = Log(folder / "log.sqlite3")
    with Session(log, str(os.getpid())) as session:
        session.emit(RunStarted("task", str(folder), "", "0"))
    return log.close()


def open_cache(folder: Path) -> object:
    cache = CacheFile(folder, "kind", folder, "CREATE TABLE notes (name TEXT)", "1")
    assert cache.read("SELECT COUNT(*) FROM notes") == [(0,)]
    return cache.close()


def open_symbols(folder: Path) -> object:
    return open_index(folder, folder).close()


@pytest.mark.slow
@pytest.mark.parametrize("start", [open_log, open_cache, open_symbols])
def test_first_starts_in_one_moment_all_succeed(tmp_path: Path, start: Start) -> None:
    processes = multiprocessing.get_context("fork")
    together = processes.Barrier(STARTS, timeout=60)

    def begin(seed: int) -> None:
        random.seed(seed)
        for number in range(ROUNDS):
            folder = tmp_path / str(number)
            folder.mkdir(exist_ok=True)
            together.wait()
            time.sleep(random.choice((0, 0.001, 0.003, 0.006, 0.01)) * random.random())
            start(folder)

    kiths = [processes.Process(target=begin, args=(seed,)) for seed in range(STARTS)]
    for kith in kiths:
        kith.start()
    for kith in kiths:
        kith.join()
    assert [kith.exitcode for kith in kiths] == [0] * STARTS
