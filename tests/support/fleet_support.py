"""What the fleet's tests are given."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from kith.features.fleet.database import Fleet

# Does something with the fleet's database of a test.
Within = Callable[[Callable[[Fleet], Coroutine[Any, Any, Any]]], Any]


def faketime() -> str:
    """The library that gives a process another clock."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if not found:
        pytest.skip("faketime is not installed")
    return str(found[0])
