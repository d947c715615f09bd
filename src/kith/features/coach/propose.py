"""Asking a model how another one might be asked better: a card goes in, at most two strategies come out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final, get_args

from kith.core.decisions import Coached
from kith.core.errors import LimitError, ModelError
from kith.core.events import Notice
from kith.core.loop import begin_turn
from kith.core.model import Prompt, Role
from kith.core.run import Run, Thread
from kith.core.values import say
from kith.features.coach.card import make_card
from kith.features.coach.rules import AUTHOR as RULES
from kith.features.coach.strategy import (
    FILES,
    RANGES,
    EditForm,
    Levers,
    Strategy,
    Ways,
    accepted_share,
    check_strategy,
    read_strategy,
)
from kith.features.coach.symptoms import Symptoms

ROLE: Final = "coach"
MOST: Final = 2  # proposals at a time
_FAIR: Final = 20  # settled proposals, after which a model has to be better than the rules
_TRIES: Final = 2


def shape_of_reply() -> dict[str, Any]:
    """The JSON Schema of a reply; a lever that is left out stays as it is."""
    number, whole, yes = {"type": "number"}, {"type": "integer"}, {"type": "boolean"}
    levers: dict[str, Any] = dict.fromkeys(RANGES, number) | {"steps": whole, "max_tokens": whole}
    levers |= {"files": {"enum": list(FILES)}, "edits": {"enum": list(get_args(EditForm))}}
    levers |= {"signatures": yes, "think": yes, "split": yes, "wording": {"type": "string"}}
    proposal = {
        "hypothesis": {"type": "string"},
        "levers": {"type": "object", "properties": levers, "additionalProperties": False},
        "predicted": {"type": "object", "properties": {"solved": number, "seconds": number}},
    }
    item = {"type": "object", "properties": proposal, "required": ["hypothesis", "levers"]}
    return {
        "type": "object",
        "properties": {"proposals": {"type": "array", "items": item, "maxItems": MOST}},
        "required": ["proposals"],
    }


def is_worth_asking(history: Sequence[Coached], author: str) -> bool:
    """Whether a model may go on proposing: after 20 settled proposals it has to be better than the rules."""
    good, settled = accepted_share(history, author)
    by_rules, of_rules = accepted_share(history, RULES)
    return settled < _FAIR or good / settled > (by_rules / of_rules if of_rules else 0.0)


async def ask_for_proposals(run: Run, role: Role, seen: Symptoms, ways: Ways) -> tuple[Strategy, ...]:
    """What a model proposes and may be tried; what may not is said. () when nothing of it can be read."""
    thread, fault = Thread(ROLE), ""
    begin_turn(run, thread, say(json.dumps(make_card(seen, ways)), "kith"))
    try:
        for attempt in range(1, _TRIES + 1):
            prompt = Prompt(role.system, thread.messages, (), role.purpose, attempt, role.sampling, ROLE)
            reply = await role.model(replace(prompt, shape=shape_of_reply()), run.emit)
            thread.add(run, replace(reply.message, complete=reply.stop != "length"))
            found, fault = read_proposals(reply.message.text, ways, role.model.name)
            if not fault:
                return _allowed(run, found, seen, ways)
            if attempt < _TRIES:
                thread.add(run, say(f"{fault} Send the whole object again.", "kith"))
    except (ModelError, LimitError) as error:
        fault = str(error)
    run.emit(Notice(f"{role.model.name} proposed nothing that can be used: {fault}"))
    return ()


def read_proposals(text: str, ways: Ways, author: str) -> tuple[tuple[Strategy, ...], str]:
    """The strategies in a reply, on top of the way that holds, or what is wrong with it in words."""
    start, end = text.find("{"), text.rfind("}")
    try:
        data = json.loads(text[start : end + 1], strict=False)
    except ValueError:
        return (), "This is not one JSON object."
    proposals = data.get("proposals") if isinstance(data, dict) else None
    if not isinstance(proposals, list) or not all(isinstance(each, dict) for each in proposals):
        return (), 'There is no list "proposals" of objects.'
    try:
        return tuple(_on_top(ways, read_strategy(each, author), each) for each in proposals[:MOST]), ""
    except ValueError as error:
        return (), f"{str(error).capitalize()}."


def _on_top(ways: Ways, proposed: Strategy, data: Mapping[str, Any]) -> Strategy:
    """The champion's levers, with those that the proposal names."""
    named = {each.name: getattr(proposed.levers, each.name) for each in fields(Levers)}
    changed = {name: value for name, value in named.items() if name in data.get("levers", {})}
    return replace(proposed, levers=replace(ways.champion.levers, **changed), parent=ways.champion.id)


def _allowed(run: Run, found: Sequence[Strategy], seen: Symptoms, ways: Ways) -> tuple[Strategy, ...]:
    """Those that may be tried and were not yet."""
    allowed = list[Strategy]()
    for strategy in found:
        fault = "it was tried before" if strategy.id in ways.tried else check_strategy(strategy, seen.window)
        if fault:
            run.emit(Notice(f"A proposal of {strategy.author} is left out: {fault}."))
        else:
            allowed.append(strategy)
    return tuple(allowed)
