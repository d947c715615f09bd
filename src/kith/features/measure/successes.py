"""What became of models' work: solved, applied, undone, and what it took; tables for people and models."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kith.features.measure.intervals import Share, Spread, share_of
from kith.features.measure.rows import LegRow
from kith.features.measure.speeds import size_class

_DIGITS: Final = 3  # of shares


class Rows(Protocol):
    """Whatever holds what was measured."""

    @property
    def legs(self) -> Sequence[LegRow]: ...


@dataclass(frozen=True, slots=True)
class Success:
    """One model's work. `kind` "": any; `size`: with prompts of so many tokens on average, 0: any.

    `solved` counts only what there is evidence for, as the others count only what somebody looked at.
    `seconds`, `steps` (calls) and `tokens` (read anew and written) are of each task. `usd`: together, None
    where a price is missing.
    """

    model: str
    kind: str
    size: int
    tasks: int
    solved: Share
    parsed: Share
    applied: Share
    passed: Share
    adopted: Share
    undone: Share
    seconds: Spread
    steps: Spread
    tokens: Spread
    usd: float | None


def measure_successes(legs: Iterable[LegRow]) -> tuple[Success, ...]:
    """Every model with its kinds of work and sizes of prompt, those of any kind and size first."""
    groups: dict[tuple[str, str, int], list[LegRow]] = defaultdict(list)
    for leg in legs:
        for kind in ("", leg.kind):
            for size in (0, leg_size(leg)):
                groups[leg.model, kind, size].append(leg)
    return tuple(_success(*key, found) for key, found in sorted(groups.items()))


def _success(model: str, kind: str, size: int, legs: list[LegRow]) -> Success:
    paid = [leg.usd for leg in legs if leg.usd is not None]
    return Success(
        model,
        kind,
        size,
        len(legs),
        share_of([leg.solved for leg in legs if leg.solved is not None]),
        share_of([leg.parsed for leg in legs if leg.parsed is not None]),
        share_of([leg.applied for leg in legs if leg.applied is not None]),
        share_of([leg.passed for leg in legs if leg.passed is not None]),
        share_of([leg.adopted for leg in legs if leg.adopted is not None]),
        share_of([leg.undone for leg in legs if leg.adopted]),
        Spread.of([leg.seconds for leg in legs]),
        Spread.of([float(leg.steps) for leg in legs]),
        Spread.of([float(tokens_of(leg)) for leg in legs]),
        sum(paid) if len(paid) == len(legs) else None,
    )


def leg_size(leg: LegRow) -> int:
    """The class of its prompts' mean length."""
    return size_class(leg.usage.input / max(leg.steps, 1))


def tokens_of(leg: LegRow) -> int:
    """Tokens that were computed for it: read anew, and written."""
    return leg.evaluated + leg.usage.output


def describe_models(measured: Rows) -> tuple[dict[str, Any], ...]:
    """What each model did at each kind of work, as plain data: what a model that delegates is shown.

    A row has `model`, `kind`, `cloud`, `tasks`; `judged` (of these, how many there is evidence for),
    `solved` (their share, None without any) with its 95 % interval `solved_low` and `solved_high`; `applied`
    (share of the tasks whose edits landed) with `applied_low` and `applied_high`; `p50_s` and `p90_s`
    (seconds a task), `tokens` (median, read anew and written) and `usd` (a task, None where a price is
    missing). Rows are in the order of model and kind; there is none for what was never tried.
    """
    cloud = {leg.model: leg.cloud for leg in measured.legs}
    return tuple(
        {
            "model": each.model,
            "kind": each.kind,
            "cloud": cloud[each.model],
            "tasks": each.tasks,
            "judged": each.solved.number,
            **_bounds("solved", each.solved),
            **_bounds("applied", each.applied),
            "p50_s": _rounded(each.seconds.median, 1),
            "p90_s": _rounded(each.seconds.p90, 1),
            "tokens": _rounded(each.tokens.median, 0),
            "usd": _rounded(None if each.usd is None else each.usd / each.tasks, 6),
        }
        for each in measure_successes(measured.legs)
        if each.kind and not each.size
    )


def _bounds(name: str, share: Share) -> dict[str, float | None]:
    low, high = share.interval or (None, None)
    figures = {name: share.share, f"{name}_low": low, f"{name}_high": high}
    return {key: _rounded(value, _DIGITS) for key, value in figures.items()}


def _rounded(value: float | None, digits: int) -> float | None:
    if value is None:
        return None
    return round(value, digits) if digits else float(round(value))
