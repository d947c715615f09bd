"""Tests that a model says it had to change, because they contradict the task."""

from kith.core.run import Thread


def claimed_tests(thread: Thread) -> tuple[str, ...]:
    """The tests (ids or files) that the last `done` names since a person spoke; none where it names none.

    What the model says counts for nothing by itself: a judge decides, or the person is asked.
    """
    for message in reversed(thread.messages):
        if message.role == "user" and message.author == "person":
            break
        for result in message.results:
            if result.detail.get("final"):
                return tuple(map(str, result.detail.get("tests", ())))
    return ()
