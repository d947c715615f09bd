"""A change in pieces."""

import pytest

from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change
from kith.edits import keep_hunks, split_hunks

ROWS = [b"%d\n" % number for number in range(1, 31)]
BEFORE = b"".join(ROWS)
FIRST = BEFORE.replace(b"\n3\n", b"\nthree\n")
SECOND = BEFORE.replace(b"\n25\n", b"\n")
BOTH = FIRST.replace(b"\n25\n", b"\n")


def test_each_piece_can_be_kept_alone() -> None:
    change = Change("a", BEFORE, BOTH)
    assert [hunk.header for hunk in split_hunks(change)] == ["@@ -1,6 +1,6 @@", "@@ -22,7 +22,6 @@"]
    assert keep_hunks(change, [0]) == Change("a", BEFORE, FIRST)
    assert keep_hunks(change, [1]) == Change("a", BEFORE, SECOND)
    assert keep_hunks(change, [0, 1]) == change


def test_a_mode_is_a_piece_of_its_own() -> None:
    change = Change("a", b"x\n", b"y\n", EXECUTABLE, FILE)
    mode, text = split_hunks(change)
    assert mode.text == "old mode 100644\nnew mode 100755\n"
    assert text.text == "@@ -1 +1 @@\n-x\n+y\n"
    assert keep_hunks(change, [0]) == Change("a", b"x\n", b"x\n", EXECUTABLE, FILE)
    assert keep_hunks(change, [1]) == Change("a", b"x\n", b"y\n", FILE, FILE)


@pytest.mark.parametrize(
    "change",
    [
        Change("a", None, BEFORE),
        Change("a", BEFORE, None),
        Change("a", None, b""),
        Change("a", None, b"x", EXECUTABLE),
        Change("a", b"\0", b"\0\0"),
        Change("a", b"x", b"b.txt", SYMLINK, FILE),
        Change("a", b"x\n", b"x\n", EXECUTABLE, FILE),
    ],
)
def test_some_changes_cannot_be_divided(change: Change) -> None:
    (whole,) = split_hunks(change)
    assert whole.text.endswith("\n")
    assert keep_hunks(change, [0]) == change
    nothing = keep_hunks(change, [])
    assert nothing.after == nothing.before
    assert nothing.mode == nothing.mode_before


def test_no_change_has_no_pieces() -> None:
    assert split_hunks(Change("a", b"x", b"x")) == ()
