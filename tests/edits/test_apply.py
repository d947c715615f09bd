"""Edits become changes, all of them or none, and the letter says what to do instead."""

import pytest

from kith.core.values import EXECUTABLE, FILE, Change
from kith.edits import (
    Create,
    Delete,
    EditError,
    Hunk,
    NothingToChange,
    Patch,
    Replace,
    Whole,
    find_edits,
    make_changes,
)

PYTHON = b"""\
import os


def area(width, height):
    size = width * height
    return size


def name():
    return 'x'
"""


def one(edit: Replace | Patch, before: bytes | None) -> bytes | None:
    return make_changes([edit], {edit.path: before})[0].after


def test_edits_of_one_file_follow_each_other() -> None:
    edits = [Replace("a", "x\n", "y\n"), Replace("a", "y\n", "z\n"), Create("b", "new\n"), Delete("c")]
    assert make_changes(edits, {"a": b"x\n", "b": None, "c": b"c"}) == (
        Change("a", b"x\n", b"z\n"),
        Change("b", None, b"new\n"),
        Change("c", b"c", None),
    )


def test_all_hunks_of_a_patch_mean_the_file_as_it_was() -> None:
    hunks = (Hunk(("-b", "+a", "+b")), Hunk(("-a", "+b")))
    assert one(Patch("f", hunks), b"a\nb\n") == b"b\na\nb\n"
    with pytest.raises(EditError, match="change the same lines, near line 2"):
        one(Patch("f", (Hunk(("-a", "-b", "+c")), Hunk(("-b", "+d")))), b"a\nb\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\r\ntwo\r\nthree\r\n", b"one\r\n2\r\n2b\r\nthree\r\n"),
        (b"\xef\xbb\xbfone\ntwo\nthree", b"\xef\xbb\xbfone\n2\n2b\nthree"),
        (b"\xe9\none\ntwo\nthree\n\xff", b"\xe9\none\n2\n2b\nthree\n\xff"),
        (b"a\rb\none\ntwo\nthree\n\x0c\xe2\x80\xa8", b"a\rb\none\n2\n2b\nthree\n\x0c\xe2\x80\xa8"),
        (b"x\r\none\ntwo\nthree\ny\r\n", b"x\r\none\n2\n2b\nthree\ny\r\n"),
        (b"x\none\r\ntwo\r\nthree\ny\n", b"x\none\r\n2\r\n2b\r\nthree\ny\n"),
        (b"    one\n    two\n    three\n", b"    one\n    2\n    2b\n    three\n"),
    ],
)
def test_every_byte_outside_the_edit_is_kept(before: bytes, after: bytes) -> None:
    assert one(Replace("a", "one\ntwo\nthree\n", "one\n2\n2b\nthree\n"), before) == after


def test_a_replaced_first_line_keeps_the_mark_above_it() -> None:
    assert one(Replace("a", "one\n", "1\n"), b"\xef\xbb\xbfone\n") == b"\xef\xbb\xbf1\n"


def test_a_missing_final_newline_stays_missing() -> None:
    assert one(Replace("a", "two\n", "2\n"), b"one\ntwo") == b"one\n2"
    assert one(Replace("a", "two\n", ""), b"one\ntwo") == b"one\n"
    assert one(Patch("a", (Hunk((" one", " two", "+three")),)), b"one\ntwo") == b"one\ntwo\nthree"


def test_an_even_shift_is_taken_over_by_the_new_lines() -> None:
    deeper = b"class A:\n\tdef f():\n\t\tx\n"
    assert (
        one(Replace("a", "def f():\n\tx\n", "def f():\n\n\ty\n"), deeper)
        == b"class A:\n\tdef f():\n\n\t\ty\n"
    )
    assert (
        one(Replace("a", "    if x:\n        y\n", "    if z:\n        y\n"), b"if x:\n    y\n")
        == b"if z:\n    y\n"
    )
    with pytest.raises(EditError, match="everywhere"):
        one(Replace("a", "    if x:\n        y\n", "if z:\n    y\n"), b"if x:\n    y\n")
    with pytest.raises(EditError, match="exactly"):
        one(Replace("a", "if x:\n    y\n", "z\n"), b"  if x:\n     y\n")


@pytest.mark.parametrize(
    ("old", "new", "content"),
    [
        ("a\n", "a\nb\n", b"a\nb\n"),
        ("b\n", "a\nb\n", b"a\nb\n"),
        ("old\n", "new\n", b"x\nnew\n"),
        ("  x\n", "    x\n", b"    x\n"),
        ("x\n", "x\n\n", b"a\nx\n\n"),
        ("a\n", "\na\n", b"\na\nx\n"),
    ],
)
def test_what_is_done_already_is_not_done_again(old: str, new: str, content: bytes) -> None:
    with pytest.raises(EditError) as caught:
        one(Replace("f", old, new), content)
    assert caught.value.already


def test_one_more_blank_line_inside_is_no_repetition() -> None:
    assert one(Replace("a", "a\n", "a\n\n"), b"a\n\nx\n") == b"a\n\n\nx\n"


def test_a_hunk_that_drops_only_a_newline_is_not_taken_for_done() -> None:
    """The lines that it would write stand at the line that it names, and again at the end of the file."""
    hunk = Hunk((" a", " b", "-c", "+c", "\\ No newline at end of file"), start=1)
    with pytest.raises(EditError, match="2 times, at lines 1 and 4"):
        one(Patch("f", (hunk,)), b"a\nb\nc\na\nb\nc\n")


def test_equal_lines_need_their_number() -> None:
    assert one(Replace("a", "x\n", "y\n", 3), b"x\n\nx\n") == b"x\n\ny\n"
    with pytest.raises(EditError, match="3 times, at lines 1, 3 and 4"):
        one(Replace("a", "x\n", "y\n", 2), b"x\n\nx\nx\n")


@pytest.mark.parametrize(
    ("edit", "before", "words"),
    [
        (Create("a", "x"), b"", "exists already"),
        (Delete("a"), None, "no such file to delete"),
        (Delete("a", "x\n"), b"y\n", "says something else"),
        (Replace("a", "x\n", "y\n"), None, "no such file"),
        (Replace("a", "", "y\n"), b"x\n", "not empty"),
        (Replace("a", "x\n", "y\n"), b"x\n\0", "binary"),
        (Create("a", "x\0"), None, "NUL byte"),
        (Whole("a", "\ud800"), None, "half a character"),
        (Replace("a", "x\n", "x\n"), b"x\n", "already say what you sent"),
    ],
)
def test_what_cannot_be_meant_is_refused(edit: Create, before: bytes | None, words: str) -> None:
    with pytest.raises(EditError, match=words):
        make_changes([edit], {"a": before})


def test_an_empty_file_is_filled_and_modes_are_set() -> None:
    assert one(Replace("a", "", "x\n"), b"") == b"x\n"
    assert one(Replace("a", "\n", "x\n"), None) == b"x\n"
    assert make_changes([Create("a", "x", EXECUTABLE)], {"a": None}) == (Change("a", None, b"x", EXECUTABLE),)
    assert make_changes([Patch("a", (), None, EXECUTABLE)], {"a": b"x"}) == (
        Change("a", b"x", b"x", EXECUTABLE, FILE),
    )


def test_one_edit_that_does_not_fit_stops_all_and_the_letter_explains() -> None:
    reply = (
        "shapes.py\n<<<<<<< SEARCH\nimport os\n=======\nimport sys\n>>>>>>> REPLACE\n"
        "<<<<<<< SEARCH\ndef area(width, height):\n    size = width + height\n    return size\n=======\n"
        "def area(width, height):\n    return width * height\n>>>>>>> REPLACE\n"
    )
    with pytest.raises(EditError) as refusal:
        make_changes(find_edits(reply), {"shapes.py": PYTHON})
    assert str(refusal.value) == (
        "Nothing was changed, because 1 of your 2 edits does not fit.\n"
        "\n"
        "Edit 2 (shapes.py): the lines to change are not in the file exactly as sent. "
        "Copy them from there; the nearest text is:\n"
        "3 | \n"
        "4 | def area(width, height):\n"
        "5 |     size = width * height\n"
        "6 |     return size\n"
        "7 | \n"
        "You sent line 5 as '    size = width + height'.\n"
        "\n"
        "Edit 1 would have fitted.\n"
        "\n"
        "Send both edits again, corrected."
    )


def test_a_letter_about_one_edit_is_short() -> None:
    with pytest.raises(EditError) as refusal:
        make_changes([Replace("a.py", "nothing like it at all\n", "x\n")], {"a.py": PYTHON})
    assert str(refusal.value) == (
        "Nothing was changed, because the edit does not fit.\n"
        "\n"
        "Edit 1 (a.py): the lines to change are not in the file exactly as sent. "
        "Nothing in the file is like them; read the file again.\n"
        "\n"
        "Send it again, corrected."
    )


def test_every_hunk_without_a_place_is_named() -> None:
    hunks = (Hunk(("-a", "+b")), Hunk(("-b", "+c")), Hunk(("-a", " c", "+d")))
    with pytest.raises(EditError) as refusal:
        make_changes([Patch("f", hunks)], {"f": b"b\na\nb\n"})
    assert str(refusal.value) == (
        "Nothing was changed, because the edit does not fit.\n"
        "\n"
        "Edit 1 (f):\n"
        "hunk 2 of 3: these lines stand in the file 2 times, at lines 1 and 3. "
        "Add lines from above or below them, so that they are found only once.\n"
        "hunk 3 of 3: the lines to change are not in the file exactly as sent. "
        "Copy them from there; the nearest text is:\n"
        "1 | b\n"
        "2 | a\n"
        "3 | b\n"
        "You sent line 3 as 'c'.\n"
        "\n"
        "Send it again, corrected."
    )


def test_a_cut_reply_is_refused_whatever_its_form() -> None:
    for reply in (
        "a.py\n```\nx\n```",
        "*** Begin Patch\n",
        "a.py\n<<<<<<< SEARCH\n",
        "--- a/x.py\n+++ b/x.py\n",
    ):
        with pytest.raises(EditError, match="cut"):
            find_edits(reply, (), "length")


def test_the_letter_quotes_the_file_as_it_still_is() -> None:
    files = {"a": b"first = 1\nsecond = 2\n"}
    edits = (Replace("a", "second = 2\n", "third = 3\n"), Replace("a", "second = 3\n", "x\n"))
    with pytest.raises(EditError, match=r"2 \| second = 2\nYou sent line 2 as 'second = 3'"):
        make_changes(edits, files)
    twice = (edits[0], Replace("a", "second = 2\n", "fourth = 4\n"))
    with pytest.raises(EditError, match="edits above"):
        make_changes(twice, files)


def test_lines_of_a_diff_that_lost_their_signs_are_no_indentation() -> None:
    """Context that is one blank short, beside new lines as deep as they are meant."""
    content = b"def f():\n    if x:\n        y\n"
    hunk = Hunk(("    if x:"[:1] + "   if x:", "+        first", "        y"))
    with pytest.raises(EditError, match="blanks"):
        make_changes([Patch("a", (hunk,))], {"a": content})


def test_a_reply_may_be_known_to_be_whole_or_cut_or_neither() -> None:
    """Counts are hints where the reply has come to its end; elsewhere a short last hunk may be a cut one."""
    short = "--- a/a\n+++ b/a\n@@ -1,3 +1,5 @@\n one\n-two\n+2\n"
    assert find_edits(short, ["a"], "stop")
    for reason in ("", "length", "content_filter"):
        with pytest.raises(EditError, match=r"fewer lines|cut before its end"):
            find_edits(short, ["a"], reason)


def test_equal_places_are_told_apart_by_what_stands_above_them() -> None:
    content = b"def f():\n    x\ndef g():\n    x\n"
    with pytest.raises(
        EditError, match=r"lines 2 and 4\. Begin with the line above .*: 'def f\(\):' or 'def"
    ):
        make_changes([Replace("a", "    x\n", "    y\n")], {"a": content})


def test_a_file_that_is_missing_is_answered_with_those_that_are_called_like_it() -> None:
    with pytest.raises(EditError, match=r"no such file\. Did you mean src/cart\.py\?"):
        make_changes([Replace("cart.py", "x\n", "y\n")], {"cart.py": None}, known=["src/cart.py", "b.py"])


def test_edits_that_change_nothing_are_told_apart_from_those_that_do_not_fit() -> None:
    with pytest.raises(NothingToChange):
        make_changes([Replace("a", "x\n", "x\n")], {"a": b"x\n"})
    with pytest.raises(EditError) as refusal:
        make_changes([Replace("a", "x\n", "y\n")], {"a": b"y\n"})
    assert not isinstance(refusal.value, NothingToChange)


def test_a_line_that_was_named_is_near_its_text() -> None:
    rows = "".join(f"row {number}\n" for number in range(1, 41))
    files: dict[str, bytes | None] = {"a.txt": rows.encode()}
    (change,) = make_changes([Replace("a.txt", "row 20\n", "new\n", 25)], files)
    assert change.after == rows.replace("row 20\n", "new\n").encode()
    with pytest.raises(EditError, match="you named line 2, but these lines stand at 20"):
        make_changes([Replace("a.txt", "row 20\n", "new\n", 2)], files)
    longer = [Replace("a.txt", "row 1\n", "x\n" * 30, 1), Replace("a.txt", "row 20\n", "new\n", 20)]
    assert b"new" in (make_changes(longer, files)[0].after or b"")
