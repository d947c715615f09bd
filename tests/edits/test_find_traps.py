"""Replies made to crash a parser, or to make it slow: each is answered, and in time that grows as they do."""

from collections.abc import Callable

import pytest

from kith.edits import EditError, Whole, find_edits, make_changes, paths_of

DIFF = "--- a/a.txt\n+++ b/a.txt\n"


def answer(reply: str, content: bytes = b"one\ntwo\n") -> None:
    """Read and apply a reply to a.txt; a refusal is an answer, too."""
    try:
        edits = find_edits(reply, ("a.txt",), "stop")
        make_changes(edits, {path: content if path == "a.txt" else None for path in paths_of(edits)})
    except EditError as error:
        assert str(error).strip()


@pytest.mark.parametrize(
    "reply",
    [
        "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/a.txt\t2026-99-99 99:99:99 +9900\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n",
        "diff --git\ndiff --git a\n",
        "*** Update File: a.txt\n@@\n\n\n",
    ],
)
def test_what_crashed_a_parser_is_answered(reply: str) -> None:
    answer(reply)


def test_a_whole_file_may_not_bring_a_nul_byte_into_a_text() -> None:
    with pytest.raises(EditError, match="NUL"):
        make_changes([Whole("a.txt", "a\0b\n")], {"a.txt": b"a\n"})


def block(old: str, new: str) -> str:
    return f"a.txt\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


def rows_of(count: int, turn: int) -> str:
    return "".join(f"{number % turn}\n" for number in range(count))


SAME = b"x\n" * 100_000
ROWS = "".join(f"row {number}\n" for number in range(20_000)).encode()
BLANKS = " " * 200_000
TRAPS: dict[str, Callable[[], tuple[str, bytes]]] = {
    "one line of 50 MB": lambda: (DIFF + "@@ -1 +1 @@\n-one\n+1\n", b"one\n" + b"x" * 50_000_000),
    "a reply of one line": lambda: ("x" * 50_000_000, b""),
    "a reply without an edit": lambda: ("Some prose, with `code`.\n\n" * 200_000, b""),
    "dashes": lambda: ("-" * 5_000_000 + "\n" + "<" * 5_000_000, b""),
    "blanks": lambda: ((BLANKS + "`\n") * 5, b""),
    "blanks in a fence": lambda: (f"a.txt\n```{BLANKS}`\n", b""),
    "blank lines in a fence": lambda: ("a.txt\n```\n" + "\n" * 100_000 + "```\n", b""),
    "fences": lambda: ("```py\n" * 100_000, b""),
    "fences in fences": lambda: ("".join(f"{'`' * n}\n" for n in range(3, 2_000)), b""),
    "files": lambda: ("".join(f"f{n}.txt\n```\nx\n```\n" for n in range(20_000)), b""),
    "blanks in a name": lambda: (f"diff --git a/{'a ' * 100_000}b/x\n--- a/a{BLANKS}x\n+++ b/x\n", b""),
    "blank lines in a hunk": lambda: ("*** Update File: a.txt\n@@\n-x\n" + "\n" * 200_000, b"x\n"),
    "anchors": lambda: ("*** Update File: a.txt\n" + "@@ x\n" * 50_000 + "-x\n", SAME),
    "the same line, anywhere": lambda: (DIFF + "@@ @@\n-x\n+y\n", SAME),
    "the same lines, hunks": lambda: (DIFF + "@@ @@\n-x\n-x\n+y\n" * 10_000, SAME),
    "hunks": lambda: (DIFF + "".join(f"@@ @@\n-row {n}\n+{n}\n" for n in range(0, 20_000, 2)), ROWS),
    "hunks of no place": lambda: (DIFF + "@@ @@\n-nothing like it\n+y\n" * 10_000, ROWS),
    "blocks": lambda: ("".join(block(f"row {n}", f"{n}") for n in range(0, 20_000, 100)), ROWS),
    "blocks of no place": lambda: (block("no such row", "y") * 1_000, ROWS),
    "half a block": lambda: ("a.txt\n" + "<<<<<<< SEARCH\n" * 100_000, b""),
    "marks of versions": lambda: ("a.txt\n```\n" + "<<<<< a\n" * 5_000 + "=====\n" * 5_000 + "```\n", b""),
    "short hunks of many files": lambda: (
        "".join(f"--- a/f{n}\n+++ b/f{n}\n@@ -1,9 +1,9 @@\n a\n-b\n+c\n d\n" for n in range(10_000)),
        b"",
    ),
    "rows exchanged": lambda: (block(rows_of(4_000, 97), rows_of(4_000, 89)), rows_of(4_000, 97).encode()),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("trap", TRAPS)
def test_no_reply_makes_the_engine_hang(trap: str) -> None:
    answer(*TRAPS[trap]())
