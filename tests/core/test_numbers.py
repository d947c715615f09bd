"""Amounts of money, as people read them."""

import pytest

from kith.core.numbers import dollars


@pytest.mark.parametrize(
    ("usd", "words"),
    [
        (0.0, "$0.00"),
        (0.00001, "under $0.0001"),
        (0.0004, "$0.0004"),
        (0.034, "$0.034"),
        (0.5, "$0.50"),
        (12.3456, "$12.35"),
        (1234.5, "$1,234.50"),
    ],
)
def test_amounts_in_words(usd: float, words: str) -> None:
    assert dollars(usd) == words
