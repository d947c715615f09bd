"""Read what coverage tools report: the JSON of coverage.py, gcovr and gcov."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kith.gates.reports import Coverage, ProjectPaths

_FAULTS = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


def read_coverage(files: Mapping[str, bytes], place: ProjectPaths) -> Coverage | None:
    """The project's own files, by whichever report there is; None when there is none that can be read."""
    for name, read in (("coverage.json", _coverage_py), ("gcovr.json", _gcovr), ("gcov.jsonl", _gcov)):
        if name in files:
            try:
                return read(files[name], place)
            except _FAULTS:
                continue
    return None


def _coverage_py(data: bytes, place: ProjectPaths) -> Coverage | None:
    """https://coverage.readthedocs.io/en/latest/commands/cmd_json.html"""
    ran: dict[str, frozenset[int]] = {}
    missed: dict[str, frozenset[int]] = {}
    branches: dict[str, tuple[int, int]] = {}
    for name, told in json.loads(data)["files"].items():
        path = place.locate(name)
        if not path:
            continue
        ran[path], missed[path] = _numbers(told["executed_lines"]), _numbers(told["missing_lines"])
        summary = told["summary"]
        if summary.get("num_branches"):
            branches[path] = (int(summary["covered_branches"]), int(summary["num_branches"]))
    return Coverage(ran, missed, branches) if ran else None


def _numbers(lines: Iterable[Any]) -> frozenset[int]:
    return frozenset(int(line) for line in lines)


def _gcovr(data: bytes, place: ProjectPaths) -> Coverage | None:
    """https://gcovr.com/en/stable/output/json.html; old versions say `file`, some say `filename`."""
    told = json.loads(data)["files"]
    return _counted(((each.get("file") or each["filename"], each["lines"]) for each in told), place)


def _gcov(data: bytes, place: ProjectPaths) -> Coverage | None:
    """One JSON document a line, for each object: `gcov --json-format`, in GCC's manual."""
    documents = [json.loads(line) for line in data.splitlines() if line.strip()]
    told = [each for document in documents for each in document["files"]]
    return _counted(((each["file"], each["lines"]) for each in told), place)


def _counted(files: Iterable[tuple[str, Any]], place: ProjectPaths) -> Coverage | None:
    """Lines with their counts, as gcov and gcovr agree on; a header is told once for each object."""
    counts: dict[str, dict[int, int]] = {}
    taken: dict[str, dict[tuple[int, int], bool]] = {}
    for name, lines in files:
        path = place.locate(str(name))
        if not path:
            continue
        for number, count, branches in _lines(lines):
            seen = counts.setdefault(path, {})
            seen[number] = seen.get(number, 0) + count
            for at, hit in enumerate(branches):
                paths = taken.setdefault(path, {})
                paths[number, at] = hit or paths.get((number, at), False)
    if not counts:
        return None
    return Coverage(
        {path: frozenset(line for line, count in seen.items() if count) for path, seen in counts.items()},
        {path: frozenset(line for line, count in seen.items() if not count) for path, seen in counts.items()},
        {path: (sum(hits.values()), len(hits)) for path, hits in taken.items()},
    )


def _lines(lines: Any) -> Iterator[tuple[int, int, list[bool]]]:
    """(line, count, which branches were taken), without the branches that only an exception takes."""
    for line in lines:
        if line.get("gcovr/noncode") or line.get("gcovr/excluded"):
            continue
        branches = [bool(each["count"]) for each in line.get("branches", ()) if not each.get("throw")]
        yield int(line["line_number"]), int(line["count"]), branches
