"""Share what a fresh checkout needs before the first test: each process of a run compiles some of the files.

Each process loads kith and all test files, whose asserts pytest rewrites. Where nothing of it is cached, each
would compile them all, which takes longer than all else that it does before the first test.
"""

import os
import py_compile
import sys
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from places import SOURCE

try:
    from _pytest.assertion.rewrite import PYC_TAIL, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir
except ImportError:  # another pytest calls these otherwise: each process rewrites all files, as ever
    PYC_TAIL = ""


def pytest_sessionstart(session: pytest.Session) -> None:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not PYC_TAIL or not worker or sys.dont_write_bytecode:
        return
    number, count = int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    tests = test_files(session.config)
    for file in in_turn(sorted({*SOURCE.rglob("*.py"), *tests}), number, count):
        if file in tests:
            _rewrite(file, session.config)
        elif not Path(cache_from_source(str(file))).exists():  # Python looks whether it is of today
            py_compile.compile(str(file), doraise=False, quiet=2)


def test_files(config: pytest.Config) -> set[Path]:
    """The files below the places that this run was asked for."""
    places = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    return {file for place in places for file in place.rglob("test_*.py")}


def in_turn(files: list[Path], number: int, count: int) -> Iterator[Path]:
    """The own share first; then what the others have not done yet, from their end."""
    yield from files[number::count]
    for step in range(1, count):
        yield from reversed(files[(number + step) % count :: count])


def _rewrite(file: Path, config: pytest.Config) -> None:
    folder = get_cache_dir(file)
    rewritten = folder / f"{file.stem}{PYC_TAIL}"
    if not rewritten.exists():  # pytest looks whether it is of today
        folder.mkdir(exist_ok=True)
        digest, code = _rewrite_test(file, config)
        _write_pyc(config.stash[assertstate_key], code, digest, rewritten)
