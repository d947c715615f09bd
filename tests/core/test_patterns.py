"""Patterns that are compiled late match as any other, and none of kith's is broken."""

import re
from pathlib import Path

import pytest

import kith
from kith.core.patterns import lazy_pattern

SOURCE = Path(kith.__file__).parent
LAZY = [
    ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts)
    for file in sorted(SOURCE.rglob("*.py"))
    if " = lazy_pattern(" in file.read_text(encoding="utf-8")
]


def test_a_late_pattern_matches_as_a_compiled_one() -> None:
    late, early = lazy_pattern(r"(?P<word>\w+)", re.A), re.compile(r"(?P<word>\w+)", re.A)
    for _ in range(2):  # the second time without compiling
        assert late.findall("two words") == early.findall("two words")
        assert late.sub("-", "two words") == early.sub("-", "two words")
        assert (late.pattern, late.flags, late.groupindex) == (early.pattern, early.flags, early.groupindex)


@pytest.mark.parametrize("name", LAZY)
def test_every_late_pattern_compiles(name: str) -> None:
    module = __import__(name, fromlist=["_"])
    late = [value for value in vars(module).values() if type(value).__name__ == "_LazyPattern"]
    assert late and all(isinstance(value.flags, int) for value in late)
