"""Properties over arbitrary bytes: diffs go there and back, but not twice, and can be kept in pieces."""

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from kith.core.values import Change
from kith.edits import (
    EditError,
    Hunk,
    find_edits,
    keep_hunks,
    make_changes,
    paths_of,
    split_hunks,
    unified_diff,
)

PIECES = [
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"\xef\xbb\xbf",
    b"\xe9",
    "\u2028".encode(),
    "\x85".encode(),
    b"\x0c",
    b"\x0b",
]
WORDS = [
    b"a",
    b"b",
    b"-",
    b"+",
    b"-- a",
    b"++ b",
    b"@@ -1 +1 @@",
    b"\\ No newline at end of file",
    b"```",
    b"    ",
]
BYTES = st.lists(st.one_of(st.sampled_from(PIECES + WORDS), st.binary(max_size=3)), max_size=30).map(b"".join)
TEXT = BYTES.map(lambda content: content.replace(b"\0", b"0"))
NAME = "src/a b.txt"


@st.composite
def revised(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A text of many lines, and the same with some of them put in another one's place."""
    rows = draw(
        st.lists(st.sampled_from([*PIECES, *WORDS]).map(lambda row: row.strip(b"\r\n") + b"\n"), max_size=60)
    )
    other = list(rows)
    for at, count, new in draw(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2), TEXT), max_size=4)):
        other[at : at + count] = [new]
    return b"".join(rows), b"".join(other)


SIDES = st.one_of(st.tuples(TEXT, TEXT), revised())


def apply(diff: str, content: bytes) -> bytes | None:
    """What a diff makes of one file. Raises EditError."""
    edits = find_edits(diff, (NAME,), "stop")
    assert paths_of(edits) == (NAME,)
    (change,) = make_changes(edits, {NAME: content})
    assert change.before == content
    return change.after


@settings(deadline=None)
@given(SIDES)
@example((b"", b"\r"))
@example((b"a\r", b"a\r\n"))
@example((b"b\r\na\r", b"c\r\na\r"))
@example((b"a\r\nb", b"a\r\nb\r\nc"))
def test_a_diff_goes_there_and_its_inverse_back(sides: tuple[bytes, bytes]) -> None:
    before, after = sides
    assume(before != after)
    change = Change(NAME, before, after)
    assert apply(unified_diff(change), before) == after
    assert apply(unified_diff(change.inverse), after) == before


@settings(deadline=None)
@given(SIDES)
@example((b"x\n" * 10 + b"y\n", b"x\n" * 9 + b"y\n"))
@example((b"\xe9", b"\xef\xbb\xbf\xe9\n\n"))  # a mark at the top that came with it
def test_a_diff_that_was_applied_is_refused(sides: tuple[bytes, bytes]) -> None:
    change = Change(NAME, *sides)
    pieces = split_hunks(change)
    assume(pieces and all(map(has_words, pieces)))  # one blank line more is always possible
    with pytest.raises(EditError):
        apply(unified_diff(change), sides[1])


def has_words(piece: Hunk) -> bool:
    """Whether something that stands there, and something that comes or goes, is more than blank lines."""
    return all(any(line.strip("\ufeff").strip() for line in side) for side in (piece.old, piece.new))


@settings(deadline=None)
@given(SIDES, st.sets(st.integers(0, 5)))
def test_pieces_that_are_kept_are_those_of_the_diff(sides: tuple[bytes, bytes], some: set[int]) -> None:
    before, after = sides
    change = Change(NAME, before, after)
    pieces = split_hunks(change)
    kept = some & set(range(len(pieces)))
    assume(kept)
    diff = f"--- a/{NAME}\n+++ b/{NAME}\n" + "".join(pieces[number].text for number in sorted(kept))
    assert keep_hunks(change, kept).after == apply(diff, before)


@settings(deadline=None)
@given(BYTES, BYTES, st.booleans())
def test_what_is_no_text_is_left_alone(before: bytes, after: bytes, was: bool) -> None:
    before, after = (before + b"\0", after) if was else (before, after + b"\0")
    assume(before != after)
    with pytest.raises(EditError):
        apply(unified_diff(Change(NAME, before, after)), before)
