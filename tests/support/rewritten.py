"""Share the rewriting of asserts: each process of a run rewrites some test files, and reads the others.

Each process collects all test files. In a fresh checkout each would rewrite them all, which takes longer than
all else that it does before the first test.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

try:
    from _pytest.assertion.rewrite import PYC_TAIL, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir
except ImportError:  # another pytest calls these otherwise: each process rewrites all files, as ever
    PYC_TAIL = ""


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not PYC_TAIL or not worker or sys.dont_write_bytecode:
        return
    number, count = int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for file in in_turn(test_files(config), number, count):
        folder = get_cache_dir(file)
        rewritten = folder / f"{file.stem}{PYC_TAIL}"
        if rewritten.exists():  # pytest looks whether it is of today
            continue
        folder.mkdir(exist_ok=True)
        digest, code = _rewrite_test(file, config)
        _write_pyc(config.stash[assertstate_key], code, digest, rewritten)


def test_files(config: pytest.Config) -> list[Path]:
    """The files below the places that this run was asked for."""
    places = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    return sorted({file for place in places for file in place.rglob("test_*.py")})


def in_turn(files: list[Path], number: int, count: int) -> Iterator[Path]:
    """The own share first; then what the others have not done yet, from their end."""
    yield from files[number::count]
    for step in range(1, count):
        yield from reversed(files[(number + step) % count :: count])
