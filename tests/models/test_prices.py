"""What a call costs: by a dated table in which the person's own rows win, row by row."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.errors import UsageError
from kith.core.values import Usage
from kith.models.prices import Prices, load_prices

DAY = date(2026, 11, 21)
OPUS, HAIKU, ARGON = "anthropic/claude-opus-5-5", "anthropic/claude-haiku-5-5", "gemini/gemini-4-argon"


def own(folder: Path, text: str) -> Prices:
    (folder / "prices.toml").write_text(text)
    return load_prices(folder)


def test_each_sort_of_token_has_its_price() -> None:
    usage = Usage(input=1_000_000, output=100_000, cached=600_000, written=300_000)
    # 100,000 fresh at 4, 600,000 cached at 0.20, 300,000 written at 5, 100,000 out at 20
    assert load_prices().cost(OPUS, usage, DAY) == pytest.approx(0.4 + 0.12 + 1.5 + 2.0)


def test_a_long_prompt_is_dearer_as_a_whole() -> None:
    short, long = (load_prices().cost(HAIKU, Usage(tokens, 1_000_000), DAY) for tokens in (100_000, 100_001))
    assert short == pytest.approx(0.01 + 0.5)
    assert long == pytest.approx(0.0500005 + 2.5)


def test_a_price_that_ends_is_followed_by_the_next() -> None:
    cost = load_prices().cost
    assert cost(ARGON, Usage(1_000_000), date(2026, 11, 30)) == pytest.approx(2.0)
    assert cost(ARGON, Usage(1_000_000), date(2026, 12, 1)) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        (OPUS, OPUS),
        ("anthropic/claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5"),
        ("anthropic/claude-opus-5@20260724", "anthropic/claude-opus-5"),
        ("gemini/gemini-3.1-pro-preview", "gemini/gemini-3.1-pro"),
        ("gemini/gemini-2.5-flash-lite-preview-09-2025", "gemini/gemini-2.5-flash-lite"),
        ("anthropic/claude-opus-5-9", ""),  # a new model is not an old one with a suffix
        ("gemini/gemini-2.5-flash-image", ""),
        ("openai/claude-opus-5", ""),  # somebody else's, at somebody else's price
        ("ollama/qwen3:8b", ""),
        ("", ""),
    ],
)
def test_dated_names_are_known_and_others_are_not_guessed(name: str, row: str) -> None:
    found = load_prices().find(name)
    assert (found.model if found else "") == row
    assert (load_prices().cost(name, Usage(1)) is None) == (not row)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_no_call_is_cheaper_for_more_tokens(fresh: int, cached: int, written: int, out: int) -> None:
    prices = load_prices()
    for name in prices.rows:
        usage = Usage(fresh + cached + written, out, cached, written)
        cost = prices.cost(name, usage, DAY)
        more = prices.cost(name, Usage(usage.input + 10, out + 10, cached, written), DAY)
        assert cost is not None and more is not None and 0 <= cost < more


def test_every_row_says_where_it_is_from_and_when() -> None:
    for row in load_prices().rows.values():
        assert "pricing" in row.source and row.seen and row.rate.input <= row.rate.output
        assert row.rate.cached <= row.rate.input <= row.rate.written


def test_own_rows_win_one_by_one(tmp_path: Path) -> None:
    rows = {OPUS: (1, 2), "box/coder": (0.5, 0.5), "tiny": (0, 0)}
    text = "\n".join(f'["{name}"]\ninput = {read}\noutput = {out}' for name, (read, out) in rows.items())
    prices = own(tmp_path, text)
    assert prices.cost(OPUS, Usage(1_000_000, 0, 500_000)) == pytest.approx(1.0)  # no discount is known
    assert prices.cost("box/coder", Usage(0, 1_000_000)) == pytest.approx(0.5)
    assert prices.cost("anywhere/tiny", Usage(9, 9)) == 0.0
    assert prices.cost(HAIKU, Usage(1_000_000), DAY) == load_prices().cost(HAIKU, Usage(1_000_000), DAY)
    assert prices.rows[OPUS].source == str(tmp_path / "prices.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('["x/y"]\ninput = 1\n', "line 1: x/y: output is missing."),
        ('\n\n["x/y"]\ninput = 1\noutput = "two"\n', "line 3: x/y: output must be dollars"),
        ('["x/y"]\ninput = -1\noutput = 1\n', "line 1: x/y: input must be dollars"),
        ('["x/y"]\ninput = nan\noutput = 1\n', "line 1: x/y: input must be dollars"),
        ('["x/y"]\ninput = true\noutput = 1\n', "line 1: x/y: input must be dollars"),
        ('["x/y"]\ninput = 1\noutput = 1\nouput = 2\n', "line 1: x/y: unknown key 'ouput'; there are: input"),
        ('["x/y"]\ninput = 1\noutput = 1\nlong = {input = 1, output = 2}\n', "long: above must be a number"),
        ('["x/y"]\ninput = 1\noutput = 1\nlater = {input = 1, output = 2}\n', "later: from must be a day"),
        ('["x/y"]\ninput = 1\noutput = 1\nlong = 5\n', "x/y, long: input is missing"),
        ("a = 1\nmodel = 3\n", 'line 1: a is no table; write the model as ["a"]'),
        ('["x/y"\n', "line 1: not valid TOML"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=r"prices\.toml") as caught:
        own(tmp_path, text)
    assert said in str(caught.value)


def test_no_count_of_a_server_makes_a_call_cheaper_than_nothing() -> None:
    """More cached than was read: a reward for the next call, as it were."""
    assert load_prices().cost("anthropic/claude-opus-5", Usage(10, 0, cached=10_000_000)) == pytest.approx(5)


def test_an_hour_in_the_cache_costs_twice_as_much_as_reading_anew() -> None:
    million = 1_000_000
    prices = load_prices()
    costs = [prices.cost("anthropic/claude-opus-5", Usage(million, 0, 0, million, n)) for n in (0, million)]
    assert costs == [pytest.approx(6.25), pytest.approx(10)]
    gemini = next(name for name in prices.rows if name.startswith("gemini/"))
    tokens = prices.rows[gemini].above or million
    assert prices.cost(gemini, Usage(tokens, 0, 0, tokens, tokens)) == prices.cost(gemini, Usage(tokens, 0))
