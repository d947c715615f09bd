"""Estimates and cuts."""

from hypothesis import given
from hypothesis import strategies as st

from kith.context.budget import estimate_tokens, fit_middle


@given(st.text(), st.text())
def test_a_whole_never_costs_more_than_its_parts(one: str, other: str) -> None:
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


def test_known_texts_are_not_underestimated() -> None:
    # Counted with the Qwen 2 tokenizer.
    assert estimate_tokens("") == 0
    assert 13 <= estimate_tokens("hello world, def foo(x): return 1234") <= 20


@given(st.text(max_size=300), st.integers(-5, 320))
def test_a_cut_text_is_never_too_long(text: str, chars: int) -> None:
    cut = fit_middle(text, chars)
    assert len(cut) <= max(chars, 0)
    assert len(text) > chars or cut == text


def test_a_cut_says_how_much_is_missing() -> None:
    cut = fit_middle("a" * 500 + "z" * 500, 100)
    assert cut.startswith("aaa") and cut.endswith("zzz")
    kept = cut.count("a", 0, cut.index("[")) + cut.count("z")
    assert f" {1000 - kept} " in cut


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=50))
def test_lone_surrogates_have_a_price_too(text: str) -> None:
    assert estimate_tokens(text + "\udc80") >= estimate_tokens(text)
