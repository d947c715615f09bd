"""Forecast how long a task takes from how long such tasks took."""

from collections.abc import Sequence
from typing import Final

from kith.agent.forecasts import TaskForecast
from kith.agent.project import Project
from kith.core.numbers import median
from kith.features.measure.intervals import quantile
from kith.features.measure.measured_rows import read_measured
from kith.features.measure.rows import LegRow
from kith.memory.log import Log

_ALIKE: Final = 5  # tasks of the same kind, from which on they say something
_ANY: Final = 8  # tasks of any kind
_LATELY: Final = 50
_LOW, _HIGH = 0.1, 0.9


def forecast_task(project: Project, model: str, kind: str) -> TaskForecast | None:
    """Forecast a model's task by those of its kind, else by all of them; None while there are too few."""
    log = Log(project.log.path)  # a connection belongs to its thread
    legs = read_measured(log, cache=project.settings.cache).legs
    own = [leg for leg in legs if leg.model == model and leg.seconds > 0 and not leg.part]
    alike = [leg for leg in own if leg.kind == kind]
    if len(alike) >= _ALIKE:
        return _by(alike)
    return _by(own) if len(own) >= _ANY else None


def _by(legs: Sequence[LegRow]) -> TaskForecast:
    late = legs[-_LATELY:]
    tokens = [leg.usage.input + leg.usage.output for leg in late]
    return forecast([leg.seconds for leg in late], round(median(tokens)))


def forecast(seconds: Sequence[float], tokens: int = 0) -> TaskForecast:
    """The forecast by these tasks, in their order; each is held against the median of those before it."""
    ordered = sorted(seconds)
    offs = [
        max(took / expected, expected / took)
        for number, took in enumerate(seconds)
        if number and (expected := median(seconds[:number])) > 0
    ]
    low, mid, high = (quantile(ordered, share) for share in (_LOW, 0.5, _HIGH))
    return TaskForecast(low, mid, high, median(offs) if offs else 1.0, tokens)
