"""Tell how long a task will take, where a feature knows it from the tasks before."""

import asyncio
from typing import Final, Protocol

from msgspec import Struct

from kith.agent.project import Project
from kith.core.events import Notice
from kith.core.model import Emit
from kith.core.numbers import time_text
from kith.settings.features import find_part

LATER_S: Final = 0.5  # the first request goes before: reading what was measured takes time of its own


class TaskForecast(Struct, frozen=True):
    """The seconds of a task: the median of those before, and the bounds within which 8 of 10 were.

    `factor`: by how much such forecasts were off before, in the middle (1.0: not at all). `tokens`: read and
    written, the median.
    """

    low_s: float
    mid_s: float
    high_s: float
    factor: float
    tokens: int


class Foretell(Protocol):
    """Forecasts a model's tasks of one kind; None while too little is known. It may run in any thread."""

    def __call__(self, project: Project, model: str, kind: str, /) -> TaskForecast | None: ...


def forecast_for(project: Project, model: str, kind: str) -> TaskForecast | None:
    """The forecast of one task; None where nothing is known."""
    foretell: Foretell | None = find_part(lambda feature: feature.foretell)
    return foretell(project, model, kind) if foretell else None


async def tell_forecast(
    project: Project, emit: Emit, model: str, kind: str, *, after_s: float = LATER_S
) -> None:
    """Tell the person how long the task that begins will take."""
    await asyncio.sleep(after_s)
    found = await asyncio.to_thread(forecast_for, project, model, kind)
    if found:
        low, mid, high = map(time_text, (found.low_s, found.mid_s, found.high_s))
        off = f"such forecasts are off by a factor of {found.factor:.1f}"
        emit(Notice(f"Tasks like this take about {mid} here ({low} to {high}; {off}).", topic="forecast"))
