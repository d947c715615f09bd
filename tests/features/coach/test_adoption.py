"""Strategies as data: what may be proposed, and which way holds after any course of events."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import replace

from kith.core.codec import decode_event, encode_event
from kith.core.decisions import Coached
from kith.features.coach.sequential_test import Pair
from kith.features.coach.strategy import (
    ORIGINAL,
    Levers,
    Strategy,
    Ways,
    check_strategy,
    choose,
    fold_ways,
    phrase,
    read_strategy,
    tell_way,
)

IDEAS = [Strategy(Levers(**each)) for each in ({"edits": "whole"}, {"files": 3}, {"split": True})]
STATES = ("proposed", "refused", "canary", "adopted", "undone")
events = some.lists(some.tuples(some.sampled_from(IDEAS), some.sampled_from(STATES)), max_size=12)


def told(course: list[tuple[Strategy, str]], digest: str = "d1") -> list[tuple[float, Coached]]:
    made = (Coached(digest, "m", "edit-small", idea.data, state) for idea, state in course)  # type: ignore[arg-type]
    return [(float(at), event) for at, event in enumerate(made)]


@given(events)
def test_the_original_is_always_there(course: list[tuple[Strategy, str]]) -> None:
    found = fold_ways(told(course))
    ways = found.get(("d1", "edit-small"), Ways())
    assert len({each.id for each in ways.adopted}) == len(ways.adopted)
    assert ways.before.id != ways.champion.id or not ways.adopted
    undone = told([*course, *((idea, "undone") for idea in IDEAS)])
    assert fold_ways(undone)["d1", "edit-small"].champion == ORIGINAL


@given(events)
def test_the_last_word_on_a_way_holds(course: list[tuple[Strategy, str]]) -> None:
    last = {idea.id: state for idea, state in course}
    ways = fold_ways(told(course)).get(("d1", "edit-small"), Ways())
    assert {each.id for each in ways.adopted} == {id for id, state in last.items() if state == "adopted"}
    assert {each.id for each in ways.proposed} == {id for id, state in last.items() if state == "proposed"}
    assert ways.canary is None or last[ways.canary.id] == "canary"


def test_undoing_the_champion_brings_the_way_before_it_back() -> None:
    one, two, _ = IDEAS
    course = [(one, "adopted"), (two, "adopted")]
    assert fold_ways(told(course))["d1", "edit-small"].champion.id == two.id
    assert fold_ways(told([*course, (two, "undone")]))["d1", "edit-small"].champion.id == one.id


def test_other_weights_begin_anew() -> None:
    found = fold_ways([*told([(IDEAS[0], "adopted")]), *told([(IDEAS[1], "proposed")], "d2")])
    assert found["d2", "edit-small"].champion == ORIGINAL


def test_a_canary_gets_its_share_and_a_ticket_its_answer() -> None:
    one, two, _ = IDEAS
    ways = fold_ways(told([(one, "adopted"), (two, "canary")]))["d1", "edit-small"]
    chosen = [choose(ways, 0.2, f"session {number}").id for number in range(2_000)]
    assert chosen == [choose(ways, 0.2, f"session {number}").id for number in range(2_000)]
    assert 0.17 < chosen.count(two.id) / 2_000 < 0.23
    assert 0.03 < chosen.count(ORIGINAL.id) / 2_000 < 0.07  # the way before stays measured
    assert choose(Ways(), 1.0, "session") == ORIGINAL


def test_without_a_live_share_every_task_gets_the_champion() -> None:
    one, two, _ = IDEAS
    ways = fold_ways(told([(one, "adopted"), (two, "canary")]))["d1", "edit-small"]
    for waiting in (ways, replace(ways, canary=None)):
        assert {choose(waiting, 0.0, f"session {number}").id for number in range(2_000)} == {one.id}


@given(some.text(), some.text(max_size=200), some.text(max_size=200))
def test_the_persons_words_are_kept_as_they_are(task: str, above: str, below: str) -> None:
    wording = f"{above}{{task}}{below}"
    if not check_strategy(Strategy(Levers(wording=wording))):
        assert phrase(task, Levers(wording=wording)) == above + task + below


@pytest.mark.parametrize(
    ("levers", "window", "why"),
    [
        ({}, 0, "changes nothing"),
        ({"room": 9.0}, 0, "room is 9"),
        ({"files": 2}, 0, "files is 2"),
        ({"edits": "diff"}, 0, "edits is 'diff'"),
        ({"max_tokens": 8_000}, 8_192, "no room in a window of 8,192"),
        ({"wording": "Be brief."}, 0, "must contain {task}"),
        ({"wording": "{task} and {task}"}, 0, "must contain {task} once"),
        ({"wording": "x" * 2_000 + "{task}"}, 0, "2,006 characters"),
    ],
)
def test_what_may_not_be_tried_is_said(levers: dict[str, object], window: int, why: str) -> None:
    assert why in check_strategy(read_strategy({"levers": levers}), window)


@pytest.mark.parametrize(
    "levers", [{"speed": 1}, {"room": "big"}, {"think": 1}, {"steps": 2.5}, {"split": None}, ["room"]]
)
def test_unknown_and_mistyped_levers_are_refused(levers: object) -> None:
    with pytest.raises(ValueError, match=r"lever|cannot be|object"):
        read_strategy({"levers": levers})


def test_a_strategy_survives_the_log_and_its_id_says_what_it_does() -> None:
    strategy = Strategy(
        Levers(room=0.5, think=False, wording="Briefly: {task}"), "", "m", "why", {"solved": 0.1}
    )
    event = Coached("d", "m", "k", strategy.data, "proposed", author="m")
    again = decode_event("Coached", encode_event(event))
    assert isinstance(again, Coached)
    assert read_strategy(again.strategy, again.author) == strategy
    assert json.dumps(strategy.data)
    assert strategy.id == replace(strategy, author="other", hypothesis="").id != IDEAS[0].id


def test_a_person_is_told_how_their_words_are_asked_and_what_that_brought() -> None:
    strategy = Strategy(Levers(edits="whole", wording="Read first.\n{task}"))
    pairs = [Pair(False, True), Pair(True, True), Pair(False, False)]
    told = tell_way(strategy, pairs, "mend it")
    assert "edits whole" in told and "Of 3 recorded tasks it solved 2, the way before 1." in told
    assert "/original" in told
    assert told.endswith("Your words: mend it\nAsked as: Read first.\nmend it")
    assert "recorded" not in tell_way(strategy, [], "mend it")


def test_what_a_person_is_told_of_a_way_stays_short() -> None:
    strategy = Strategy(Levers(wording="{task}\nRead first."))
    told = tell_way(strategy, [Pair(True, True)], "mend it\n" * 50)
    assert "Of 1 recorded task it" in told
    assert told.endswith("Your words: mend it\nmend it\nmend it ...\nAsked as: mend it ...\nRead first.")
    assert all(line == line.rstrip() for line in told.splitlines())
    assert len(tell_way(strategy, [], "x" * 5_000)) < 800
