"""What rows teach: counts that forget, beliefs that lean on wider evidence, and checks that err."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import replace

from kith.features.measure.intervals import Beta, Count
from kith.features.measure.rows import LegRow
from kith.features.route.estimates import (
    Errors,
    Learned,
    Taken,
    Takes,
    expected,
    expected_after_a_miss,
    fold,
    sorts_of,
    who,
)
from kith.models.traits import billions

EDIT = sorts_of("edit-small")


def row(number: int = 0, model: str = "small", reward: float | None = 1.0, **more: object) -> LegRow:
    plain = LegRow(
        "s", number, float(number), "/r", model, "edit-small", reward=reward, usd=0.0, seconds=10.0
    )
    return replace(plain, **more)  # type: ignore[arg-type]


ROWS = some.builds(
    row,
    some.integers(0, 50),
    some.sampled_from(["small", "large"]),
    some.sampled_from([0.0, 1.0, None]),
    kind=some.sampled_from(["edit-small", "docs", ""]),
    after=some.sampled_from(["", "other"]),
    usd=some.sampled_from([None, 0.0, 0.3]),
    passed=some.sampled_from([None, True, False]),
    reason=some.sampled_from(["tests", "undone", "audit"]),
    weight=some.sampled_from([0.5, 1.0]),
)


@given(some.lists(ROWS, unique_by=lambda each: each.task), some.randoms())
def test_the_order_in_which_outcomes_arrive_changes_nothing(rows: list[LegRow], rng: random.Random) -> None:
    late = list(rows)
    rng.shuffle(late)
    assert fold(late) == fold(rows)


def test_a_verdict_that_is_corrected_later_counts_as_if_it_had_been_so_from_the_start() -> None:
    rows = [row(number) for number in range(5)]
    undone = [*rows[:2], replace(rows[2], reward=0.0, reason="undone"), *rows[3:]]
    assert fold(undone) != fold(rows)
    assert fold(undone).seen("small", "first", "edit-small").good == pytest.approx(
        sum(0.99**age for age in (0, 1, 3, 4))
    )


@given(some.lists(ROWS))
def test_beliefs_are_chances_and_costs_are_no_gifts(rows: list[LegRow]) -> None:
    evidence = fold(rows)
    for model in ("small", "large"):
        for head in ("first", "after"):
            assert 0 < evidence.chance(model, head, EDIT, 0.5).mean < 1
            takes = evidence.takes(model, head, EDIT, Takes(0.1, 10.0))
            assert takes.usd >= 0 and takes.seconds > 0 and takes.spread >= 0
    assert all(0 < rate < 1 for rate in evidence.errors)


def test_another_digest_is_another_model() -> None:
    rows = [row(number, digest="a") for number in range(20)]
    known, new = who("small", "a"), who("small", "b")
    evidence = fold(rows)
    assert evidence.chance(known, "first", EDIT, 0.5).mean > 0.9
    assert evidence.chance(new, "first", EDIT, 0.5) == Learned().chance(new, "first", EDIT, 0.5)
    assert evidence.takes(new, "first", EDIT, Takes(0.0, 30.0)).seconds == 30.0


def test_without_outcomes_a_belief_is_what_was_expected_and_four_outcomes_strong() -> None:
    belief = Learned().chance("small", "first", EDIT, 0.25)
    assert (belief.mean, belief.mass) == pytest.approx((0.25, 4.0))


def test_what_is_known_of_other_work_is_worth_a_few_outcomes() -> None:
    other = fold([row(number, kind="docs") for number in range(40)])
    assert other.chance("small", "first", EDIT, 0.5).mean > 0.9
    assert other.chance("small", "first", EDIT, 0.5).mass == pytest.approx(8.0)
    own = fold(
        [
            row(number, kind="docs" if number < 40 else "edit-small", reward=number < 40)
            for number in range(60)
        ]
    )
    assert own.chance("small", "first", EDIT, 0.5).mean < 0.4
    assert own.chance("small", "first", sorts_of("docs"), 0.5).mean > 0.7


def test_work_after_a_miss_is_counted_by_itself() -> None:
    rows = [
        row(number, "large", reward=0.0 if number % 2 else 1.0, after="small" if number % 2 else "")
        for number in range(40)
    ]
    evidence = fold(rows)
    assert evidence.chance("large", "first", EDIT, 0.5).mean > 0.8
    assert evidence.chance("large", "after", EDIT, 0.5).mean < 0.2


def test_old_outcomes_fade() -> None:
    evidence = fold([row(number, reward=float(number >= 100)) for number in range(200)])
    good, seen = evidence.seen("small", "first", "edit-small")
    assert good / seen > 0.7 and seen < 100


def test_what_a_run_takes_is_learned_and_how_sure_that_is() -> None:
    cheap = [row(number, usd=0.1, seconds=60.0) for number in range(60)]
    takes = fold(cheap).takes("small", "first", EDIT, Takes(0.2, 30.0))
    assert takes.usd == pytest.approx(0.11, abs=0.01) and takes.seconds == pytest.approx(57, abs=4)
    wild = [row(number, usd=1.0 if number % 10 == 0 else 0.0) for number in range(60)]
    doubtful = fold(wild).takes("small", "first", EDIT, Takes(0.1, 30.0))
    assert doubtful.spread > 5 * takes.spread


def test_one_expensive_run_does_not_settle_what_a_model_costs() -> None:
    takes = Taken().plus(5.0, 0.0).estimate(Takes(0.5, 0.0))
    assert takes.usd == pytest.approx((5.0 + 5 * 0.5) / 6)


def test_a_price_that_nobody_knows_is_not_nothing() -> None:
    assert fold([row(usd=None)]).takes("small", "first", EDIT, Takes(0.5, 30.0)).usd == 0.5


def test_a_check_is_doubted_by_what_was_found_out_independently() -> None:
    """Of 100 wrong solutions it passes 20, of 100 right ones it fails 5; a seventh is looked at again."""
    rows = []
    for number in range(200):
        right, within = bool(number % 2), (number // 2) % 20
        passed = within >= 1 if right else within < 4
        audited = number % 7 == 0
        rows.append(
            row(
                number,
                reward=float(right if audited else passed),
                passed=passed,
                reason="audit" if audited else "tests",
            )
        )
    errors = fold(rows).errors
    assert errors.false_pass == pytest.approx(0.2, abs=0.12) and errors.false_fail == pytest.approx(
        0.05, abs=0.06
    )


def test_passing_checks_say_nothing_of_themselves() -> None:
    trusting = fold([row(number, passed=True, reason="tests") for number in range(50)])
    assert trusting.wrong_though_passed == Count()
    undone = fold([row(number, passed=True, reward=0.0, reason="undone") for number in range(50)])
    assert undone.errors.false_pass > trusting.errors.false_pass > 0
    assert isinstance(undone.errors, Errors)


@given(some.floats(0, 50), some.floats(0, 50))
def test_an_interval_holds_its_share(good: float, bad: float) -> None:
    low, high = Count(good, good + bad).interval
    assert 0 <= low <= high <= 1
    if good + bad > 0.01:
        assert low - 1e-9 <= good / (good + bad) <= high + 1e-9


def test_beliefs_can_be_narrowed_without_moving() -> None:
    belief = Beta(3.0, 1.0).narrowed(4.0)
    assert (belief.mean, belief.mass) == (0.75, 16.0)


def test_larger_models_are_expected_to_solve_more() -> None:
    sizes = [expected("edit-small", size) for size in (1, 7, 32)]
    assert sizes == sorted(sizes) and 0.2 < sizes[0] < sizes[-1] < 0.8
    assert expected("edit-multi", 7) < expected("edit-small", 7)
    assert expected("edit-small", frontier=True) == 0.65
    assert (
        expected_after_a_miss(0.65) < 0.65 and 0 < expected_after_a_miss(0.0) < expected_after_a_miss(1.0) < 1
    )


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ("qwen2.5-coder:14b", 14),
        ("14.8B", 14.8),
        ("mixtral-8x7b", 56),
        ("350M", 0.35),
        ("claude", None),
        ("q4b2", None),
        ("Llama-3.2-3B-Instruct", 3),
    ],
)
def test_sizes_are_read_from_names(words: str, size: float | None) -> None:
    assert billions(words) == (size and pytest.approx(size))
