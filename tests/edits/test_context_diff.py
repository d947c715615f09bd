"""Context diffs, as `diff -c` prints them."""

from difflib import context_diff

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kith.edits import Create, Delete, EditError, find_edits, make_changes, paths_of

TEXT = st.lists(
    st.sampled_from(["a", "b", "", "  x", "- y", "+ z", "! q", "*** 1,2 ****", "--- 3 ----"]), max_size=12
)
HEAD = "*** a.txt\t2024-05-06\n--- a.txt\t2024-05-07\n***************\n"
HUNK = "*** 1,3 ****\n  one\n! two\n  three\n--- 1,3 ----\n  one\n! 2\n  three\n"


def apply(diff: str, before: str) -> str:
    edits = find_edits(diff, ("a.txt", "b.txt"))
    (change,) = make_changes(edits, dict.fromkeys(paths_of(edits), before.encode()))
    assert change.after is not None
    return change.after.decode()


@given(TEXT, TEXT, st.integers(1, 4))
@example(["a", "b"], ["a", "- y", "b"], 1)
def test_a_context_diff_makes_the_text_that_it_was_made_from(
    old: list[str], new: list[str], around: int
) -> None:
    rows = [[f"{number} {line}\n" for number, line in enumerate(side)] for side in (old, new)]
    diff = "".join(context_diff(*rows, "a.txt", "a.txt", n=around))
    if diff:
        assert apply(diff, "".join(rows[0])) == "".join(rows[1])


@pytest.mark.parametrize(
    ("hunk", "after"),
    [
        (HUNK, "one\n2\nthree\n"),
        ("*** 1,2 ****\n--- 1,3 ----\n  one\n+ 1.5\n  two\n", "one\n1.5\ntwo\nthree\n"),
        ("*** 1,3 ****\n  one\n- two\n  three\n--- 1,2 ----\n", "one\nthree\n"),
        (
            "*** 2,3 ****\n  two\n! three\n--- 2,3 ----\n  two\n! 3\n\\ No newline at end of file\n",
            "one\ntwo\n3",
        ),
    ],
)
def test_a_half_without_changes_may_be_left_out(hunk: str, after: str) -> None:
    assert apply(f"Index: a.txt\ndiff -c a.txt a.txt\n{HEAD}{hunk}", "one\ntwo\nthree\n") == after
    assert apply(f"Here:\n```diff\n{HEAD}{hunk}```\nDone.", "one\ntwo\nthree\n") == after


def test_files_come_and_go_in_context_diffs() -> None:
    stars = "***************\n"
    new = f"*** /dev/null\n--- b/new.txt\n{stars}*** 0 ****\n--- 1,2 ----\n+ x\n+ y\n"
    gone = f"*** a/a.txt\n--- /dev/null\n{stars}*** 1,2 ****\n- x\n- y\n--- 0 ----\n"
    assert find_edits(new + gone, ("a.txt",)) == (Create("new.txt", "x\ny\n"), Delete("a.txt", "x\ny\n"))


@pytest.mark.parametrize(
    ("hunk", "words"),
    [
        (HUNK.replace("  three\n---", "---"), "announces 3 lines and has 2"),
        (HUNK.partition("---")[0], "no second half"),
        (HUNK.removesuffix("  three\n"), "announces 3 lines"),
        (HUNK.removesuffix("  three\n") + "  3\n", "different context"),
        (HUNK.replace("two", "zwei"), "not in the file exactly"),
    ],
)
def test_a_context_diff_that_does_not_fit_is_refused(hunk: str, words: str) -> None:
    with pytest.raises(EditError, match=words):
        apply(HEAD + hunk, "one\ntwo\nthree\n")
