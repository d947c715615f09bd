"""Measure models' reading and writing speed, and the success of their work, from rows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from kith.features.measure.intervals import Share, Spread, share_of
from kith.features.measure.rows import CallRow, LegRow

# How fast models read and write, from calls: by model, by purpose, and by how long the prompt was.

_SMALLEST: Final = 2_048  # tokens of a prompt in the first class; each further one is twice as wide
_TELLING: Final = 32  # tokens, from which on the time for them says something of a speed
_LOADED_S: Final = 0.5  # a shorter load is only a look at what is loaded


class ModelSpeed(Struct, frozen=True):
    """One model's speed. `purpose` "": any; `size`: prompts of at most so many tokens, 0: of any length.

    `read` and `write` are tokens a second, `first` and `load` seconds to the first token and to load the
    model, where that was done.
    """

    model: str
    purpose: str
    size: int
    calls: int
    read: Spread
    write: Spread
    first: Spread
    load: Spread


def measure_speeds(calls: Iterable[CallRow]) -> tuple[ModelSpeed, ...]:
    """Every model, and every purpose and size of prompt that it had, those of any purpose and size first."""
    groups: dict[tuple[str, str, int], list[CallRow]] = defaultdict(list)
    for call in calls:
        if call.error:
            continue
        for purpose in ("", call.purpose):
            for size in (0, size_class(call.usage.input)):
                groups[call.model, purpose, size].append(call)
    return tuple(_speed(*key, found) for key, found in sorted(groups.items()))


def _speed(model: str, purpose: str, size: int, calls: list[CallRow]) -> ModelSpeed:
    return ModelSpeed(
        model,
        purpose,
        size,
        len(calls),
        Spread.of(list(_known(map(read_rate, calls)))),
        Spread.of(list(_known(map(write_rate, calls)))),
        Spread.of([first for call in calls if (first := first_token_s(call)) > 0]),
        Spread.of([call.timing.load_s for call in calls if call.timing.load_s > _LOADED_S]),
    )


def size_class(tokens: float) -> int:
    """The bound of the class that a prompt is in: 2,048 tokens, or twice, four times ... as many."""
    bound = _SMALLEST
    while bound < tokens:
        bound *= 2
    return bound


def read_rate(call: CallRow) -> float | None:
    """Tokens a second that were computed of the prompt; None where too few were, or nobody told the time."""
    seconds = call.timing.prefill_s
    return call.evaluated / seconds if call.evaluated >= _TELLING and seconds > 0 else None


def write_rate(call: CallRow) -> float | None:
    """Tokens a second that were written; where the server tells no time, since the first one arrived."""
    timing = call.timing
    seconds = timing.decode_s
    if not seconds and timing.first_token_s > 0:
        seconds = timing.total_s - timing.first_token_s
    return call.usage.output / seconds if call.usage.output >= _TELLING and seconds > 0 else None


def first_token_s(call: CallRow) -> float:
    """Seconds to the first token, without the time in which the server refused; 0.0 where nobody told."""
    return max(0.0, call.timing.first_token_s - call.timing.refused_s)


def _known(values: Iterable[float | None]) -> Iterator[float]:
    return (value for value in values if value is not None)


_DIGITS: Final = 3  # of shares


class Success(Struct, frozen=True):
    """One model's work. `kind` "": any; `size`: with prompts of so many tokens on average, 0: any.

    `solved` counts only what there is evidence for, as the others count only what somebody looked at.
    `seconds`, `steps` (calls) and `tokens` (computed and written) are of each task. `usd`: together, None
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
    """Tokens that were computed for it: prompt and reply."""
    return leg.evaluated + leg.usage.output


def describe_models(legs: Sequence[LegRow]) -> tuple[dict[str, Any], ...]:
    """Describe each model's results at each kind of work, as plain data for a model that delegates.

    - `model`, `kind`, `cloud`, `tasks`
    - `judged`: the tasks with evidence; `solved`: their share, None without any, with its 95 % interval
      `solved_low` and `solved_high`
    - `applied`: the share of tasks whose edits landed, with `applied_low` and `applied_high`
    - `p50_s` and `p90_s`: seconds of a task; `tokens`: median, computed and written
    - `usd`: cost of a task, None where a price is missing

    Rows are sorted by model and kind; kinds that were never tried have none.
    """
    cloud = {leg.model: leg.cloud for leg in legs}
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
        for each in measure_successes(legs)
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
