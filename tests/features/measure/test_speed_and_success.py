"""Tables of what was measured: speeds, successes, and what is different now."""

import pytest
from msgspec.structs import replace

from kith.core.values import Timing, Usage
from kith.features.measure.rows import CallRow, LegRow
from kith.features.measure.speed_and_success import (
    describe_models,
    measure_speeds,
    measure_successes,
    read_rate,
    size_class,
    write_rate,
)
from kith.features.measure.trends import LAST, find_shifts, find_trends

TIMING = Timing(prefill_s=0.5, decode_s=10.0, first_token_s=0.6, total_s=10.6)
CALL = CallRow("s", 1.0, "/p", "m", "edit", usage=Usage(1_300, 270, 1_000), evaluated=300, timing=TIMING)
LEG = LegRow(
    "s", 1, 1.0, "/p", "m", "edit-small", seconds=10.0, steps=2, usage=Usage(4_000, 100), evaluated=500
)


def test_speeds_are_of_what_was_computed() -> None:
    assert read_rate(CALL) == 600 and write_rate(CALL) == 27
    assert read_rate(replace(CALL, evaluated=10)) is None  # too few to tell
    cloud = replace(CALL, timing=Timing(first_token_s=1.0, total_s=4.0))
    assert read_rate(cloud) is None and write_rate(cloud) == 90


def test_speeds_by_purpose_and_size_leave_failures_out() -> None:
    long = replace(CALL, purpose="plan", usage=Usage(9_000, 270, 8_700))
    rows = {
        (each.purpose, each.size): each.calls
        for each in measure_speeds([CALL, long, replace(CALL, error="down")])
    }
    assert rows == {
        ("", 0): 2,
        ("", 2_048): 1,
        ("", 16_384): 1,
        ("edit", 0): 1,
        ("edit", 2_048): 1,
        ("plan", 0): 1,
        ("plan", 16_384): 1,
    }


@pytest.mark.parametrize(("tokens", "bound"), [(0, 2_048), (2_048, 2_048), (2_049, 4_096), (1e6, 1_048_576)])
def test_sizes_are_classes_of_powers_of_two(tokens: float, bound: int) -> None:
    assert size_class(tokens) == bound


def test_shares_count_only_what_somebody_looked_at() -> None:
    rows = [replace(LEG, reward=1.0, applied=True), replace(LEG, reward=0.0, applied=False), LEG]
    whole = next(each for each in measure_successes(rows) if not each.kind and not each.size)
    assert (whole.tasks, whole.solved.good, whole.solved.number, whole.applied.number) == (3, 1, 2, 2)
    assert whole.passed.number == 0 and whole.usd is None


def test_models_are_described_in_a_row_for_each_kind() -> None:
    rows = [replace(LEG, reward=1.0, usd=0.01) for _ in range(9)]
    rows += [replace(LEG, model="n", kind="docs", cloud=True)]
    known, unknown = describe_models(rows)
    assert (known["model"], known["kind"], known["tasks"], known["judged"]) == ("m", "edit-small", 9, 9)
    assert (known["solved"], known["solved_low"], known["solved_high"]) == (1.0, 0.701, 1.0)
    assert (known["p50_s"], known["tokens"], known["usd"], known["applied"]) == (10.0, 600.0, 0.01, None)
    assert (unknown["kind"], unknown["cloud"], unknown["solved"], unknown["solved_low"]) == (
        "docs",
        True,
        None,
        None,
    )


def calls(number: int, seconds: float, first: int = 0, **more: str) -> list[CallRow]:
    """Calls that take about so long to write."""
    return [
        replace(CALL, at=float(first + n), timing=replace(TIMING, decode_s=seconds + n % 7 / 10), **more)
        for n in range(number)
    ]


def test_a_real_drop_in_speed_is_told_with_what_changed_before_it() -> None:
    rows = [*calls(60, 10.0, digest="a"), *calls(LAST, 20.0, 60, digest="b")]
    trends = find_trends(rows, ())
    write = next(each for each in trends if each.what == "write tokens/s")
    assert write.real and write.better is False and write.numbers == (60, LAST)
    assert not next(each for each in trends if each.what == "read tokens/s").real
    changed, slower = find_shifts(rows, trends)
    assert (changed.what, changed.before, changed.after, changed.at, changed.sudden) == (
        "digest",
        "a",
        "b",
        60.0,
        True,
    )
    assert (slower.what, slower.at, slower.sudden) == ("write tokens/s", 60.0, False)


def test_chance_is_no_trend_and_few_values_are_none() -> None:
    assert not any(each.real for each in find_trends(calls(90, 10.0), ()))
    assert find_trends(calls(LAST + 5, 10.0), ()) == ()


def test_success_against_before() -> None:
    legs = [replace(LEG, at=float(n), reward=float(n % 10 < 8)) for n in range(60)]
    luck = [replace(LEG, at=60.0 + n, reward=float(n % 10 < 6)) for n in range(LAST)]
    fall = [replace(LEG, at=60.0 + n, reward=float(n % 10 < 2)) for n in range(LAST)]
    assert not find_trends((), legs + luck)[0].real
    found = find_trends((), legs + fall)[0]
    assert (found.what, found.real, found.better) == ("solved", True, False)
