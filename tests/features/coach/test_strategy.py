"""The parts of coaching: strategies applied to a role, proposals by rule and by a model, recorded tasks."""

import asyncio
import json
from itertools import islice
from typing import Any

import pytest

from kith.agent.asking.roles import find_role
from kith.agent.roles import make_role
from kith.context.budget import estimate_tokens
from kith.core.decisions import Coached
from kith.core.errors import LimitError
from kith.core.events import Called, Event
from kith.core.model import Emit, Model, Prompt, Role
from kith.core.run import Run
from kith.core.values import Answer, Message, Question, Reply, Sampling, Text, say
from kith.features.coach.adaptation import dress
from kith.features.coach.experiment import find_recorded
from kith.features.coach.proposals import (
    ROOM,
    Symptoms,
    ask_for_proposals,
    find_symptoms,
    is_worth_asking,
    make_card,
    propose_by_rule,
    read_proposals,
)
from kith.features.coach.strategy import ORIGINAL, Levers, Strategy, Ways, check_strategy
from kith.features.measure.rows import LegRow
from kith.models.wrappers.metered import Metered
from kith.tools import standard_tools

NOBODY = Ways("small", "edit-small")
BROKEN = Symptoms("small", "edit-small", 40, failures={"malformed_edit": 12, "test_fail": 3}, window=16_384)


class Says:
    """A model that gives its replies one after the other."""

    name = "small"

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = list(replies), list[Prompt]()

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.asked.append(prompt)
        return Reply(Message("assistant", (Text(self.replies.pop(0)),)), "end", self.name)


def worker(model: Model) -> Role:
    return make_role(find_role("worker"), model, standard_tools(), Sampling(temperature=0.7, top_k=20))


def run_into(told: list[Event]) -> Run:
    async def nobody(question: Question) -> Answer:
        raise AssertionError(question.text)

    workspace: Any = None
    return Run(lambda event, path: told.append(event), nobody, workspace)


def test_the_original_leaves_a_role_as_it_is() -> None:
    role = worker(Says())
    assert dress(role, ORIGINAL) is role


@pytest.mark.parametrize("form", ["blocks", "whole"])
def test_edits_in_the_reply_take_the_tools_that_edit_away(form: Any) -> None:
    role = worker(Says())
    dressed = dress(role, Strategy(Levers(edits=form, temperature=0.1, max_tokens=900)))
    names = {tool.name for tool in dressed.tools}
    assert names.isdisjoint({"edit", "write", "done"}) and {"read", "bash"} <= names
    assert dressed.system.startswith(role.system.rstrip())
    assert dressed.sampling == Sampling(temperature=0.1, top_k=20, max_tokens=900)


def test_calls_are_told_with_their_strategy_and_steps_are_limited() -> None:
    strategy, told = Strategy(Levers(steps=3)), list[Event]()
    model = dress(worker(Metered(Says(*"abcdef"))), strategy).model
    prompt = Prompt("", (say("hi"),), attempt=1)

    async def ask(times: int, attempt: int) -> None:
        for _ in range(times):
            await model(Prompt("", prompt.messages, attempt=attempt), told.append)

    asyncio.run(ask(3, 1))
    asyncio.run(ask(2, 2))
    assert {event.strategy for event in told if isinstance(event, Called)} == {strategy.id}
    with pytest.raises(LimitError, match="after 3 steps"):
        asyncio.run(ask(1, 1))


def test_rules_answer_the_most_frequent_failure_and_repeat_nothing() -> None:
    first = list(islice(propose_by_rule(BROKEN, NOBODY), 2))
    assert [each.levers.changed for each in first] == [{"edits": "whole"}, {"edits": "blocks"}]
    tried = tuple((0.0, Coached("d", "small", "edit-small", each.data, "refused")) for each in first)
    later = list(propose_by_rule(BROKEN, Ways("small", "edit-small", history=tried)))
    assert later and not {each.id for each in first} & {each.id for each in later}
    assert all(not check_strategy(each) for each in later)
    slow = Symptoms("small", "edit-small", 40, reading=0.8)
    assert next(propose_by_rule(slow, NOBODY)).levers.files == 3


def test_a_card_is_short_whatever_there_is_to_tell() -> None:
    leg = LegRow("s", 1, 1.0, "/", "small", "edit-small", words="word " * 500, failures={"test_fail": 2})
    seen = Symptoms("small", "edit-small", 40, failures={f"sort {n}": n for n in range(40)}, worst=(leg,) * 3)
    history = tuple(
        (float(n), Coached("d", "small", "edit-small", Strategy(Levers(steps=n)).data, "refused"))
        for n in range(3, 90)
    )
    card = make_card(seen, Ways("small", "edit-small", history=history))
    assert estimate_tokens(json.dumps(card)) <= ROOM
    assert card == make_card(seen, Ways("small", "edit-small", history=history))
    assert len(card["examples"][0]["task"]) <= 120


def test_symptoms_count_tasks_not_events() -> None:
    legs = [
        LegRow(f"s{n}", 1, float(n), "/", "small", "edit-small", reward=float(n % 2), seconds=10.0 + n,
               failures={} if n % 2 else {"malformed_edit": 5})
        for n in range(10)
    ]  # fmt: skip
    other = LegRow("x", 1, 1.0, "/", "large", "edit-small", reward=1.0)
    seen = find_symptoms("small", "small", "edit-small", "", [*legs, other], [])
    assert (seen.tasks, seen.failures, seen.solved[0]) == (10, {"malformed_edit": 5}, 0.5)
    assert seen.share("malformed_edit") == 0.5 and len(seen.worst) == 3


def reply(*levers: dict[str, Any]) -> str:
    proposals = [{"hypothesis": "because", "levers": each, "predicted": {"solved": 0.1}} for each in levers]
    return json.dumps({"proposals": proposals})


def test_proposals_come_on_top_of_the_present_way() -> None:
    ways = Ways("small", "edit-small", adopted=(Strategy(Levers(edits="whole")),))
    found, fault = read_proposals(
        f"Sure:\n{reply({'temperature': 0.2}, {'files': 1}, {'files': 6})}", ways, "m"
    )
    assert not fault and len(found) == 2
    assert found[0].levers == Levers(edits="whole", temperature=0.2)
    assert found[0].parent == ways.champion.id and found[0].predicted == {"solved": 0.1}


@pytest.mark.parametrize(
    "text", ["no", "[]", '{"proposals": 3}', '{"proposals": [3]}', reply({"speed": 1}), reply({"files": "x"})]
)
def test_what_cannot_be_read_is_said_in_words(text: str) -> None:
    found, fault = read_proposals(text, NOBODY, "m")
    assert found == () and fault.endswith(".")


def test_a_model_is_asked_twice_and_its_bad_ideas_are_left_out() -> None:
    told = list[Event]()
    model = Says("I would ...", reply({"wording": "Be quick."}, {"temperature": 0.2}))
    role = make_role(find_role("coach"), model, (), Sampling())
    found = asyncio.run(ask_for_proposals(run_into(told), role, BROKEN, NOBODY))
    assert [each.levers.changed for each in found] == [{"temperature": 0.2}]
    assert found[0].author == "small"
    assert model.asked[0].shape and "must contain {task}" in str(told)
    mute = make_role(find_role("coach"), Says("no", "no"), (), Sampling())
    assert asyncio.run(ask_for_proposals(run_into(told), mute, BROKEN, NOBODY)) == ()


def test_a_model_that_is_no_better_than_the_rules_is_not_asked_any_more() -> None:
    def settled(author: str, good: int, bad: int) -> list[Coached]:
        states = ["canary"] * good + ["refused"] * bad
        levers = (Levers(steps=3 + n, split=author == "m") for n in range(len(states)))
        made = zip(levers, states, strict=True)
        return [Coached("d", "m", "k", Strategy(each).data, state, author=author) for each, state in made]  # type: ignore[arg-type]

    assert is_worth_asking([], "m") and is_worth_asking(settled("m", 0, 19), "m")
    assert not is_worth_asking(settled("m", 0, 20), "m")
    assert not is_worth_asking(settled("m", 2, 18) + settled("rules", 2, 8), "m")
    assert is_worth_asking(settled("m", 8, 12) + settled("rules", 2, 8), "m")


def test_recorded_tasks_are_those_that_can_be_done_again() -> None:
    whole = LegRow("s", 1, 5.0, "/a", "m", "k", words="do", commit="c", check=("t",), reason="tests")
    legs = [
        whole,
        LegRow("s2", 1, 6.0, "/a", "m", "k", words="do", commit="c", check=("t",), reason="tests"),  # again
        LegRow("s3", 1, 7.0, "/a", "m", "k", words="broke", commit="c", reason="malformed"),  # usual check
        LegRow("s4", 1, 7.0, "/a", "m", "k", words="dirty", check=("t",), reason="tests"),
        LegRow("s5", 1, 7.0, "/b", "m", "k", words="b", commit="c", check=("t",), reason="tests"),
        LegRow("s6", 1, 7.0, "/a", "m", "k", words="suite", commit="c", check=("t",), reason="suite"),
        LegRow(
            "s7", 1, 7.0, "/a", "m", "k", words="left", commit="c", check=("t",), reason="tests", after="x"
        ),
    ]
    found = find_recorded(legs, "/a")
    assert [(each.words, each.check) for each in found] == [("broke", ("t",)), ("do", ("t",))]
    assert found[1].id == find_recorded([whole])[0].id
