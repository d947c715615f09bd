"""How sure a figure is: intervals that hold what they promise, and published examples."""

import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.features.measure.intervals import Share, Spread, differ, median_interval, share_difference, wilson


def test_wilson_and_newcombe_agree_with_published_examples() -> None:
    low, high = wilson(81, 263) or (0, 0)  # Newcombe, Statistics in Medicine 17 (1998) 857, method 3
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    below, above = share_difference(Share(48, 80), Share(56, 70)) or (0, 0)  # the same, 873, method 10
    assert (round(below, 4), round(above, 4)) == (0.0524, 0.3339)


def test_nothing_observed_has_no_interval() -> None:
    assert wilson(0, 0) is None and Share().share is None
    assert share_difference(Share(), Share(1, 2)) is None
    assert Spread.of([]) == Spread()


@given(st.integers(0, 50), st.integers(1, 50))
def test_a_share_lies_in_its_interval(good: int, more: int) -> None:
    low, high = Share(good, good + more).interval or (1, 0)
    assert 0 <= low <= good / (good + more) <= high <= 1


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_a_median_lies_in_its_interval(values: list[float]) -> None:
    spread = Spread.of(values)
    assert spread.median == pytest.approx(median(values)) and spread.number == len(values)
    if len(values) < 6:
        assert spread.interval is None
    else:
        low, high = spread.interval or (1, 0)
        assert min(values) <= low <= spread.median <= high <= max(values)


@pytest.mark.parametrize("number", [6, 15, 30, 401, 900])
def test_the_true_median_is_inside_as_often_as_promised(number: int) -> None:
    rng, inside = random.Random(number), 0
    for _ in range(400):
        low, high = median_interval(sorted(rng.lognormvariate(0, 1) for _ in range(number))) or (9, 9)
        inside += low <= 1.0 <= high
    assert inside >= 0.92 * 400


def test_medians_differ_when_their_intervals_do_not_meet() -> None:
    slow, fast = Spread.of([20.0 + n / 10 for n in range(30)]), Spread.of([40.0 + n / 10 for n in range(30)])
    assert differ(slow, fast) and differ(fast, slow) and not differ(slow, slow)
    assert not differ(Spread.of([1.0]), Spread.of([9.0]))
