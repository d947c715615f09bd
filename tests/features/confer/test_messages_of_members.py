"""What members of a council write, and what is understood of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.context.budget import estimate_tokens
from kith.features.confer.messages import (
    LONGEST,
    describe_proposal,
    read_choice,
    read_objections,
    read_proposal,
    read_revision,
)

LINES = """\
approach: Divide by the length,
and return 0 for none.
files: `utils.py`, ./cli.py
symbols: mean
risks: - somebody relies on it
probe: `python3 -m unittest tests.test_utils`
ends: it fails now
confidence: 80 %"""
JSON = (
    '{"approach": "Divide.", "files": ["utils.py"], "symbols": ["mean"], "ends": "passes", "confidence": 0.3}'
)


def test_lines_are_a_proposal() -> None:
    plan, fault = read_proposal(LINES)
    assert plan and not fault
    assert plan.approach == "Divide by the length, and return 0 for none."
    assert plan.files == ("utils.py", "cli.py") and plan.symbols == ("mean",)
    assert plan.probe == "python3 -m unittest tests.test_utils" and plan.ends == "fails"
    assert plan.confidence == 0.8


@pytest.mark.parametrize("words", [JSON, f"```json\n{JSON}\n```", f"Here it is:\n{JSON}"])
def test_json_is_a_proposal_too(words: str) -> None:
    plan, _ = read_proposal(words)
    assert plan and plan.files == ("utils.py",) and plan.ends == "passes" and plan.confidence == 0.3


def test_nonsense_is_sent_back_in_words() -> None:
    plan, fault = read_proposal("I would rather talk about the weather.")
    assert plan is None and "approach:" in fault


def test_what_is_far_too_long_is_cut() -> None:
    plan, _ = read_proposal(f"approach: {'divide the sum ' * 900}\nrisks: {'many ' * 500}")
    assert plan and estimate_tokens(describe_proposal(plan)) <= LONGEST


def test_claims_are_read_with_whom_they_are_about() -> None:
    claims, _ = read_objections(
        "claim B: `mean` divides wrongly\nat: utils.py:6\nquote: return sum(numbers)\n"
        "**Claim A:** its test passes\nrun: pytest -k mean\nends: passes\nshows: 1 passed\n"
    )
    assert claims is not None
    first, second = claims
    assert (first.of, first.place, first.quote) == ("B", "utils.py:6", "return sum(numbers)")
    assert (second.of, second.command, second.ends, second.shows) == (
        "A",
        "pytest -k mean",
        "passes",
        "1 passed",
    )


@pytest.mark.parametrize("words", ["claim: none", "claim B: none.", "None.", "Nothing is wrong."])
def test_nothing_wrong_is_an_answer(words: str) -> None:
    assert read_objections(words) == ((), "")


def test_at_most_three_claims_count() -> None:
    claims, _ = read_objections("\n".join(f"claim B: number {at} is wrong" for at in range(9)))
    assert claims is not None and len(claims) == 3


def test_a_revision_names_the_claims_it_accepts() -> None:
    revision, _ = read_revision(
        "accept: c1 and c7\nreject c2: since it holds\napproach: Other.", ["c1", "c2"]
    )
    assert revision and revision.accepted == ("c1",) and revision.rejected == ("c2",)
    assert revision.proposal and revision.proposal.approach == "Other."
    assert read_revision("approach: Other.", ["c1"])[0] is None


def test_a_judge_chooses_one_of_those_there_are() -> None:
    choice, _ = read_choice("choice: **B**\nwhy: it was shown", {"A", "B"})
    assert choice and choice.label == "B" and choice.why == "it was shown"
    assert read_choice("choice: C", {"A", "B"})[0] is None


@given(st.text())
def test_no_words_break_the_reading(words: str) -> None:
    read_proposal(words)
    read_objections(words)
    read_revision(words, ["c1"])
    read_choice(words, {"A"})
