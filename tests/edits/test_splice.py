"""One exact replacement, as the edit tool makes it."""

import pytest

from kith.edits import EditError, replace_text


@pytest.mark.parametrize(
    ("content", "old", "new", "wanted"),
    [
        (b"a = 1\nb = 2\n", "1", "3", b"a = 3\nb = 2\n"),
        (b"a\r\nb\r\nc\r\nd", "b\nc", "B\nC\nX", b"a\r\nB\r\nC\r\nX\r\nd"),
        (b"a\r\nb\r\n", "b", "b1\nb2", b"a\r\nb1\r\nb2\r\n"),
        (b"a\nb\n", "a\r\nb", "a\r\nc", b"a\nc\n"),
        (b"\xef\xbb\xbfa\n\xe9\xff\n", "a", "b", b"\xef\xbb\xbfb\n\xe9\xff\n"),
        (b"x\xe2\x80\xa8y\x0cz", "z", "w", b"x\xe2\x80\xa8y\x0cw"),
        (b"    if x:\n        y\n", "if x:\n    y\n", "if z:\n    y\n", b"    if z:\n        y\n"),
        (b"a\nb\nc\n", "b\n", "", b"a\nc\n"),
        (b"cost", "cost", "$1 \\1 \\g<0>", b"$1 \\1 \\g<0>"),
    ],
)
def test_only_the_text_meant_is_replaced(content: bytes, old: str, new: str, wanted: bytes) -> None:
    assert replace_text(content, old, new, "a.txt") == wanted


def test_all_matches_are_replaced_when_asked_for() -> None:
    assert replace_text(b"x\r\nx\r\ny", "x", "z\nz", "a.txt", all_matches=True) == b"z\r\nz\r\nz\r\nz\r\ny"


def test_text_that_stands_there_more_than_once_is_refused_with_its_lines() -> None:
    with pytest.raises(EditError) as refusal:
        replace_text(b"x = 1\ny = 2\nx = 1\n", "x = 1", "x = 3", "a.py")
    assert str(refusal.value) == (
        "a.py was not changed: the text stands there 2 times, at lines 1 and 3. "
        "Send more of the text around the one you mean, or ask for all of them."
    )


def test_text_that_is_missing_is_answered_with_what_stands_there() -> None:
    with pytest.raises(EditError) as refusal:
        replace_text(b"def f(x):\n    return x + 1\n", "    return x - 1\n", "    return x\n", "a.py")
    assert str(refusal.value) == (
        "a.py was not changed: the lines to change are not in the file exactly as sent. "
        "Copy them from there; the nearest text is:\n"
        "1 | def f(x):\n"
        "2 |     return x + 1\n"
        "You sent line 2 as '    return x - 1'."
    )


@pytest.mark.parametrize(
    ("content", "old", "new", "words"),
    [
        (b"x", "", "y", "is empty"),
        (b"x", "x", "x", "the same"),
        (b"x\r\n", "x\r\n", "x\n", "the same"),
        (b"x\0", "x", "y", "binary"),
        (b"x", "x", "\0", "binary"),
        (b"x = 2\n", "x = 1", "x = 2", "already says this"),
        (b"a\nb\n", "a\n", "a\nb\n", "already says this"),
        (b"", "x", "y", "The file is empty"),
    ],
)
def test_what_cannot_be_meant_is_refused(content: bytes, old: str, new: str, words: str) -> None:
    with pytest.raises(EditError, match=words):
        replace_text(content, old, new, "a.txt")
