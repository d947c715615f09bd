"""What it means for a choice that a model could not be reached lately."""

import random
from pathlib import Path

import pytest

from kith.core.decisions import Routed
from kith.core.values import Outage
from kith.features.measure.rows import LegRow
from kith.features.route.beliefs import Arm, Task
from kith.features.route.choose import choose
from kith.features.route.estimates import Learned, Utility
from kith.features.route.outages import Downtime, doubt, recall_outages
from kith.memory.log import Log
from kith.memory.session import Session

HOUR = 3_600.0


def test_the_doubt_fades_and_an_answer_ends_it() -> None:
    def chance(ago: float, *legs: LegRow) -> float:
        found = doubt((0.0, 5.0), "m", legs, ago)
        return found.chance if found else 0.0

    assert chance(0) > 0.9 and chance(0.5 * HOUR) == pytest.approx(chance(0) / 2) and chance(3 * HOUR) < 0.02
    answered = LegRow("s", 1, 60.0, "/r", "m", "docs")
    assert chance(HOUR, answered) == 0.0
    assert chance(HOUR, LegRow("s", 1, -60.0, "/r", "m", "docs")) == chance(HOUR)
    assert doubt(None, "m", (), 0.0) is None


def test_outages_are_read_from_the_log(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.sqlite3")
    with Session(log, "s1") as session:
        session.emit(Routed("docs", ("b",), "", down=(Outage("a", 2.0, "nobody answers"),)))
        session.emit(Routed("docs", ("b",), ""))
        ((at, _),) = [(record.at, record.event) for record in log.events("s1")][:1]
    assert recall_outages(log, at + 60) == {"a": (at, 2.0)}
    assert recall_outages(log, at + 24 * HOUR) == {}


def test_a_model_that_is_probably_away_is_not_waited_for() -> None:
    def first(away: Downtime | None) -> str:
        arms = (
            Arm("a", parameters=14, downtime=away),
            Arm("b", parameters=7),
            Arm("cloud", frontier=True, usd=0.05),
        )
        decision = choose(Learned(), Task("edit-small"), arms, Utility(0.2), random.Random(1))
        assert ("a could not be reached 89 s ago" in decision.why) == (away is not None)
        return decision.plan[0]

    assert first(None) == "a"
    assert first(Downtime(0.9, 60.0, 89.0)) == "b"
