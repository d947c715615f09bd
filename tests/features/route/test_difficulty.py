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


def test_a_hard_project_makes_its_tasks_less_likely() -> None:
    rng, evidence = random.Random(2), Learned(reads_words=True)
    for number in range(120):
        root, solves = rng.choice((("/easy", 0.8), ("/hard", 0.3)))
        reward = float(rng.random() < solves)
        evidence.observe(LegRow("s", number, 0.0, root, "m", "fix", reward=reward, words="mend it"))
    usual = evidence.chance("m", "first", ("", "fix"), 0.5)
    easy, hard, other = (
        evidence.suited(usual, "m", "first", "mend it", root).mean for root in ("/easy", "/hard", "/new")
    )
    assert hard < other < easy and easy - hard > 0.25


def test_a_model_that_got_the_easy_tasks_is_not_taken_for_a_good_one() -> None:
    """Most of its tasks were short, and these are easy: a usual task is less likely than was counted."""
    rng, difficulty = random.Random(3), Difficulty()
    for _ in range(200):
        short = rng.random() < 0.9
        difficulty.learn((-1.0 if short else 1.0, 0.0, 0.0, 0.0, 0.0), float(short), 0.9)
    assert difficulty.move(Beta(9.0, 1.0), (0.0,) * 5).mean < 0.88


@given(
    st.lists(st.tuples(TEXTS, st.floats(0, 1), st.floats(0, 1), st.sampled_from("ab")), max_size=30), TEXTS
)
def test_chances_stay_chances(outcomes: list[tuple[str, float, float, str]], words: str) -> None:
    difficulty = Difficulty()
    for text, reward, usual, project in outcomes:
        difficulty.learn(looks_of(text), reward, usual, project)
    moved = difficulty.move(Beta(2.0, 3.0), looks_of(words), "a")
    assert 0 < moved.mean < 1 and abs(moved.mass - 5.0) < 1e-9
