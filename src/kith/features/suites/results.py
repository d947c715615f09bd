"""Results of suites: rows in a file that only grows, and what they say of models and versions."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import comb
from pathlib import Path

import msgspec
from msgspec import Struct

from kith.core.errors import UsageError
from kith.features.measure.intervals import wilson


class SuiteResult(Struct, frozen=True, omit_defaults=True):
    """A task that one model did with one version of kith, and the verdict of its hidden tests."""

    task: str
    model: str
    kith: str
    passed: bool
    asked: str = ""  # the model as it was asked for; "": the first found
    score: float = 0.0
    verdict: str = ""  # kith's own: proven, held, unproven
    code: int = 0
    read: int = 0
    written: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    reason: str = ""


class Contender(Struct, frozen=True):
    """A model with a version of kith: solved tasks with the 95 % interval (Wilson), tokens, time, dollars."""

    model: str
    kith: str
    tasks: int
    solved: int
    low: float
    high: float
    read: int
    written: int
    usd: float
    seconds: float
    claimed: int  # tasks that kith called proven or held, and that the hidden tests fail


class Pair(Struct, frozen=True):
    """Two contenders on the tasks that both did: those that only one solved, and how probable chance is."""

    first: str
    second: str
    tasks: int
    only_first: int
    only_second: int
    chance: float


def read_results(file: Path) -> list[SuiteResult]:
    """The rows of a file; none where there is no file yet. Raises UsageError with the line."""
    if not file.exists():
        return []
    rows = list[SuiteResult]()
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            rows.append(msgspec.json.decode(line, type=SuiteResult))
        except msgspec.DecodeError as error:
            raise UsageError(f"{file}, line {number}: {error}.") from error
    return rows


def add_result(file: Path, row: SuiteResult) -> None:
    with file.open("ab") as out:
        out.write(msgspec.json.encode(row) + b"\n")


def name_of(row: SuiteResult | Contender) -> str:
    return f"{row.model}, kith {row.kith}"


def sum_up(rows: Iterable[SuiteResult]) -> list[Contender]:
    """Each model with each version, the best first."""
    ordered = sorted(rows, key=name_of)
    contenders = list[Contender]()
    for _, group in groupby(ordered, key=name_of):
        own = list(group)
        solved = sum(row.passed for row in own)
        low, high = wilson(solved, len(own)) or (0.0, 1.0)
        contenders.append(
            Contender(
                own[0].model,
                own[0].kith,
                len(own),
                solved,
                low,
                high,
                sum(row.read for row in own),
                sum(row.written for row in own),
                sum(row.usd for row in own),
                sum(row.seconds for row in own),
                sum(not row.passed and row.verdict in ("proven", "held") for row in own),
            )
        )
    return sorted(contenders, key=lambda each: -each.solved / each.tasks)


def compare_pairs(rows: Sequence[SuiteResult]) -> list[Pair]:
    """The best contender beside each other one, task by task."""
    by_name: dict[str, dict[str, bool]] = {}
    for row in rows:
        by_name.setdefault(name_of(row), {})[row.task] = row.passed
    first, *others = [name_of(each) for each in sum_up(rows)] or [""]
    return [_pair(first, second, by_name[first], by_name[second]) for second in others]


def _pair(first: str, second: str, one: dict[str, bool], other: dict[str, bool]) -> Pair:
    both = one.keys() & other.keys()
    only_first = sum(one[task] and not other[task] for task in both)
    only_second = sum(other[task] and not one[task] for task in both)
    return Pair(first, second, len(both), only_first, only_second, sign_test(only_first, only_second))


def sign_test(one: int, other: int) -> float:
    """Probability of a split at least as uneven if neither is better (exact, two-sided).

    McNemar's test in its exact form: Q. McNemar, Psychometrika 12 (1947).
    """
    number = one + other
    tail = sum(comb(number, each) for each in range(min(one, other) + 1)) / 2.0**number
    return min(1.0, 2 * tail)
