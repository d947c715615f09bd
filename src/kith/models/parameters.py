"""How many parameters a model has, by its name."""

import re
from typing import Final

_SIZE: Final = re.compile(r"(?<![\w.])(?:(\d+)x)?(\d+(?:\.\d+)?)\s*([bm])(?![a-z0-9])")


def billions(words: str) -> float | None:
    """The size that a model's name or description tells ("qwen3:4b", "14.8B", "8x7b"), in 1e9 parameters."""
    found = _SIZE.search(words.lower())
    if not found:
        return None
    experts, number, unit = found.groups()
    return int(experts or 1) * float(number) * (1.0 if unit == "b" else 0.001)
