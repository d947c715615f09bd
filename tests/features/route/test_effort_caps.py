"""After how much effort a run is stopped, learned from a model's own runs."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.core.values import Usage
from kith.features.measure.rows import LegRow
from kith.features.route.effort_caps import (
    LEAST_STEPS,
    READ_WEIGHT,
    EffortRange,
    PastRun,
    Stakes,
    effort_of,
    read_weight,
)

STAKES = Stakes(gain=0.5, unit=0.002)  # in solved tasks
RUNS = st.lists(st.builds(PastRun, st.floats(1, 300), st.booleans(), st.booleans()), max_size=60)


def cap_of(*runs: PastRun, stakes: Stakes = STAKES) -> float:
    return EffortRange(tuple(sorted(runs)), step=1.0).cap(stakes, random.Random(1))


def solved(*efforts: float) -> list[PastRun]:
    return [PastRun(each, solved=True) for each in efforts]


def failed(*efforts: float) -> list[PastRun]:
    return [PastRun(each) for each in efforts]


def test_long_runs_that_fail_are_cut_where_they_begin_to() -> None:
    assert cap_of(*solved(*range(11, 31)), *failed(*range(100, 200, 5))) == 30


def test_where_long_runs_succeed_nothing_is_cut() -> None:
    assert cap_of(*solved(*range(10, 200, 5)), *failed(*range(10, 100, 5))) == 0


def test_a_few_runs_tell_nothing() -> None:
    assert cap_of(*solved(*range(11, 20)), *failed(*[150] * 9)) == 0


def test_any_run_may_take_some_steps() -> None:
    runs = tuple(sorted([*solved(*[200] * 20), *failed(*[9_000] * 20)]))
    cap = EffortRange(runs, step=100.0).cap(STAKES, random.Random(1))
    assert cap == LEAST_STEPS * 100.0


def leg(output: int = 0, evaluated: int = 0, **about: Any) -> LegRow:
    row = LegRow("s", 1, 0.0, "/r", "m", "docs", digest="new", reward=1.0, steps=4)
    return replace(row, usage=Usage(output=output), evaluated=evaluated, **about)


def test_runs_of_other_weights_and_other_work_are_left_out() -> None:
    others = [leg(100, 200), leg(9, digest="old"), leg(9, reward=None)]
    assert EffortRange.of(others, "m", "docs", "new", weight=0.1).runs == (PastRun(120.0, solved=True),)
    assert EffortRange.of(others, "m", "edit-small").runs == EffortRange.of(others, "n", "docs").runs == ()


def test_runs_whose_tokens_are_unknown_count_by_their_steps() -> None:
    runs = EffortRange.of([leg(400, 0, steps=2), leg(steps=3, reward=0.0)], "m", "docs")
    assert runs.step == 200.0
    assert runs.runs == (PastRun(400.0, solved=True), PastRun(600.0))
    silent = EffortRange.of([leg(steps=2), leg(steps=6)], "m", "docs")
    assert [run.effort / silent.step for run in silent.runs] == [2, 6]


def test_a_read_token_weighs_as_much_as_the_models_speeds_say() -> None:
    assert effort_of(100, 1_000, read_weight(read_rate=400, write_rate=40)) == 200
    assert read_weight(0.0, 40.0) == read_weight(400.0, 0.0) == READ_WEIGHT
    assert read_weight(10.0, 40.0) == 1.0


@given(RUNS)
def test_effort_that_costs_nothing_is_never_cut(runs: list[PastRun]) -> None:
    assert cap_of(*runs, stakes=Stakes(0.5, 0.0)) == 0


@given(RUNS, st.integers(0, 9))
def test_a_cap_is_a_length_that_a_run_had(runs: list[PastRun], seed: int) -> None:
    cap = EffortRange(tuple(sorted(runs)), step=1.0).cap(STAKES, random.Random(seed))
    assert cap in {0, LEAST_STEPS, *(run.effort for run in runs)}


def test_what_a_cap_cuts_does_not_lower_the_next_one() -> None:
    rng, runs, lost = random.Random(3), list[PastRun](), 0
    for _ in range(400):
        effort, good = rng.uniform(5, 100), rng.random() < 0.6
        cap = cap_of(*runs, stakes=STAKES)
        if cap and effort > cap:
            lost += good
            runs.append(PastRun(cap, cut=True))
        else:
            runs.append(PastRun(effort, good))
    assert lost <= 8  # 2 %; a cap learned from what succeeds loses a third of all
