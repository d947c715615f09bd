"""After how many steps a run is stopped, learned from a model's own runs."""

import random

from hypothesis import given
from hypothesis import strategies as st

from kith.features.measure.rows import LegRow
from kith.features.route.step_caps import PastRun, Stakes, StepRange

STAKES = Stakes(gain=0.5, step=0.002)  # in solved tasks
RUNS = st.lists(st.builds(PastRun, st.integers(1, 300), st.booleans(), st.booleans()), max_size=60)


def cap_of(*runs: PastRun, stakes: Stakes = STAKES) -> int:
    return StepRange(tuple(sorted(runs))).cap(stakes, random.Random(1))


def solved(*steps: int) -> list[PastRun]:
    return [PastRun(each, solved=True) for each in steps]


def failed(*steps: int) -> list[PastRun]:
    return [PastRun(each) for each in steps]


def test_long_runs_that_fail_are_cut_where_they_begin_to() -> None:
    assert cap_of(*solved(*range(11, 31)), *failed(*range(100, 200, 5))) == 30


def test_where_long_runs_succeed_nothing_is_cut() -> None:
    assert cap_of(*solved(*range(10, 200, 5)), *failed(*range(10, 100, 5))) == 0


def test_a_few_runs_tell_nothing() -> None:
    assert cap_of(*solved(*range(11, 20)), *failed(*[150] * 9)) == 0


def test_any_run_may_take_some_steps() -> None:
    assert cap_of(*solved(*[2] * 20), *failed(*[90] * 20)) == 12


def test_runs_of_other_weights_and_other_work_are_left_out() -> None:
    row = LegRow("s", 1, 0.0, "/r", "m", "docs", digest="new", reward=1.0, steps=9)
    others = [row, LegRow("s", 1, 0.0, "/r", "m", "docs", digest="old", reward=1.0, steps=9)]
    others += [LegRow("s", 1, 0.0, "/r", "m", "docs", digest="new", steps=9)]  # nobody knows how it went
    assert StepRange.of(others, "m", "docs", "new").runs == (PastRun(9, solved=True),)
    assert StepRange.of(others, "m", "edit-small").runs == StepRange.of(others, "n", "docs").runs == ()


@given(RUNS)
def test_steps_that_cost_nothing_are_never_cut(runs: list[PastRun]) -> None:
    assert cap_of(*runs, stakes=Stakes(0.5, 0.0)) == 0


@given(RUNS, st.integers(0, 9))
def test_a_cap_is_a_length_that_a_run_had(runs: list[PastRun], seed: int) -> None:
    cap = StepRange(tuple(sorted(runs))).cap(STAKES, random.Random(seed))
    assert cap in {0, 12, *(run.steps for run in runs)}


def test_what_a_cap_cuts_does_not_lower_the_next_one() -> None:
    rng, runs, lost = random.Random(3), list[PastRun](), 0
    for _ in range(400):
        steps, good = rng.randint(5, 100), rng.random() < 0.6
        cap = cap_of(*runs, stakes=STAKES)
        if cap and steps > cap:
            lost += good
            runs.append(PastRun(cap, cut=True))
        else:
            runs.append(PastRun(steps, good))
    assert lost <= 8  # 2 %; a cap learned from what succeeds loses a third of all
