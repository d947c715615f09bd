"""Values in a text: wherever they stand, and pieces of them, what is found is what a plain search finds."""

from hypothesis import given
from hypothesis import strategies as st

from kith.context.redact import PIECE, Occurrences

some_values = st.lists(st.text("abc1", min_size=1, max_size=40), max_size=6, unique=True)


@st.composite
def texts_with(draw: st.DrawFn, values: list[str]) -> str:
    """Words, and among them values, whole and cut."""
    parts = [st.text("abc1 ", max_size=12)]
    if values:
        cuts = st.tuples(st.sampled_from(values), st.integers(0, 20), st.integers(0, 40))
        parts.append(cuts.map(lambda cut: cut[0][cut[1] : cut[1] + cut[2]]))
        parts.append(st.sampled_from(values))
    return "".join(draw(st.lists(st.one_of(parts), max_size=12)))


def covered(places: list[tuple[int, int]]) -> set[int]:
    return {at for start, end in places for at in range(start, end)}


@given(some_values.flatmap(lambda values: st.tuples(st.just(values), texts_with(values))))
def test_whole_values_are_found_wherever_they_stand(given: tuple[list[str], str]) -> None:
    values, text = given
    plain = [
        (at, at + len(value)) for value in values for at in range(len(text)) if text.startswith(value, at)
    ]
    assert covered(list(Occurrences(values).find(text))) == covered(plain)


@given(some_values.flatmap(lambda values: st.tuples(st.just(values), texts_with(values))))
def test_pieces_are_found_that_are_long_enough(given: tuple[list[str], str]) -> None:
    values, text = given
    plain = [
        (at, at + PIECE)
        for at in range(len(text) - PIECE + 1)
        if any(text[at : at + PIECE] in value for value in values)
    ]
    assert covered(list(Occurrences((), values).find(text))) >= covered(plain)
    for start, end in Occurrences((), values).find(text):
        assert end - start >= PIECE and any(text[start:end] in value for value in values)
