"""What a fork has copied, as the events in which it was said there."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from kith.features.web.html.entries import read_body
from kith.memory.live import Position, Seen


def unfold_fork(forked: Seen) -> Iterator[Seen]:
    """The copied turns and messages of a Forked event, in their order, each at a place of its own."""
    body, places = read_body(forked), count(1)
    spoken = {turn.get("after"): turn for turn in body.get("spoken", ())}

    def make(kind: str, data: object, at: float) -> Seen:
        place = Position(forked.position.seq, next(places))
        return replace(forked, position=place, kind=kind, body=json.dumps(data), at=at)

    at = forked.at
    for number, said in enumerate(body.get("said", ())):
        if turn := spoken.get(number):
            at = turn.get("at", at)
            begun = {"task": turn.get("words", ""), "root": "", "model": "", "version": ""}
            yield make("RunStarted", begun, at)
        yield make("Said", said, at)


def kind_of(body: Mapping[str, object]) -> object:
    """The command that a RunStarted tells of, None for a plain task."""
    options = body.get("options")
    return (options.get("kind") or None) if isinstance(options, dict) else None
