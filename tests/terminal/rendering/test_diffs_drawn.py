"""Diffs as they are drawn: every changed line is there, numbered, and its changed words are marked."""

from hypothesis import given, settings
from hypothesis import strategies as st

from drawings import check_picture, drawn, with_roles
from kith.core.values import Change, FileChange
from kith.edits import split_hunks, summarise
from kith.terminal.rendering.diffs import changes_lines, diff_lines, hunk_lines, read_diff
from kith.terminal.rendering.glyphs import ASCII
from kith.terminal.rendering.spans import columns_of, plain
from kith.view.printing import printable

OLD = """import math


def mean(values):
    '''The mean
    of values.'''
    return sum(values) / len(values)


def unchanged():
    a = 1
    b = 2
    c = 3
    d = 4
    e = 5
    f = 6
    g = 7
    return a + b + c + d + e + f + g


LIMIT = 10
"""
NEW = (
    OLD.replace("sum(values) / len", "math.fsum(values) / len")
    .replace("    return math", "    if not values:\n        return 0.0  \n    return math")
    .replace("LIMIT = 10\n", "LIMIT = 100")
)
CHANGES = (
    Change("stats.py", OLD.encode(), NEW.encode()),
    Change("docs/new file.md", None, b"# New\n\nwords\n"),
    Change("gone.txt", b"a\nb\n", None),
    Change("picture.png", b"\0a", b"\0b"),
    Change("run.sh", b"echo\n", b"echo\n", mode=0o100755, mode_before=0o100644),
    Change("empty.py", None, b""),
    Change("old/place.py", b"import os\n", None),
    Change("new/place.py", None, b"import os\n"),
    Change("windows.ini", b"[a]\r\nb=1\r\n", b"[a]\r\nb=2\r\n"),
    Change("evil\u202e\n.txt", b"x\n", b"\x1b[2J" + b" " * 200 + b"y\tz\n"),
    Change("long.txt", b"x\n", b"word " * 60 + b"\n"),
)


def test_pictures_of_a_change() -> None:
    files = summarise(CHANGES)
    check_picture("change-80.txt", drawn(changes_lines(files, 80)).replace(" \n", "\n"))
    check_picture("change-60-ascii.txt", drawn(changes_lines(files, 60, ASCII)))
    check_picture("change-roles.txt", with_roles(diff_lines(files[0], 60)))


LINES = st.lists(
    st.sampled_from(["a", "b = 1", "b = 2", "    c(d, e)", "--- x", "+++ y", "@@ -1 +1 @@", ""]), max_size=30
)


@settings(deadline=None, max_examples=40)
@given(LINES, LINES)
def test_every_changed_line_is_there(old: list[str], new: list[str]) -> None:
    change = Change(
        "a.py", "".join(f"{line}\n" for line in old).encode(), "".join(f"{line}\n" for line in new).encode()
    )
    (file,) = summarise((change,))
    rows = [row for piece in read_diff(file.diff).pieces for row in piece.rows]
    shown = [plain(line).rstrip() for line in diff_lines(file, 80)[1:]]
    for row in rows:
        if row.sign in "+-":
            assert any(line.split() == f"{row.number} {row.sign}{row.words}".split() for line in shown)
    assert sum(row.sign == "+" for row in rows) == file.added
    assert sum(row.sign == "-" for row in rows) == file.removed


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=300), st.text(max_size=300), st.integers(30, 120))
def test_anything_can_be_drawn(old: str, new: str, width: int) -> None:
    before, after = (text.encode("utf-8", "replace") for text in (old, new))
    (file,) = summarise((Change("a.py", before, after),))
    for line in diff_lines(file, width):
        assert columns_of(line) <= width
        assert printable(plain(line)) == plain(line) and "\n" not in plain(line)


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=300))
def test_no_text_is_too_broken_for_a_diff(text: str) -> None:
    diff_lines(FileChange("a.py", 0, 0, text), 80)
    diff_lines(FileChange("a.py", 0, 0, f"@@ -1,3 +1 @@\n{text}"), 80)


def test_a_piece_by_itself() -> None:
    pieces = [drawn(hunk_lines(hunk.text, "stats.py", 80)) for hunk in split_hunks(CHANGES[0])]
    assert len(pieces) == 2 and "math.fsum" in pieces[0] and "LIMIT = 100" in pieces[1]
    (mode,) = split_hunks(CHANGES[4])
    assert drawn(hunk_lines(mode.text, "run.sh", 80)) == "  an ordinary file becomes executable\n"


def test_a_huge_change_is_drawn_without_looking_at_its_words() -> None:
    (file,) = summarise((Change("a.py", b"x = 1\n" * 2_000, b"y = '%s'\n" % (b"z" * 40) * 2_000),))
    lines = diff_lines(file, 80)
    assert len(lines) == 4_001
    assert len(diff_lines(file, 80, most=100)) == 102
    assert not any("word" in span.role or "code" in span.role for line in lines[:50] for span in line)


def test_long_context_is_counted() -> None:
    text = "@@ -1,42 +1,42 @@\n" + " same\n" * 20 + "-a\n+b\n" + " same\n" * 21
    shown = drawn(diff_lines(FileChange("a", 1, 1, text), 80))
    assert "12 unchanged lines" in shown and "13 unchanged lines" in shown and shown.count("same") == 16
