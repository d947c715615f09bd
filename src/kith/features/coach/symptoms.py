"""How a model does with one kind of work, in figures: what the coach looks at."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kith.features.coach.live import count
from kith.features.coach.strategy import is_of
from kith.features.measure.intervals import Spread
from kith.features.measure.rows import CallRow, LegRow

RECENT = 200  # tasks


@dataclass(frozen=True, slots=True)
class Symptoms:
    """What was measured of one model and kind of work, lately.

    `solved` is a share with its 95 % interval, `seconds` the median and the ninth decile of a task, `read`
    and `written` the same of a call's new and answered tokens, `reading` the share of the time that goes
    into reading prompts. `failures` counts tasks, not events, by what went wrong.
    """

    model: str
    kind: str
    tasks: int = 0
    solved: tuple[float, float, float] = (0.0, 0.0, 1.0)
    applied: float | None = None
    seconds: tuple[float, float] = (0.0, 0.0)
    read: tuple[float, float] = (0.0, 0.0)
    written: tuple[float, float] = (0.0, 0.0)
    rates: tuple[float, float] = (0.0, 0.0)
    reading: float = 0.0
    window: int = 0
    machine: str = ""
    failures: Mapping[str, int] = field(default_factory=dict)
    worst: tuple[LegRow, ...] = ()

    def share(self, *sorts: str) -> float:
        """The share of tasks in which one of these went wrong, at most."""
        return min(1.0, sum(self.failures.get(sort, 0) for sort in sorts) / self.tasks) if self.tasks else 0.0


def find_symptoms(
    key: str, model: str, kind: str, strategy: str, legs: Sequence[LegRow], calls: Sequence[CallRow]
) -> Symptoms:
    """The figures of the newest tasks of one kind that a model did in one way."""
    own = [leg for leg in legs if leg.kind == kind and is_of(leg, key, model)]
    own = [leg for leg in own if leg.strategy == strategy][-RECENT:]
    judged = [leg for leg in own if leg.reward is not None]
    counted, told = count(judged), [leg.applied for leg in own if leg.applied is not None]
    asked = {leg.session for leg in own}
    made = [call for call in calls if call.session in asked and is_of(call, key, model) and not call.error]
    prefill, decode = (sum(getattr(call.timing, part) for call in made) for part in ("prefill_s", "decode_s"))
    new, out = sum(call.evaluated for call in made), sum(call.usage.output for call in made)
    failures = Counter(sort for leg in own for sort in leg.failures)
    unsolved = (leg for leg in reversed(judged) if not leg.reward and leg.failures)
    return Symptoms(
        model=model,
        kind=kind,
        tasks=len(own),
        solved=(counted.good / counted.seen if counted.seen else 0.0, *counted.interval),
        applied=sum(told) / len(told) if told else None,
        seconds=_spread([leg.seconds for leg in own if leg.seconds]),
        read=_spread([float(call.evaluated) for call in made]),
        written=_spread([float(call.usage.output) for call in made]),
        rates=(new / prefill if prefill else 0.0, out / decode if decode else 0.0),
        reading=prefill / (prefill + decode) if prefill + decode else 0.0,
        window=max((call.window for call in made), default=0),
        machine=next((leg.machine for leg in reversed(own) if leg.machine), ""),
        failures=dict(failures.most_common()),
        worst=tuple(leg for leg, _ in zip(unsolved, range(3), strict=False)),
    )


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """The median and the ninth decile; zeros for nothing."""
    spread = Spread.of(values)
    return spread.median or 0.0, spread.p90 or 0.0
