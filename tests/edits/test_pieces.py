"""The page's pieces are those that the owner of a session keeps by their numbers."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change, FileChange
from kith.edits import split_hunks, summarise
from kith.edits.pieces import pieces_of

# Rows that look like parts of a diff, and ends of lines that some split at.
_ROWS = [
    *("--- a/x", "+++ b/x", "@@ -1 +1 @@", "@@ -1,3 +1,3 @@", "diff --git a/x b/x", "old mode 100644"),
    *("new mode 120000", "Binary files a and b differ", "\\ No newline at end of file", "-", "+", " ", ""),
    *("\r", "a\r", "a\u2028b", "a\u0085b", "a\x0cb", "\udce9"),
]


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


_row = st.sampled_from(_ROWS) | st.text(max_size=8).map(lambda text: text.replace("\n", "").replace("\0", ""))
_text = st.lists(_row, max_size=30).map("\n".join).map(_encode)
_content = st.none() | _text | st.just(b"") | st.binary(max_size=12).map(lambda data: b"\0" + data)
_path = st.sampled_from(['a b "c".py', "new\nline", "tab\there", "caf\udce9", "a", "--- a/x", "\u2028"])
_mode = st.sampled_from([FILE, EXECUTABLE, SYMLINK])


@st.composite
def _changes(draw: st.DrawFn) -> Change:
    before = draw(_content)
    after = draw(_content | st.just(before))
    if before and after and draw(st.booleans()):  # far apart changes of one file: several pieces
        middle = draw(st.lists(_row, min_size=7, max_size=20).map("\n".join)).encode(
            "utf-8", "surrogateescape"
        )
        before, after = (b"\n".join((side, middle, side)) for side in (before, after))
    return Change(draw(_path), before, after, draw(_mode), draw(_mode))


@given(_changes())
def test_pieces_are_those_that_can_be_kept(change: Change) -> None:
    sides = [side for side in (change.before, change.after) if side is not None]
    same = change.before == change.after
    assume(sides and not (same and change.mode == change.mode_before))  # else nothing changes
    assume(not (len(sides) == 2 and SYMLINK in (change.mode, change.mode_before) and not any(sides)))
    (file,) = summarise((change,))
    found, hunks = pieces_of(file), split_hunks(change)
    assert [piece.number for piece in found] == [*range(len(hunks))]
    if same and b"\0" in sides[0]:  # a binary file of another mode: the diff tells of the mode alone
        assert len(found) == 1
        return
    assert [(each.lines, each.start, each.new_start) for each in found] == [
        (each.lines, each.start, each.new_start) for each in hunks
    ]


def test_a_file_without_a_diff_has_no_pieces() -> None:
    assert pieces_of(FileChange("a", 0, 0, "")) == ()


def test_a_diff_of_somebody_else_is_refused() -> None:
    with pytest.raises(ValueError, match="head"):
        pieces_of(FileChange("a", 1, 0, "diff --git a/a b/a\n--- a/a\n+++ b/a\nsurprise\n"))
