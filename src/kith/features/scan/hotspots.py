"""Where changes and complexity meet: the files that a project's own history points at."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Changed:
    """How often a file was committed, and how many lines that added and removed together."""

    commits: int
    lines: int


@dataclass(frozen=True, slots=True)
class HotSpot:
    """A file that is often changed and complex; `score` is 1.0 for the hottest."""

    path: str
    commits: int
    complexity: int
    score: float


def count_changes(records: Iterable[str]) -> dict[str, Changed]:
    """What `git log --numstat` tells of each file; a record is `added<TAB>removed<TAB>path`, `-` for binary.

    Records of another form are left out.
    """
    found: dict[str, Changed] = {}
    for record in records:
        added, _, rest = record.strip("\n").partition("\t")
        removed, _, path = rest.partition("\t")
        if not path:
            continue
        known = found.get(path, Changed(0, 0))
        lines = sum(int(number) for number in (added, removed) if number.isdecimal())
        found[path] = Changed(known.commits + 1, known.lines + lines)
    return found


def find_hotspots(changes: Mapping[str, Changed], complexity: Mapping[str, int]) -> tuple[HotSpot, ...]:
    """The files by commits times complexity, the hottest first (after Tornhill, Your Code as a Crime Scene).

    A file without complexity (no functions, not code) or without changes is no hot spot.
    """
    products = {
        path: each.commits * complexity[path] for path, each in changes.items() if complexity.get(path, 0) > 0
    }
    most = max(products.values(), default=0) or 1
    spots = (
        HotSpot(path, changes[path].commits, complexity[path], product / most)
        for path, product in products.items()
    )
    return tuple(sorted(spots, key=lambda each: (-each.score, each.path)))
