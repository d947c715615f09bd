"""Replies that answer nothing, and short ones that do."""

import pytest

from kith.core.non_answers import is_answer

ASKED = "README.md\nutils.py\n\n# Task\nWhich function computes the mean? Say its name."


@pytest.mark.parametrize(
    "reply",
    ["", " \n", "...", "```\n```", "which function computes the MEAN", f"# Task\n{ASKED[-48:]}", ASKED],
)
def test_marks_and_echoes_are_no_answers(reply: str) -> None:
    assert not is_answer(reply, ASKED)


@pytest.mark.parametrize("reply", ["mean", "42", "👍", "Which function?", f"{ASKED}\nIt is mean()."])
def test_words_of_its_own_are_an_answer(reply: str) -> None:
    assert is_answer(reply, ASKED)


def test_a_short_greeting_may_be_answered_with_itself() -> None:
    assert is_answer("Hello there!", "hello there")
