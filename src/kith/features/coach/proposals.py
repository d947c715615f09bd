"""Propose strategies from a model's symptoms: by rules, or by asking another model."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from kith.context.budget import estimate_tokens
from kith.core.decisions import Coached
from kith.core.errors import LimitError, ModelError
from kith.core.events import Notice
from kith.core.loop import begin_turn
from kith.core.model import Prompt, Role
from kith.core.run import Run, Thread
from kith.core.values import say
from kith.features.coach.adoption import count
from kith.features.coach.strategy import (
    FILES,
    RANGES,
    EditForm,
    Levers,
    Strategy,
    Ways,
    accepted_share,
    check_strategy,
    is_of,
    read_strategy,
)
from kith.features.measure.intervals import Spread
from kith.features.measure.rows import CallRow, LegRow
from kith.models.dialects.json_text import load_json

# How a model does with one kind of work, in figures: what the coach looks at.

RECENT = 200  # tasks


class Symptoms(Struct, frozen=True):
    """The recent measurements of one model and kind of work.

    `solved` is a share with its 95 % interval. `seconds` are the median and ninth decile of a task,
    `read` and `written` those of a call's new and answered tokens. `reading` is the share of the time
    spent reading prompts. `failures` counts tasks, not events, by cause.
    """

    model: str
    kind: str
    tasks: int = 0
    solved: tuple[float, float, float] = (0.0, 0.0, 1.0)
    applied: float | None = None
    seconds: tuple[float, float] = (0.0, 0.0)
    read: tuple[float, float] = (0.0, 0.0)
    written: tuple[float, float] = (0.0, 0.0)
    rates: tuple[float, float] = (0.0, 0.0)
    reading: float = 0.0
    window: int = 0
    machine: str = ""
    failures: Mapping[str, int] = field(default_factory=dict)
    worst: tuple[LegRow, ...] = ()

    def share(self, *sorts: str) -> float:
        """The share of tasks in which one of these went wrong, at most."""
        return min(1.0, sum(self.failures.get(sort, 0) for sort in sorts) / self.tasks) if self.tasks else 0.0


def find_symptoms(
    key: str, model: str, kind: str, strategy: str, legs: Sequence[LegRow], calls: Sequence[CallRow]
) -> Symptoms:
    """The figures of the newest tasks of one kind that a model did in one way."""
    own = [leg for leg in legs if leg.kind == kind and is_of(leg, key, model)]
    own = [leg for leg in own if leg.strategy == strategy][-RECENT:]
    judged = [leg for leg in own if leg.reward is not None]
    counted, told = count(judged), [leg.applied for leg in own if leg.applied is not None]
    asked = {leg.session for leg in own}
    made = [call for call in calls if call.session in asked and is_of(call, key, model) and not call.error]
    prefill, decode = (sum(getattr(call.timing, part) for call in made) for part in ("prefill_s", "decode_s"))
    new, out = sum(call.evaluated for call in made), sum(call.usage.output for call in made)
    failures = Counter(sort for leg in own for sort in leg.failures)
    unsolved = (leg for leg in reversed(judged) if not leg.reward and leg.failures)
    return Symptoms(
        model=model,
        kind=kind,
        tasks=len(own),
        solved=(counted.good / counted.seen if counted.seen else 0.0, *counted.interval),
        applied=sum(told) / len(told) if told else None,
        seconds=_spread([leg.seconds for leg in own if leg.seconds]),
        read=_spread([float(call.evaluated) for call in made]),
        written=_spread([float(call.usage.output) for call in made]),
        rates=(new / prefill if prefill else 0.0, out / decode if decode else 0.0),
        reading=prefill / (prefill + decode) if prefill + decode else 0.0,
        window=max((call.window for call in made), default=0),
        machine=next((leg.machine for leg in reversed(own) if leg.machine), ""),
        failures=dict(failures.most_common()),
        worst=tuple(leg for leg, _ in zip(unsolved, range(3), strict=False)),
    )


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """The median and the ninth decile; zeros for nothing."""
    spread = Spread.of(values)
    return spread.median or 0.0, spread.p90 or 0.0


# What a proposer is shown of a model: figures, the sorts of its failures, what was tried; no logs.

ROOM: Final = 1_500  # tokens
_TASK, _TRIED = 120, 6  # characters of an example's task; strategies tried before


def make_card(seen: Symptoms, ways: Ways) -> dict[str, Any]:
    """The card, the same for the same figures, in at most ROOM estimated tokens: examples give way first."""
    card: dict[str, Any] = {
        "model": seen.model,
        "machine": seen.machine,
        "window": seen.window,
        "kind": seen.kind,
        "present": ways.champion.levers.changed,
        "tasks": seen.tasks,
        "solved": [round(each, 2) for each in seen.solved],
        "applied": None if seen.applied is None else round(seen.applied, 2),
        "seconds_p50_p90": [round(each) for each in seen.seconds],
        "new_tokens_p50_p90": [round(each) for each in seen.read],
        "answered_tokens_p50_p90": [round(each) for each in seen.written],
        "tokens_per_second_read_written": [round(each) for each in seen.rates],
        "time_spent_reading": round(seen.reading, 2),
        "failures": dict(seen.failures),
        "examples": [_example(leg.words, leg.failures) for leg in seen.worst],
        "tried": _tried([event for _, event in ways.history]),
    }
    for part in ("examples", "tried"):
        while card[part] and estimate_tokens(json.dumps(card)) > ROOM:
            card[part] = card[part][:-1]
    return card


def _example(words: str, failures: dict[str, int]) -> dict[str, Any]:
    """A task that went wrong, in its first words, and how."""
    return {"task": " ".join(words.split())[:_TASK], "went_wrong": dict(failures)}


def _tried(history: Sequence[Coached]) -> list[dict[str, Any]]:
    """List the results of earlier proposals, the newest first."""
    last = {str(event.strategy.get("id", "")): event for event in history}
    told = [event for event in last.values() if event.state != "proposed"]
    return [
        {
            "levers": event.strategy.get("levers", {}),
            "gain": round(event.figures.get("gain", 0.0), 2),
            "pairs": int(event.figures.get("pairs", 0)),
            "state": event.state,
        }
        for event in reversed(told[-_TRIED:])
    ]


# Proposals without a model: what usually helps against what goes wrong most.

RULES: Final = "rules"
_OFTEN, _SOMETIMES = 0.15, 0.08  # of the tasks
_READING: Final = 0.5  # of the time: a machine that mostly reads
_TALKATIVE: Final = 1_500  # tokens of a typical reply
_GUESS: Final = 0.08  # what a rule expects of what it proposes


def propose_by_rule(seen: Symptoms, ways: Ways) -> Iterator[Strategy]:
    """Propose untried strategies by rule, the most promising first."""
    champion, tried = ways.champion, set(ways.tried)
    for why, change in _ideas(seen, champion.levers):
        levers = replace(champion.levers, **change)
        strategy = Strategy(levers, champion.id, RULES, why, {"solved": _GUESS})
        if strategy.id not in tried and not check_strategy(strategy, seen.window):
            tried.add(strategy.id)
            yield strategy


def _ideas(seen: Symptoms, now: Levers) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a reason and the change that may help."""
    broken = seen.share("malformed_edit", "malformed_call")
    if broken >= _SOMETIMES and now.edits != "whole":
        yield f"{broken:.0%} of the tasks have edits or calls that cannot be used", {"edits": "whole"}
    if broken >= _SOMETIMES and now.edits == "tools":
        yield f"{broken:.0%} of the tasks have edits or calls that cannot be used", {"edits": "blocks"}
    if seen.share("loop") >= _SOMETIMES:
        yield "it repeats itself", {"temperature": 0.2, "min_p": 0.05}
    if seen.share("wrong_file") >= _SOMETIMES:
        yield "it looks for files that are not there", {"files": 3}
    if seen.reading >= _READING and not now.files:
        yield f"{seen.reading:.0%} of its time goes into reading", {"files": 3}
        yield f"{seen.reading:.0%} of its time goes into reading", {"signatures": True}
    if seen.written[0] >= _TALKATIVE and now.think is None:
        yield f"a typical reply has {seen.written[0]:,.0f} tokens", {"think": False}
    if seen.share("test_fail") >= _OFTEN and not now.split:
        yield "its changes fail the tests", {"split": True}
    if seen.share("test_fail") >= _OFTEN:
        yield "its changes fail the tests", {"room": 2.0} if now.room == 1.0 else {"temperature": 0.2}
    if now.temperature is None:
        yield "less chance in what it writes", {"temperature": 0.2}
    if not asdict(now)["files"]:
        yield "fewer files to be misled by", {"files": 3}


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
    """True if a model may continue to propose: after 20 settled proposals it must beat the rules."""
    good, settled = accepted_share(history, author)
    by_rules, of_rules = accepted_share(history, RULES)
    return settled < _FAIR or good / settled > (by_rules / of_rules if of_rules else 0.0)


async def ask_for_proposals(run: Run, role: Role, seen: Symptoms, ways: Ways) -> tuple[Strategy, ...]:
    """Ask a model for proposals; disallowed ones are reported. () when nothing can be read."""
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
    data = load_json(text)
    if not isinstance(data, dict):
        return (), "This is not one JSON object."
    proposals = data.get("proposals")
    if not isinstance(proposals, list) or not all(isinstance(each, dict) for each in proposals):
        return (), 'There is no list "proposals" of objects.'
    try:
        return tuple(_on_top(ways, read_strategy(each, author), each) for each in proposals[:MOST]), ""
    except ValueError as error:
        return (), f"{str(error).capitalize()}."


def _on_top(ways: Ways, proposed: Strategy, data: Mapping[str, Any]) -> Strategy:
    """The champion's levers, with those that the proposal names."""
    named = {name: getattr(proposed.levers, name) for name in Levers.__struct_fields__}
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
