"""At any call that touches the disk kith may be killed, or the disk refuse: some are tried, by turns."""

import datetime
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nursery import FATES
from sweeping import compile_faults, open_nursery, quick_place, sweep, sweep_recovery

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD is Linux's"),
]
EVERY = 17  # one point in so many; another one each day. `python tests/support/sweeping.py` takes them all
TODAY = datetime.date.today().toordinal() % EVERY


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    library = compile_faults(tmp_path_factory.mktemp("library"))
    if not library:
        pytest.skip("there is no C compiler")
    with open_nursery(library) as process:
        yield process


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: the calls are the same, and nobody waits for a disk."""
    with tempfile.TemporaryDirectory(dir=quick_place() or tmp_path) as folder:
        yield Path(folder)


@pytest.mark.parametrize("action", ["apply one", "apply mixed", "undo mixed", "save"])
def test_nothing_is_lost_and_nothing_half_done(place: Path, nursery: Any, action: str) -> None:
    found = sweep(place, nursery, action, tuple(FATES), slice(TODAY, None, EVERY))
    assert found.points.total() >= 10
    assert not found.faults, f"one point in {EVERY}, from {TODAY}"


def test_a_recovery_is_recovered_from(place: Path, nursery: Any) -> None:
    found = sweep_recovery(place, nursery, range(20 + TODAY, 180, 40), range(5, 200, 60), range(1, 200, 80))
    assert found.points.total() >= 10
    assert not found.faults, f"from {TODAY}"
