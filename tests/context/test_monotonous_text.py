"""A file or a task that repeats one thing tens of thousands of times is read without getting stuck."""

from collections.abc import Callable

import pytest

from kith.context.explanations import find_explanations
from kith.context.outline import find_references, find_said
from kith.context.secrets import find_secrets, values_in
from kith.context.task_kinds import kind_of
from kith.context.task_words import find_words
from kith.context.uses import names_to_change
from kith.features.confer.panel import find_paths

LONG = 200_000  # characters; what takes quadratic time takes longer for them than a test may take
READERS: dict[str, Callable[[str], object]] = {
    "references of Python": lambda text: find_references("a.py", text),
    "references of JavaScript": lambda text: find_references("a.js", text),
    "references of C++": lambda text: find_references("a.cpp", text),
    "comments": lambda text: find_said("a.py", text),
    "secrets": find_secrets,
    "values": values_in,
    "kind of a task": kind_of,
    "words of a task": find_words,
    "names to change": names_to_change,
    "explanations": lambda text: find_explanations("a.py", text.split("\n")),
    "files of an answer": find_paths,
}


PIECES = (*" \n", *"a0-_+.(\"'`\\", "a/", "a=", "rename a_b to c_d ")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.slow
def test_monotonous_text_is_read(reader: str) -> None:
    for piece in PIECES:
        READERS[reader](piece * (LONG // len(piece)) + "!")
