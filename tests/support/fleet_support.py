"""What the fleet's tests are given."""

from collections.abc import Callable, Coroutine
from typing import Any

from kith.features.fleet.database import Fleet

# Does something with the fleet's database of a test.
Within = Callable[[Callable[[Fleet], Coroutine[Any, Any, Any]]], Any]
