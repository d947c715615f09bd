"""Proposals without a model: what usually helps against what goes wrong most."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, Final

from kith.features.coach.strategy import Levers, Strategy, Ways, check_strategy
from kith.features.coach.symptoms import Symptoms

AUTHOR: Final = "rules"
_OFTEN, _SOMETIMES = 0.15, 0.08  # of the tasks
_READING: Final = 0.5  # of the time: a machine that mostly reads
_TALKATIVE: Final = 1_500  # tokens of a typical reply
_GUESS: Final = 0.08  # what a rule expects of what it proposes


def propose_by_rule(seen: Symptoms, ways: Ways, most: int = 2) -> tuple[Strategy, ...]:
    """What was not tried yet, the most promising first: at most `most` of them."""
    champion = ways.champion
    found = list[Strategy]()
    for why, change in _ideas(seen, champion.levers):
        levers = replace(champion.levers, **change)
        strategy = Strategy(levers, champion.id, AUTHOR, why, {"solved": _GUESS})
        new = strategy.id not in ways.tried and strategy.id not in {each.id for each in found}
        if new and not check_strategy(strategy, seen.window):
            found.append(strategy)
    return tuple(found[:most])


def _ideas(seen: Symptoms, now: Levers) -> Iterator[tuple[str, dict[str, Any]]]:
    """Why something may help, and what to change."""
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
