"""Many kiths that start for the first time in one moment: each of them gets a log."""

import multiprocessing
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kith.core.events import RunStarted
from kith.memory.caches import CacheFile
from kith.memory.index import open_index
from kith.memory.log import Log
from kith.memory.session import Session

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
