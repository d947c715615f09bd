"""How the look of a task's words moves a model's chance."""

import random

from hypothesis import given
from hypothesis import strategies as st

from kith.features.measure.intervals import Beta
from kith.features.measure.rows import LegRow
from kith.features.route.difficulty import Difficulty, looks_of
from kith.features.route.estimates import Learned

TEXTS = st.text(max_size=400)


def learned(solves: dict[str, float], tasks: int = 200) -> Learned:
    """What was learned of a model that solves tasks of these words with these chances."""
    rng, evidence = random.Random(1), Learned(reads_words=True)
    for number in range(tasks):
        words = rng.choice(list(solves))
        reward = float(rng.random() < solves[words])
        evidence.observe(LegRow("s", number, 0.0, "/r", "m", "fix", reward=reward, words=words))
    return evidence


def chance(evidence: Learned, words: str) -> float:
    return evidence.suited(evidence.chance("m", "first", ("", "fix"), 0.5), "m", "first", words).mean


def test_long_tasks_that_fail_make_long_tasks_less_likely() -> None:
    short, long = "mend it", "mend this and that " * 90
    evidence = learned({short: 0.9, long: 0.2})
    assert chance(evidence, short) > 0.75 and chance(evidence, long) < 0.35
    assert chance(evidence, "mend this and that " * 80) < 0.4


def test_words_that_say_nothing_move_little() -> None:
    short, long = "mend it", "mend this and that " * 90
    evidence = learned({short: 0.6, long: 0.6})
    assert abs(chance(evidence, short) - chance(evidence, long)) < 0.15


def test_a_task_without_words_has_the_usual_chance() -> None:
    belief = Beta(3.0, 2.0)
    assert learned({"a": 0.9, "b" * 900: 0.1}).suited(belief, "m", "first", "") == belief


@given(st.lists(st.tuples(TEXTS, st.floats(0, 1), st.floats(0, 1)), max_size=30), TEXTS)
def test_chances_stay_chances(outcomes: list[tuple[str, float, float]], words: str) -> None:
    difficulty = Difficulty()
    for text, reward, usual in outcomes:
        difficulty.learn(looks_of(text), reward, usual)
    moved = difficulty.move(Beta(2.0, 3.0), looks_of(words))
    assert 0 < moved.mean < 1 and abs(moved.mass - 5.0) < 1e-9
