"""Tests that a model names in `done`, for whoever judges its change."""

from kith.agent.attempt import claimed_tests
from kith.core.run import Thread
from kith.core.values import Message, ToolResult, say


def ended(*tests: str) -> Message:
    detail = {"final": True, "summary": "Done.", **({"tests": list(tests)} if tests else {})}
    return Message("tool", (ToolResult("c1", "Ended.", detail=detail),), "kith")


def test_the_last_done_names_the_tests() -> None:
    thread = Thread(
        "t", [say("do it"), ended("test_a.py"), say("wrong", "tests"), ended("test_b.py::test_x")]
    )
    assert claimed_tests(thread) == ("test_b.py::test_x",)


def test_a_done_without_tests_takes_claims_back() -> None:
    assert claimed_tests(Thread("t", [say("do it"), ended("test_a.py"), ended()])) == ()


def test_claims_of_an_earlier_task_do_not_count() -> None:
    assert claimed_tests(Thread("t", [say("one"), ended("test_a.py"), say("two")])) == ()
