"""How a council is decided, without anybody who speaks: agreement, claims, revisions, order, schedule."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.core.decisions import Claimed
from kith.features.confer.council_rules import (
    Proposal,
    Revision,
    Seat,
    TriedPlan,
    agree,
    are_level,
    cheapest,
    choose_tried,
    compare,
    holding,
    in_order,
    is_decided,
    make_lanes,
    may_revise,
    objections,
    take_revision,
)
from kith.features.confer.history import ENOUGH, Finished, results_of, weigh
from kith.features.measure.rows import LegRow

PLAN = Proposal("Divide by the length.", ("utils.py",), ("mean",), probe="pytest -k mean", ends="fails")


def claim(id: str, of: str, check: str) -> Claimed:
    return Claimed("k", id, "B" if of == "A" else "A", of, "wrong", "utils.py:6", check)  # type: ignore[arg-type]


def test_the_same_files_and_the_same_outcome_are_an_agreement() -> None:
    assert agree(
        [
            PLAN,
            Proposal(
                "Divide by the length instead.", ("utils.py",), ("mean",), probe=PLAN.probe, ends="fails"
            ),
        ]
    )
    assert not agree([PLAN])


def test_another_outcome_of_the_same_command_is_none() -> None:
    assert not agree([PLAN, Proposal("x", ("utils.py",), ("mean",), probe=PLAN.probe, ends="passes")])


def test_other_places_are_none() -> None:
    assert not agree([PLAN, Proposal("x", ("utils.py",), ("clamp",))])
    assert not agree([PLAN, Proposal("x", ("utils.py", "cli.py"), ("mean",))])
    assert agree([Proposal("divide", tuple("abcde")), Proposal("divide", tuple("abcd"))])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"design": ("dict", "linear scan")}, {"design": ("heap", "binary search")}),
        ({"design": ("get(key, default)", "dict")}, {"design": ("get(key)", "dict")}),
        ({"design": ("dict",)}, {"rejects": ("Dict",)}),
        ({"approach": "Count in a dictionary."}, {"approach": "Sort the list instead of a dictionary."}),
    ],
)
def test_opposite_designs_in_one_file_differ(one: Any, other: Any) -> None:
    plans = [
        Proposal(each.pop("approach", "Mend."), ("utils.py",), ("mean",), **each) for each in (one, other)
    ]
    assert compare(*plans) == compare(*reversed(plans)) == "different"


def test_designs_that_share_their_terms_are_the_same() -> None:
    one = Proposal("Keep the newest.", ("a.py",), design=("OrderedDict", "LRU"))
    assert compare(one, replace(one, approach="Drop the oldest.", design=("LRU", "lock"))) == "same"


def test_approaches_without_common_words_are_unclear() -> None:
    one = Proposal("Count them with a dictionary.", ("a.py",))
    assert compare(one, replace(one, approach="Sort, then walk once.")) == "unclear"


def test_answers_agree_by_their_word() -> None:
    assert agree([Proposal("since a", answer="yes"), Proposal("since b", answer="yes")])
    assert not agree([Proposal("since a", answer="yes"), Proposal("since b", answer="no")])
    assert not agree([Proposal("since a"), Proposal("since b")])


CLAIMS = st.lists(
    st.builds(
        claim,
        st.sampled_from(["c1", "c2", "c3", "c4"]),
        st.just("A"),
        st.sampled_from(["confirmed", "refuted", "unchecked"]),
    ),
    unique_by=lambda each: each.id,
)
REVISIONS = st.builds(
    Revision,
    st.lists(st.sampled_from(["c1", "c2", "c3", "c4", "c9"])).map(tuple),
    st.just(()),
    st.none() | st.just(Proposal("Something else.")),
)


@given(CLAIMS, REVISIONS)
def test_no_plan_changes_without_a_claim_that_holds_and_is_accepted(
    claims: list[Claimed], revision: Revision
) -> None:
    after, accepted = take_revision(PLAN, revision, claims)
    held = {each.id for each in claims if each.check == "confirmed"}
    assert set(accepted) <= held
    if after != PLAN:
        assert accepted and set(accepted) <= set(revision.accepted)


def test_only_claims_that_hold_count() -> None:
    claims = [claim("c1", "A", "confirmed"), claim("c2", "A", "refuted"), claim("c3", "B", "unchecked")]
    assert may_revise(claims) == ("A",)
    assert [each.id for each in holding(claims, "A")] == ["c1"]
    assert objections(claims) == {"A": 1}
    assert is_decided("AB", objections(claims))
    assert not is_decided("AB", {})


def test_fewer_objections_come_before_ability() -> None:
    assert in_order("AB", {"A": 1}, {"A": 0.9, "B": 0.2}) == ("B", "A")
    assert in_order("AB", {}, {"A": 0.2, "B": 0.9}) == ("B", "A")
    assert in_order("BA", {}, {}) == ("B", "A")


def test_the_cheaper_is_the_one_that_costs_less_money_then_less_time() -> None:
    assert cheapest({"A": (0.01, 1.0), "B": (0.0, 90.0)}) == "B"
    assert cheapest({"A": (0.0, 9.0), "B": (0.0, 2.0)}) == "B"


def test_a_judge_is_for_authors_who_are_as_good_as_each_other() -> None:
    assert are_level(0.74, 0.744) and are_level(0.0, 0.0)
    assert not are_level(0.7, 0.5)


def test_tests_come_first_then_findings_then_size() -> None:
    tried = [TriedPlan("A", False, 9), TriedPlan("B", True, 5, 2, 10), TriedPlan("C", True, 5, 1, 40)]
    assert choose_tried(tried) == tried[2]
    assert choose_tried([*tried, TriedPlan("D", True, 6, 9, 99)]) == TriedPlan("D", True, 6, 9, 99)
    assert choose_tried([TriedPlan("A", False), TriedPlan("B", None)]) is None


def test_one_server_is_one_lane_that_begins_with_who_spoke_last() -> None:
    seats = [Seat("A", "here"), Seat("B", "there"), Seat("C", "here")]
    labels = [[[seat.label for seat in lane] for lane in make_lanes(seats, turn)] for turn in (0, 1)]
    assert labels == [[["C", "A"], ["B"]], [["A", "C"], ["B"]]]


def test_a_server_with_slots_answers_several_at_once() -> None:
    assert len(make_lanes([Seat("A", "cloud", 4), Seat("B", "cloud", 4)], 0)) == 2


# --- whether it pays -----------------------------------------------------------------------------


def results(number: int, solved: int, tokens: int, kind: str = "plan") -> list[Finished]:
    return [Finished(kind, at < solved, tokens) for at in range(number)]


def test_councils_that_cost_more_and_solve_less_are_switched_off_after_fifty() -> None:
    without = results(60, 45, 10_000)
    assert weigh("plan", results(ENOUGH - 1, 10, 30_000), without).pays
    payoff = weigh("plan", results(ENOUGH, 10, 30_000), without)
    assert not payoff.pays and payoff.upper < 0
    assert payoff.why.startswith("Councils do not pay for plan here")
    assert weigh("refactor", results(ENOUGH, 10, 30_000), without).pays


def test_councils_that_may_pay_stay() -> None:
    assert weigh("plan", results(60, 50, 12_000), results(60, 40, 10_000)).pays
    assert weigh("plan", results(ENOUGH, 0, 30_000), []).pays  # nothing to hold them against


def test_a_task_is_as_good_as_its_best_part_and_costs_all_of_them() -> None:
    rows = [
        LegRow("s", 1, 0.0, "/", "small", "plan", reward=0.0),
        LegRow("s", 1, 1.0, "/", "large", "plan", after="small", reward=1.0),
        LegRow("t", 1, 2.0, "/", "small", "plan"),
        LegRow("council", 1, 3.0, "/", "small", "plan", reward=1.0),
    ]
    assert results_of(rows, ["council"]) == [Finished("plan", True, 0)]
