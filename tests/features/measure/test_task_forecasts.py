"""How long a task will take, from the tasks before."""

import asyncio
import random
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kith.agent.forecasts import tell_forecast
from kith.agent.project import Project
from kith.core.events import Event, Notice
from kith.features.measure.task_forecasts import forecast, forecast_task
from measuring import MODELS, a_task, write


@given(st.lists(st.floats(1, 1e4), min_size=1, max_size=60))
def test_a_forecast_is_in_order_and_no_better_than_exact(seconds: list[float]) -> None:
    found = forecast(seconds)
    assert min(seconds) <= found.low_s <= found.mid_s <= found.high_s <= max(seconds)
    assert found.factor >= 1


def test_the_factor_is_how_far_medians_before_were_off() -> None:
    assert forecast([10.0] * 9).factor == 1.0
    assert forecast([10.0, 20.0]).factor == 2.0


def test_it_is_told_once_enough_tasks_are_known(repository: Path) -> None:
    project, rng, heard = Project.open(repository, {}), random.Random(1), list[Event]()

    def tell() -> None:
        asyncio.run(tell_forecast(project, heard.append, MODELS[0].model, "edit-small", after_s=0.0))

    tell()
    assert heard == [] and forecast_task(project, MODELS[0].model, "edit-small") is None
    write(project.log, [told for number in range(90) for told in a_task(f"s{number}", number * 100.0, rng)])
    tell()
    (notice,) = heard
    assert isinstance(notice, Notice) and notice.topic == "forecast"
