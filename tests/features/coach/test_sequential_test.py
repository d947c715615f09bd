"""The acceptance test: its error rates, exactly and by simulated courses, and what it leaves alone."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kith.features.coach.sequential_test import (
    CANARY,
    HORIZON,
    LOOKS,
    Pair,
    chances,
    decide,
    decide_canary,
    decide_keeping,
    needed,
)
from kith.features.measure.intervals import Count

RUNS = 200
WON, LOST, TIE = Pair(False, True), Pair(True, False), Pair(True, True)


def draw(rng: random.Random, won: float, lost: float) -> list[Pair]:
    drawn = (rng.random() for _ in range(HORIZON))
    return [WON if each < won else LOST if each < won + lost else TIE for each in drawn]


def accepted(won: float, lost: float, within: int, seed: int) -> float:
    """The share of simulated courses in which a change of this size was accepted in time."""
    rng = random.Random(seed)
    ends = [decide(draw(rng, won, lost)) for _ in range(RUNS)]
    return sum(end.verdict == "accept" and end.figures["pairs"] <= within for end in ends) / RUNS


# Shares of pairs won and lost: pairs that differ are 15 to 25 of 100, as with real models (for the gain of 8
# points 13 to 15: with more, no test of pairs can find it that often).
@pytest.mark.parametrize("differ", [0.15, 0.2, 0.25])
def test_no_change_is_adopted_in_one_of_twenty_courses_at_most(differ: float) -> None:
    assert chances(differ / 2, differ / 2)[HORIZON] < 0.045
    assert accepted(differ / 2, differ / 2, HORIZON, seed=1) <= 0.05


@pytest.mark.parametrize("differ", [0.15, 0.2, 0.25])
def test_a_harmful_change_is_never_adopted(differ: float) -> None:
    won, lost = (differ - 0.08) / 2, (differ + 0.08) / 2
    assert chances(won, lost)[HORIZON] < 0.001
    assert accepted(won, lost, HORIZON, seed=2) == 0.0


@pytest.mark.parametrize(("won", "lost"), [(0.15, 0.01), (0.16, 0.02)])
def test_14_points_are_found_within_100_pairs(won: float, lost: float) -> None:
    assert chances(won, lost)[100] > 0.955
    assert accepted(won, lost, 100, seed=3) >= 0.95


@pytest.mark.parametrize(("won", "lost"), [(0.105, 0.025), (0.11, 0.03)])
def test_8_points_are_found_within_150_pairs(won: float, lost: float) -> None:
    assert chances(won, lost)[150] > 0.775
    assert accepted(won, lost, 150, seed=4) >= 0.75


@pytest.mark.parametrize("share", [0.0, 0.02, 0.05, 0.1, 0.3, 0.5, 0.8, 1.0])
def test_however_often_ways_differ_no_change_stays_rare(share: float) -> None:
    assert chances(share / 2, share / 2)[HORIZON] <= 0.05


def test_a_look_that_settled_it_holds() -> None:
    early = [WON] * 9 + [TIE] * 11
    assert decide(early).verdict == "accept"
    assert decide([*early, *[LOST] * 100]) == decide(early)
    assert decide([LOST] * 4 + [TIE] * 16 + [WON] * 80).verdict == "refuse"


def test_ties_and_doubts_go_to_the_original() -> None:
    assert decide([TIE] * HORIZON).verdict == "refuse"
    assert decide([WON, LOST] * (HORIZON // 2)).verdict == "refuse"
    assert decide([WON] * 5 + [TIE] * 45, most=50).verdict == "refuse"
    assert decide([]).verdict == "go on"


def test_a_faster_way_is_accepted_when_it_is_no_worse() -> None:
    faster = [Pair(True, True, 10.0, 6.0)] * 60
    assert decide(faster).why.startswith("faster (60% of the time)")
    assert decide([Pair(True, True, 10.0, 9.5)] * HORIZON).verdict == "refuse"
    worse = [Pair(True, False, 10.0, 1.0)] * 3 + faster
    assert decide(worse[:60]).verdict == "go on"
    assert decide([Pair(False, True, 10.0, 1.0), Pair(True, False, 10.0, 1.0)] * 75).verdict == "refuse"


@given(some.lists(some.sampled_from([WON, LOST, TIE]), max_size=HORIZON))
def test_it_settles_only_at_looks_and_only_once(pairs: Sequence[Pair]) -> None:
    verdicts = [decide(pairs[:number]).verdict for number in range(len(pairs) + 1)]
    first = next((number for number, each in enumerate(verdicts) if each != "go on"), None)
    if first is not None:
        assert first in LOOKS and set(verdicts[first:]) == {verdicts[first]}


def test_a_canary_passes_unless_live_work_speaks_against_it() -> None:
    before = Count(60.0, 120.0)
    assert decide_canary(Count(10.0, 20.0), before).verdict == "go on"
    assert decide_canary(Count(15.0, float(CANARY)), before).verdict == "accept"
    assert decide_canary(Count(8.0, float(CANARY)), before).verdict == "refuse"
    assert decide_canary(Count(0.0, 10.0), before).verdict == "refuse"


def test_an_adopted_way_is_undone_when_it_is_better_no_longer() -> None:
    before = Count(60.0, 120.0)
    assert decide_keeping(Count(20.0, 30.0), before).verdict == "accept"
    assert decide_keeping(Count(10.0, 30.0), before).verdict == "refuse"
    assert decide_keeping(Count(0.0, 12.0), before).verdict == "go on"


def test_it_is_told_how_many_more_pairs_settle_it() -> None:
    wins = [Pair(False, True)] * 9 + [Pair(True, True)] * 6
    decision = decide(wins)
    assert decision.verdict == "go on" and decision.figures["needed"] == needed(wins) == 5
    assert needed([Pair(True, True)] * 30) == HORIZON - 30  # nothing differs: only the end settles that
    assert needed([], 20) == 20
