"""How long calls take: what is foreseen from simulated calls, whose true cost is known."""

import json
import math
import random
from collections.abc import Callable
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.core.values import Timing
from kith.features.foresight.latency import Latency, Row, fit, quantile
from kith.models.forecasts import Forecast, Took

Machine = Callable[[int, int, int], tuple[float, float]]


def machine(read: float = 0.001, write: float = 0.02, factor: float = 1.0) -> Machine:
    """Seconds of reading and writing on a machine whose attention costs something, too."""

    def seconds(new: int, cached: int, out: int) -> tuple[float, float]:
        reading = 0.05 + read * new + 2e-7 * new * (cached + new / 2)
        writing = (out - 1) * (write + 4e-6 * (new + cached + out / 2))
        return factor * reading, factor * writing

    return seconds


def calls(number: int, seconds: Machine, seed: int = 1, noise: float = 0.1) -> list[Took]:
    """Random calls, as an agent makes them."""
    chance, made = random.Random(seed), []
    for _ in range(number):
        new, cached, out = chance.randrange(20, 1500), chance.randrange(0, 6000), chance.randrange(4, 200)
        read, write = (each * math.exp(chance.gauss(0, noise)) for each in seconds(new, cached, out))
        made.append(Took(new, cached, out, read, write, 0.01))
    return made


def learned(*tooks: Took) -> Latency:
    latency = Latency()
    for took in tooks:
        latency.take(took)
    return latency


def foreseen(latency: Latency, *sizes: int) -> Forecast:
    forecast = latency.foresee(*sizes)
    assert forecast
    return forecast


def errors(latency: Latency, tooks: list[Took], *, blind: bool = False) -> list[float]:
    """Relative errors of what is foreseen; `blind`: as if nothing were cached."""
    found = []
    for took in tooks:
        new, cached = (took.new + took.cached, 0) if blind else (took.new, took.cached)
        found.append(abs(foreseen(latency, new, cached, took.out).mid_s / took.seconds - 1))
    return found


def test_nothing_is_foreseen_of_what_is_not_known() -> None:
    assert Latency().foresee(100, 0) is None and not Latency().knows


def test_one_call_is_enough_to_say_something() -> None:
    latency = learned(Took(1000, 0, 101, 2.0, 4.0))
    again, double = foreseen(latency, 1000, 0, 101), foreseen(latency, 2000, 0, 201)
    assert again.mid_s == pytest.approx(6.0, rel=0.05)
    assert double.mid_s == pytest.approx(12.0, rel=0.15)
    assert again.low_s < again.mid_s / 1.5 and again.high_s > again.mid_s * 1.5


def test_thirty_calls_are_enough_to_be_right() -> None:
    seconds = machine()
    latency, later = learned(*calls(30, seconds)), calls(40, seconds, seed=2)
    assert median(errors(latency, later)) < 0.12
    assert median(errors(latency, later, blind=True)) > 0.5
    inside = [
        forecast.low_s <= took.seconds <= forecast.high_s
        for took in later
        if (forecast := latency.foresee(took.new, took.cached, took.out))
    ]
    assert 0.6 <= sum(inside) / len(inside) <= 1.0


def test_a_call_that_was_swapped_out_does_not_ruin_what_was_learned() -> None:
    seconds = machine()
    tooks, later = calls(30, seconds), calls(40, seconds, seed=2)
    for place in (0, 12, 28):
        slow = tooks[place]
        tooks[place] = Took(slow.new, slow.cached, slow.out, 40 * slow.read_s, 15 * slow.write_s, 5.0)
    assert median(errors(learned(*tooks), later)) < 0.15


def test_a_machine_that_is_slower_for_good_is_believed_soon() -> None:
    latency = learned(*calls(60, machine()))
    for took in calls(8, machine(factor=3.0), seed=3):
        latency.take(took)
    assert median(errors(latency, calls(40, machine(factor=3.0), seed=4))) < 0.2


def test_many_small_calls_do_not_make_it_forget_large_ones() -> None:
    seconds = machine()
    latency = learned(*calls(30, seconds))
    for number in range(200):
        read, write = seconds(40, 3000, 20 + number % 5)
        latency.take(Took(40, 3000, 20 + number % 5, read, write, 0.01))
    assert foreseen(latency, 1400, 100, 10).mid_s == pytest.approx(
        sum(seconds(1400, 100, 10)) + 0.01, rel=0.2
    )


def test_times_by_the_clock_are_enough() -> None:
    seconds, latency = machine(), Latency()
    for took in calls(30, seconds):
        timing = Timing(
            queue_s=1.0, first_token_s=1.0 + took.read_s, total_s=1.0 + took.read_s + took.write_s
        )
        latency.take(Took.from_timing(took.new, took.cached, took.out, timing))
    later = [Took(t.new, t.cached, t.out, t.read_s, t.write_s) for t in calls(40, seconds, seed=2)]
    assert median(errors(latency, later)) < 0.12


def test_whole_times_are_divided_as_far_as_that_goes() -> None:
    seconds, latency = machine(), Latency()
    for took in calls(40, seconds):
        latency.take(Took.from_timing(took.new, took.cached, took.out, Timing(total_s=took.seconds)))
    assert median(errors(latency, calls(40, seconds, seed=2))) < 0.25


def test_what_the_server_times_is_taken_apart() -> None:
    timing = Timing(load_s=3, queue_s=1, prefill_s=2, decode_s=4, first_token_s=6.5, total_s=10.5)
    assert Took.from_timing(100, 20, 30, timing) == Took(100, 20, 30, 2, 4, 0.5)


def test_a_cold_model_and_a_queue_are_added() -> None:
    latency = learned(*calls(5, machine()))
    latency.take(calls(1, machine())[0], load_s=12.0)
    warm, cold = foreseen(latency, 500, 0, 20), latency.foresee(500, 0, 20, cold=True, queue_s=3.0)
    assert cold and cold.mid_s == pytest.approx(warm.mid_s + 15.0)
    assert cold.mid_s == pytest.approx(cold.load_s + cold.queue_s + cold.read_s + cold.write_s)
    assert warm.low_s <= warm.mid_s <= warm.high_s


def test_replies_are_as_long_as_they_were_for_this_purpose() -> None:
    latency, chance = Latency(), random.Random(3)
    for _ in range(60):
        for purpose, middle in (("plan", 400), ("edit", 60)):
            out = round(middle * math.exp(chance.gauss(0, 0.4)))
            latency.take(Took(100, 0, out, 0.1, out * 0.01), purpose=purpose)
    plan, edit = latency.lengths.foresee("plan"), latency.lengths.foresee("edit")
    assert plan[1] == pytest.approx(400, rel=0.25) and edit[1] == pytest.approx(60, rel=0.25)
    assert plan[0] < 320 and plan[2] > 500
    assert edit[1] < latency.lengths.foresee("new to it")[1] < plan[1]
    assert latency.lengths.foresee("plan", most=100) == (100, 100, 100)
    known, unknown = latency.foresee(100, 0, 400), latency.foresee(100, 0, purpose="plan")
    assert known and unknown and unknown.high_s > known.high_s


def test_rates_are_a_beginning_that_measurement_overrules() -> None:
    latency = Latency()
    latency.suppose_rates(500.0, 20.0)
    assert foreseen(latency, 1000, 0, 101).mid_s == pytest.approx(7.0, rel=0.05)
    for took in calls(15, machine()):
        latency.take(took)
    assert median(errors(latency, calls(40, machine(), seed=2))) < 0.2


def test_it_goes_on_in_another_process() -> None:
    latency = learned(*calls(40, machine()))
    facts = json.loads(json.dumps(latency.to_facts()))
    assert len(json.dumps(facts)) < 6_000
    again = Latency.from_facts(facts)
    for sizes in ((100, 0, 10), (1000, 4000, 100)):
        assert foreseen(again, *sizes).mid_s == pytest.approx(foreseen(latency, *sizes).mid_s, rel=0.02)
        assert foreseen(again, *sizes).high_s == pytest.approx(foreseen(latency, *sizes).high_s, rel=0.02)
    assert again.lengths.foresee("") == pytest.approx(latency.lengths.foresee(""), rel=0.01)


@pytest.mark.parametrize("facts", [{"calls": 3}, {"calls": [[1]]}, {"lengths": []}, {"errors": ["x"]}])
def test_a_card_of_another_version_is_left_out(facts: dict[str, object]) -> None:
    assert not Latency.from_facts(facts).knows


sizes = st.tuples(st.integers(1, 20_000), st.integers(0, 50_000), st.integers(0, 3_000))
tooks = st.builds(
    lambda size, *seconds: Took(*size, *seconds),
    sizes,
    *(st.floats(0, 300, allow_nan=False) for _ in range(3)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(tooks, min_size=1, max_size=12), sizes)
def test_more_never_takes_less_whatever_was_measured(
    measured: list[Took], size: tuple[int, int, int]
) -> None:
    latency, (new, cached, out) = learned(*measured), size
    if not latency.knows:
        return
    less = foreseen(latency, new, cached, out)
    for more in ((new + 500, cached, out), (new, cached + 500, out), (new, cached, out + 50)):
        assert foreseen(latency, *more).mid_s >= less.mid_s - 1e-9
    assert 0 <= less.low_s <= less.mid_s + 1e-9 and less.mid_s <= less.high_s + 1e-9 < math.inf


def test_coefficients_are_found_and_never_negative() -> None:
    rows = [Row((1.0, float(n), float(n * d)), 0.1 + 0.002 * n) for n in (50, 300, 900) for d in (1, 40, 700)]
    found = fit(rows, (1e-6,) * 3)
    assert found and found == pytest.approx((0.1, 0.002, 0.0), abs=1e-4)
    falling = [Row((1.0, float(n)), 10.0 - n) for n in range(1, 9)]
    assert min(fit(falling, (1e-6, 1e-6)) or (-1.0,)) >= 0
    assert fit([], (1.0,)) is None


def test_quantiles_are_weighted() -> None:
    assert quantile([(1.0, 1.0), (2.0, 8.0), (9.0, 1.0)], 0.5) == 2.0
    assert quantile([(9.0, 1.0), (1.0, 1.0)], 0.9) == 9.0
