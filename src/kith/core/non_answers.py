"""Recognise replies that answer nothing: marks without words, and the request said back."""

import re
import unicodedata
from typing import Final

TASK_HEADING: Final = "# Task"  # stands between a project's layout and a task's own words
_FEWEST_WORDS: Final = 4  # of an echo; a short greeting may be answered with itself
_WORD: Final = re.compile(r"\w+")


def is_answer(reply: str, request: str) -> bool:
    """True unless the reply holds no more than punctuation, or what the request begins with."""
    if not any(char.isalnum() or unicodedata.category(char) == "So" for char in reply):  # So: emoji
        return False
    said, asked = _words(reply), _words(request)
    return asked[: len(said)] != said or len(said) < _FEWEST_WORDS


def _words(text: str) -> list[str]:
    return _WORD.findall(text.rpartition(f"{TASK_HEADING}\n")[2].casefold())
