"""Parameters of tests of which a few are tried in every run, and all of them in the slow one."""

from collections.abc import Iterable
from typing import Any

import pytest


def first(values: Iterable[Any], number: int = 1) -> list[Any]:
    """The values for `pytest.mark.parametrize`: the first ones as they are, the others marked slow."""
    return [value if at < number else _slow(value) for at, value in enumerate(values)]


def _slow(value: Any) -> Any:
    parts = value if isinstance(value, tuple) else (value,)
    return pytest.param(*parts, marks=pytest.mark.slow)
