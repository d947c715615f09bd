"""One test of a file as a value, and the way from a runner's name of it back to the file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """One test: its name (`test_f`, `TestF.test_g`, `Suite.Name`), its bytes, and what it belongs to.

    `asserts`: it holds an assertion of any kind. `text` is what stands between `start` and `end`.
    """

    name: str
    start: int
    end: int
    asserts: bool
    text: str


def part_of(id: str, parts: Sequence[Part]) -> Part | None:
    """The test that a runner means by `id`, whatever it puts around the name: path, parameters, instance."""
    bare = re.sub(r"\[.*\]$", "", id, flags=re.S).replace("::", ".")
    for part in sorted(parts, key=lambda part: -len(part.name)):
        if bare == part.name or bare.endswith((f".{part.name}", f"/{part.name}")):
            return part
        if re.search(rf"(?:^|[/.]){re.escape(part.name)}/\w+$", bare):  # googletest's parameters
            return part
    return None
