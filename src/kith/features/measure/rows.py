"""Define the rows of measurements: one for each call, and one for each model's part of a task."""

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct, field

from kith.core.values import Timing, Usage


class CallRow(Struct, frozen=True):
    """One measured call, with the model and the machine at that moment.

    `at`: seconds since the epoch at its end. `step` is the path of the run (with role and attempt),
    `evaluated` the prompt tokens that were computed, and `error` "" for an answered call.
    """

    session: str
    at: float
    root: str
    model: str
    purpose: str
    digest: str = ""
    quantisation: str = ""
    parameters: str = ""
    machine: str = ""
    cloud: bool = False
    window: int = 0
    step: str = ""
    attempt: int = 1
    usage: Usage = Usage()
    evaluated: int = 0
    timing: Timing = Timing()
    error: str = ""
    usd: float | None = None
    expected_s: float = 0.0
    slow: str = ""
    busy: float = 0.0
    strategy: str = ""


class LegRow(Struct, frozen=True):
    """One model's part of one task, and its outcome.

    `task` counts the session's tasks from 1, `part` names a piece of a build ("" for a plain task),
    `kind` the sort of work. `after` is the model that gave up before ("": none). `reward` is 1.0 for
    solved, 0.0 for failed, None without evidence. `weight` is the strength of the evidence, `reason` its
    source ("tests", "adopted", "undone", "limit", ...). Of the verdicts None means that nobody looked.
    `cut`: the run was stopped as hopeless. `words` is the task's text, `commit` the commit at its start
    (both "" if unknown), `check` the commands that decided.
    """

    session: str
    task: int
    at: float
    root: str
    model: str
    kind: str
    part: str = ""
    digest: str = ""
    machine: str = ""
    cloud: bool = False
    strategy: str = ""
    after: str = ""
    plan: tuple[str, ...] = ()
    propensity: float = 1.0
    reward: float | None = None
    weight: float = 1.0
    reason: str = ""
    parsed: bool | None = None
    applied: bool | None = None
    passed: bool | None = None
    adopted: bool | None = None
    undone: bool = False
    cut: bool = False
    steps: int = 0
    attempts: int = 0
    seconds: float = 0.0
    usd: float | None = None
    usage: Usage = Usage()
    evaluated: int = 0
    words: str = ""
    commit: str = ""
    check: tuple[str, ...] = ()
    failures: dict[str, int] = field(default_factory=dict)

    @property
    def solved(self) -> bool | None:
        """True if it was solved; None without evidence."""
        return None if self.reward is None else self.reward >= 0.5


Row = TypeVar("Row", CallRow, LegRow)


def by_model(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each model, in the order of their names."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.model, []).append(row)
    return dict(sorted(found.items()))
