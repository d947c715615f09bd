"""Reminders behind results: the steps that are left, and the open ones of the model's list."""

import json
from typing import Any

from outside import Kith, StandIn

EDIT = {"path": "utils.py", "old": "import math\n", "new": "import math\n\nLIMIT = 2\n"}
SOURCE = "import math\n\n\ndef root(x):\n    return math.sqrt(x)\n"


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "args": args}]}


def ask(kith: Kith, stand_in: StandIn, *replies: Any, steps: int = 50) -> list[str]:
    """The answers that the model got to its replies."""
    (kith.folder / "utils.py").write_text(SOURCE)
    server = stand_in(list(replies))
    kith("run", "--yes", "--check", "none", "--max-steps", str(steps), "set a limit")
    return [json.dumps(request["messages"][-1]) for request in server.requests[1:]]


def test_done_with_open_steps_is_questioned_once(kith: Kith, stand_in: StandIn) -> None:
    steps = call("todo", items=["set the limit", "write a test"])
    done = call("done", summary="The limit is set.")
    answers = ask(kith, stand_in, steps, call("edit", **EDIT), done, done)
    assert "open steps: set the limit; write a test." in answers[2] and len(answers) == 3


def test_a_model_that_stops_in_the_middle_of_its_list_is_asked_once(kith: Kith, stand_in: StandIn) -> None:
    steps = call("todo", items=["set the limit", "write a test"])
    answers = ask(kith, stand_in, steps, call("edit", **EDIT), "The limit is set.", "That is all.")
    assert "open steps: set the limit; write a test." in answers[2] and len(answers) == 3


def test_a_model_that_asks_something_itself_is_not_asked(kith: Kith, stand_in: StandIn) -> None:
    steps = call("todo", items=["set the limit", "write a test"])
    answers = ask(kith, stand_in, steps, call("edit", **EDIT), "Which limit shall I set?")
    assert len(answers) == 2


def test_a_list_that_is_done_is_not_asked_about(kith: Kith, stand_in: StandIn) -> None:
    steps = call("todo", items=[{"text": "set the limit", "state": "done"}])
    answers = ask(kith, stand_in, steps, call("edit", **EDIT), call("done", summary="The limit is set."))
    assert len(answers) == 2


def test_the_last_steps_are_counted(kith: Kith, stand_in: StandIn) -> None:
    looks = [call("read", paths=["utils.py"], offset=number) for number in range(1, 19)]
    replies = [*looks, call("edit", **EDIT), call("done", summary="The limit is set.")]
    answers = ask(kith, stand_in, *replies, steps=20)
    told = [number for number, answer in enumerate(answers, 1) if "steps are left" in answer]
    assert told == [10, 17] and "[3 of 20 steps are left. Finish with what works.]" in answers[16]
