"""What a proposer is shown of a model: figures, the sorts of its failures, what was tried; no logs."""

import json
from collections.abc import Sequence
from typing import Any, Final

from kith.context.budget import estimate_tokens
from kith.core.decisions import Coached
from kith.features.coach.strategy import Ways
from kith.features.coach.symptoms import Symptoms

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
    """What came of earlier proposals, the newest first."""
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
