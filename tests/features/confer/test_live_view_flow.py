"""Words that arrive in pieces are broken between words, and none is lost."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kith.features.confer.live_view import HELD, WordFlow


def shown(pieces: list[str], width: int) -> str:
    flow = WordFlow(width)
    return "".join(map(flow.take, pieces)) + flow.end()


def test_a_line_is_broken_between_words() -> None:
    assert shown(["It div", "ides by their", " count now, and"], 20) == "It divides by their \ncount now, and"
    assert shown(["as it is\n", "here"], 20) == "as it is\nhere"
    assert shown(["1234567890 ", "123456789 x"], 20) == "1234567890 123456789\nx"


def test_a_word_is_shown_when_it_is_whole() -> None:
    flow = WordFlow(80)
    assert (flow.take("all te"), flow.take("sts pa"), flow.end()) == ("all ", "tests ", "pa")


def test_a_script_without_blanks_is_not_waited_for() -> None:
    assert WordFlow(80).take("字" * HELD) == "字" * HELD


@given(st.lists(st.text(alphabet="ab字 \n", max_size=20), max_size=12), st.integers(40, 90))
def test_nothing_is_lost_and_no_line_is_too_long(pieces: list[str], width: int) -> None:
    whole = "".join(pieces)
    text = shown(pieces, width)
    assert "".join(text.split()) == "".join(whole.split())
    if max(map(cell_len, whole.split()), default=0) < HELD:  # longer words come in parts
        assert text.split() == whole.split()
        assert all(cell_len(line) <= width for line in text.split("\n"))
