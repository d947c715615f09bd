"""A piece of a change, edited by hand: what was written becomes the file, or one sentence says why not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.values import Change
from kith.edits import EditError, Hunk, keep_hunks, split_hunks
from kith.edits.hunks import draft_of, read_draft

ROWS = st.lists(st.sampled_from(["a", "b", "# c", "", " d", "-e", "+f", "\\ g", "@@ h"]), max_size=12)
ENDS = st.sampled_from(["\n", "", "\r\n"])


def content(rows: list[str], end: str) -> bytes:
    joined = ("\r\n" if end == "\r\n" else "\n").join(rows)
    return (joined + end if rows else "").encode()


def change_of(old: bytes, new: bytes) -> Change:
    return Change("a.txt", old, new)


@given(ROWS, ROWS, ENDS, ENDS)
def test_a_draft_that_nobody_touched_is_the_piece_again(
    old: list[str], new: list[str], end: str, new_end: str
) -> None:
    change = change_of(content(old, end), content(new, new_end))
    pieces = split_hunks(change)
    read = {number: read_draft(draft_of(piece), piece) for number, piece in enumerate(pieces)}
    edited = {number: piece for number, piece in read.items() if piece}
    assert [each.lines for each in edited.values()] == [piece.lines for piece in pieces]
    assert keep_hunks(change, (), edited).after == change.after


BEFORE = b"one\ntwo\nthree\nfour\nfive\n"
AFTER = b"one\n2\nthree\nfour\nfive\n"


def edit(*swaps: tuple[str, str], before: bytes = BEFORE, after: bytes = AFTER) -> bytes | None:
    """The file once its one piece was edited so."""
    change = change_of(before, after)
    (piece,) = split_hunks(change)
    text = draft_of(piece)
    for old, new in swaps:
        assert old in text
        text = text.replace(old, new)
    read = read_draft(text, piece)
    return keep_hunks(change, (), {0: read} if read else {}).after


@pytest.mark.parametrize(
    ("swap", "after"),
    [
        (("+2", "+zwei"), AFTER.replace(b"2", b"zwei")),
        (("-two", " two"), BEFORE.replace(b"two\n", b"two\n2\n")),
        (("+2\n", ""), BEFORE.replace(b"two\n", b"")),
        (("+2\n", "+2\n+more\n"), AFTER.replace(b"2\n", b"2\nmore\n")),
        ((" five\n", " five\n+six\n"), AFTER + b"six\n"),
        ((" three", " three   "), AFTER),
    ],
)
def test_what_was_written_is_what_the_file_holds(swap: tuple[str, str], after: bytes) -> None:
    assert edit(swap) == after


def test_a_line_behind_one_without_a_break_does_not_run_into_it() -> None:
    last = edit((" five\n", " five\n+six\n"), before=BEFORE[:-1], after=AFTER[:-1])
    assert last == AFTER + b"six"


def test_new_lines_end_as_those_around_them() -> None:
    before, after = BEFORE.replace(b"\n", b"\r\n"), AFTER.replace(b"\n", b"\r\n")
    assert edit(("+2\r", "+zwei"), before=before, after=after) == after.replace(b"2", b"zwei")


def test_an_empty_draft_means_nothing() -> None:
    (piece,) = split_hunks(change_of(BEFORE, AFTER))
    assert read_draft("\n", piece) is None
    assert read_draft("".join(draft_of(piece).partition("# A line")[1:]), piece) is None


@pytest.mark.parametrize(
    ("swap", "words"),
    [
        (("-two\n", ""), "has 'three' where the file has 'two'"),
        ((" one", " eins"), "has 'eins' where the file has 'one'"),
        ((" five\n", ""), "lacks a line of the file: 'five'"),
        ((" one", "one"), "begins with no sign: 'one'"),
        ((" five\n", " five\n six\n"), "has 'six' behind its end"),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(swap: tuple[str, str], words: str) -> None:
    with pytest.raises(EditError, match="edited part") as caught:
        edit(swap)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="ab\n +-\\#@\r", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    (piece,) = split_hunks(change_of(BEFORE, AFTER))
    try:
        read = read_draft(text, piece)
    except EditError:
        return
    assert read is None or read.old == Hunk(piece.lines).old
