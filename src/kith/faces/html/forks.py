"""What a fork has copied, as the events in which it was said there."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from kith.faces.html.entries import read_body
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


def is_fork(body: Mapping[str, object]) -> bool:
    """Whether a RunStarted begins a fork: the other session's name is no task of this one."""
    options = body.get("options")
    return isinstance(options, dict) and options.get("kind") == "fork"
