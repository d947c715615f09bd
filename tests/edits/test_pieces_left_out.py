"""What was left out of a change, as its author is told."""

from hypothesis import given
from hypothesis import strategies as st

from kith.core.values import Change, Changes, FileChange
from kith.edits import keep_hunks, split_hunks, summarise
from kith.edits.pieces import tell_left_out

LINES = [f"line {number}" for number in range(1, 61)]


def text(**swaps: str) -> bytes:
    lines = [swaps.get(f"l{number}", line) for number, line in enumerate(LINES, 1)]
    return "".join(f"{line}\n" for line in lines).encode()


CHANGE = Change("a.py", text(), text(l5="five", l30="thirty", l50="fifty"))


def tell(made: Changes, kept: Changes, room: int = 10_000) -> str:
    return tell_left_out(summarise(made), summarise(kept), room)


def test_nothing_is_said_of_what_was_kept() -> None:
    assert tell((CHANGE,), (CHANGE,)) == ""
    assert tell((), ()) == ""


def test_only_the_pieces_that_were_left_out_are_shown() -> None:
    told = tell((CHANGE,), (keep_hunks(CHANGE, {0, 2}),))
    assert "a.py: left out" in told
    assert "-line 30\n+thirty" in told and "@@ -27,7 @@" in told
    assert "five" not in told and "fifty" not in told


def test_a_file_of_which_nothing_was_kept_is_only_named() -> None:
    new = Change("b.py", None, b"x = 1\n")
    assert tell((CHANGE, new), (CHANGE,)) == "- b.py: nothing of it was kept."


def test_a_piece_that_was_edited_is_shown_as_it_is_now() -> None:
    told = tell((CHANGE,), (Change("a.py", text(), text(l5="five", l30="dreissig", l50="fifty")),))
    assert "differently" in told and "+dreissig" in told
    assert "left out" not in told and "+thirty" not in told


def test_what_does_not_fit_is_named_by_its_lines() -> None:
    told = tell((CHANGE,), (keep_hunks(CHANGE, {1}),), room=50)
    assert told == "- a.py: left out, so there the file is as it was before (lines 2 to 8, lines 47 to 53)"


def test_a_fence_is_longer_than_what_it_holds() -> None:
    change = Change("a.md", b"```\nx\n```\n", b"```\ny\n````\n")
    other = Change("a.md", b"```\nx\n```\n", b"```\nz\n````\n")
    assert "\n`````diff\n" in tell((change,), (other,))


@given(st.sets(st.integers(0, 2)))
def test_each_piece_is_either_kept_or_told(kept: set[int]) -> None:
    now: tuple[FileChange, ...] = summarise((keep_hunks(CHANGE, kept),)) if kept else ()
    told = tell_left_out(summarise((CHANGE,)), now, 10_000)
    for number, piece in enumerate(split_hunks(CHANGE)):
        shown = "\n".join(piece.lines) in told
        assert shown == (bool(kept) and number not in kept)
