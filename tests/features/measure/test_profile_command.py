"""Plots in a terminal: what they show, and that they stay within their room."""

import io

from hypothesis import given
from hypothesis import strategies as st

from kith.features.measure.profile_command import (
    ASCII,
    BLOCKS,
    choose_glyphs,
    draw_parts,
    draw_share,
    draw_time,
)


def test_a_share_stands_between_its_bounds() -> None:
    assert draw_share(0.5, 0.2, 0.8, 21) == "────├─────●─────┤────"
    assert draw_share(1.0, 0.5, 1.0, 11, ASCII) == "-----|----o"


def test_parts_of_a_bar_are_as_long_as_they_are_large() -> None:
    assert draw_parts([50, 25, 25], 100, 8) == "████▒▒░░"
    assert draw_parts([1, 0, 1], 2, 4, ASCII) == "##.."
    assert draw_parts([0, 0], 0, 4) == ""


def test_values_over_time_are_columns_with_gaps() -> None:
    plot = draw_time([(0, 10), (1, 20), (4, 40)], 9, 4)
    assert plot == [
        "40 │    █",
        "   │    █",
        "20 │ █  █",
        "   │██  █",
        " 0 └─────",
    ]
    assert draw_time([(0, 10), (1, 20), (4, 40)], 9, 4, ASCII)[-1] == " 0 +-----"


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e5)), min_size=1, max_size=40), st.integers(20, 80)
)
def test_a_plot_is_never_wider_than_its_room(points: list[tuple[float, float]], width: int) -> None:
    plot = draw_time(points, width, 4)
    assert len(plot) == 5 and max(map(len, plot)) <= width
    assert any(set(line) & set(BLOCKS.rising) for line in plot)


def test_a_stream_without_these_characters_gets_ascii() -> None:
    latin = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    assert choose_glyphs(latin) is ASCII
    assert choose_glyphs(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) is BLOCKS
