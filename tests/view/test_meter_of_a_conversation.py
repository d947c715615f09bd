"""What the last line of a conversation says of its model: what is held now, and how long the task took."""

from kith.core.events import Compacted, Engaged, Event, RunEnded, RunStarted
from kith.view.meter import Meter


def test_what_was_made_shorter_holds_less() -> None:
    meter = Meter("m", 16_000, held=3_000)
    meter.take(Compacted("task", 3, "", 3_000, 1_900), 5.0)
    assert meter.held == 1_900


def test_a_task_that_is_over_takes_no_longer() -> None:
    meter = Meter()
    told: list[tuple[Event, float]] = [
        (RunStarted("x", "/p", "m", ""), 1.0),
        (RunEnded("done", ""), 3.0),
        (Engaged("m"), 60.0),
    ]
    for event, at in told:
        meter.take(event, at)
    assert meter.last - meter.began == 2.0
