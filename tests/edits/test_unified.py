"""Unified diffs, as git writes them and as models do."""

import pytest

from kith.core.values import EXECUTABLE
from kith.edits import Create, Delete, EditError, Form, Hunk, Patch, find_edits, make_changes, paths_of

FILE = b"one\ntwo\nthree\nfour\nfive\n"
BODY = " one\n-two\n+TWO\n three\n"
DIFF = f"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n{BODY}"
CHANGED = FILE.replace(b"two", b"TWO")


def apply(reply: str, content: bytes | None = FILE, known: tuple[str, ...] = ("a.txt",)) -> bytes | None:
    edits = find_edits(reply, known)
    files = {path: content if path == "a.txt" else None for path in paths_of(edits)}
    (change,) = make_changes(edits, files)
    return change.after


@pytest.mark.parametrize(
    "header",
    [
        "@@ -1,3 +1,3 @@",
        "@@ -1 +1 @@",
        "@@ -1,9 +1,2 @@",
        "@@ -70,3 +70,3 @@ def f():",
        "@@ def f():",
        "@@ ... @@",
        "@@ @@",
        "@@",
    ],
)
def test_wrong_numbers_and_counts_do_no_harm(header: str) -> None:
    assert apply(f"--- a/a.txt\n+++ b/a.txt\n{header}\n{BODY}") == CHANGED


@pytest.mark.parametrize(
    "reply",
    [
        f"diff --git a/a.txt b/a.txt\nindex 1234567..89abcde 100644\n{DIFF}",
        f"Sure:\n\n```diff\n--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n{BODY}```\n\n- a remark",
        DIFF.replace(".txt\n", ".txt\t2026-01-01 10:00:00\n") + "\n\nThat is all.",
        f"a.txt\n```diff\n@@ -1,3 +1,3 @@\n{BODY}```",
        f"@@ -1,3 +1,3 @@\n{BODY}",
        DIFF.replace("\n", "\r\n"),
        "* Do:\n    ```diff\n    " + DIFF.replace("\n", "\n    ") + "```",
    ],
)
def test_whatever_stands_around_the_hunks(reply: str) -> None:
    assert apply(reply) == CHANGED


def test_a_context_line_that_lost_its_sign_still_has_to_match() -> None:
    reply = "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\none\n-two\n+TWO\nthree\n```"
    assert apply(reply) == CHANGED
    with pytest.raises(EditError, match="exactly"):
        apply(reply.replace("three", "tree"))


def test_blank_context_may_have_lost_its_blanks() -> None:
    assert apply("--- a/a.txt\n+++ b/a.txt\n@@ @@\n x\n\n-y\n+z\n", b"x\n   \ny\n") == b"x\n   \nz\n"
    with pytest.raises(EditError, match="exactly"):
        apply("--- a/a.txt\n+++ b/a.txt\n@@ @@\n x\n-\n-y\n+z\n", b"x\n   \ny\n")


def test_a_repeated_header_goes_on_with_the_same_file() -> None:
    header = "--- a/a.txt\n+++ b/a.txt\n"
    reply = f"{header}@@ -1,2 +1,2 @@\n one\n-two\n+2\n{header}@@ -4,2 +4,2 @@\n-four\n+4\n five\n"
    assert apply(reply) == b"one\n2\nthree\n4\nfive\n"


def test_a_line_number_decides_between_equal_places_if_its_counts_are_right() -> None:
    twice = b"x\ny\nx\ny\n"
    hunk = "--- a/a.txt\n+++ b/a.txt\n@@ -3,{} +3,2 @@\n x\n-y\n+z\n"
    assert apply(hunk.format(2), twice) == b"x\ny\nx\nz\n"
    with pytest.raises(EditError, match="2 times, at lines 1 and 3"):
        apply(hunk.format(1), twice)


def test_new_deleted_moved_and_executable_files() -> None:
    reply = (
        "diff --git a/new.sh b/new.sh\nnew file mode 100755\n"
        "--- /dev/null\n+++ b/new.sh\n@@ -0,0 +1 @@\n+echo\n"
        "diff --git a/old.txt b/old.txt\ndeleted file mode 100644\n"
        "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
        "diff --git a/from b.txt b/to b.txt\nsimilarity index 100%\n"
        "rename from from b.txt\nrename to to b.txt\n"
        "diff --git a/run.py b/run.py\nold mode 100644\nnew mode 100755\n"
    )
    assert find_edits(reply) == (
        Create("new.sh", "echo\n", EXECUTABLE),
        Delete("old.txt", "old\n"),
        Patch("from b.txt", (), "to b.txt"),
        Patch("run.py", (), None, EXECUTABLE),
    )


def test_the_numbers_of_a_hunk_are_kept() -> None:
    (edit,) = find_edits("--- a/a.txt\n+++ b/a.txt\n@@ -4,1 +4,2 @@\n x\n+y\n")
    assert edit == Patch("a.txt", (Hunk((" x", "+y"), 4),))


def test_a_header_is_no_pair_of_lines_though_the_count_above_would_take_it_in() -> None:
    other = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-v\n+w\n"
    assert find_edits(f"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-x\n+y\n z\n{other}", (), "stop") == (
        Patch("a.txt", (Hunk(("-x", "+y", " z")),)),
        Patch("b.txt", (Hunk(("-v", "+w"), 1),)),
    )


def test_removed_and_added_lines_may_look_like_a_header() -> None:
    reply = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n z\n"
    assert apply(reply, b"-- x\nz\n") == b"++ y\nz\n"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("--- a/a.txt\n+++ b/a.txt\n@@ -1,5 +1,6 @@\n one\n-two\n+TWO", "fewer lines than its header says"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n two\n", "neither '-' nor '\\+' lines"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ @@\n-two\n+2\nno sign\n+lost\n", "so '\\+lost' is not part of it"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ @@\n one\n", "changes nothing"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -2,0 +3 @@\n+x\n", "no lines to find the place by"),
        ("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n", "exists already"),
        ("--- /dev/null\n+++ b/b.txt\n@@ -1 +1,2 @@\n y\n+x\n", "lines that are not added"),
        ("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "says something else"),
        ("--- a/none.txt\n+++ b/none.txt\n@@ -1 +1 @@\n-x\n+y\n", "no such file"),
        ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n", "link"),
        ("diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n", "binary"),
        ("diff --git a/x b/y\ncopy from x\ncopy to y\n", "copy"),
    ],
)
def test_what_is_broken_or_does_not_fit_is_refused(reply: str, words: str) -> None:
    with pytest.raises(EditError, match=words):
        apply(reply)


@pytest.mark.parametrize("form", ["auto", "unified"])
@pytest.mark.parametrize("header", ["@@ ... @@", "@@ @@", "@@ ... @@ def f():", "@@ -9,9 +9,9 @@"])
def test_hunks_without_names_mean_the_given_file(header: str, form: Form) -> None:
    for reply in (f"{header}\n-x\n+y\n z\n", f"Here:\n```diff\n{header}\n-x\n+y\n z\n```\n"):
        (edit,) = find_edits(reply, ("a.txt", "b.txt"), "stop", form, "b.txt")
        assert edit == Patch("b.txt", (Hunk(("-x", "+y", " z")),))


def test_a_hunk_is_not_cut_where_its_fence_is_closed() -> None:
    hunk = "--- a/a.txt\n+++ b/a.txt\n@@ -1,9 +1,9 @@\n-one\n+1\n"
    assert apply(f"```diff\n{hunk}```\n", b"one\n") == b"1\n"
    with pytest.raises(EditError, match="fewer lines"):
        apply(f"```diff\n{hunk}", b"one\n")


def test_hunks_for_no_file_ask_for_its_name() -> None:
    with pytest.raises(EditError, match="no file"):
        find_edits(f"@@ -1,3 +1,3 @@\n{BODY}", ["a.txt", "b.txt"])


def test_a_diff_that_was_escaped_as_html_is_refused_and_entities_in_code_are_not() -> None:
    escaped = f"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n{BODY.replace('TWO', 'def f() -&gt; None')}"
    with pytest.raises(EditError, match="HTML"):
        apply(escaped)
    assert apply(escaped.replace("f()", "f(a < b)")) == FILE.replace(b"two", b"def f(a < b) -&gt; None")


def test_a_hunk_that_lost_a_line_between_its_first_ones_is_refused() -> None:
    hunk = "--- a/a.txt\n+++ b/a.txt\n@@ -1,{} +1,4 @@\n+zero\n+one and a half\n two\n three\n"
    with pytest.raises(EditError, match="added lines"):
        apply(hunk.format(3))
    assert apply(hunk.format(2)) == b"one\nzero\none and a half\n" + FILE[4:]


def test_the_same_lines_are_not_added_twice_at_one_place() -> None:
    hunk = "@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(EditError, match="same lines"):
        apply(f"--- a/a.txt\n+++ b/a.txt\n{hunk}{hunk}", b"")


def test_a_newline_at_the_end_that_is_there_already_is_refused() -> None:
    hunk = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n"
    assert apply(hunk, b"x") == b"x\n"
    with pytest.raises(EditError) as caught:
        apply(hunk, b"x\n")
    assert caught.value.already


def test_context_that_lost_its_sign_is_no_shift_though_a_blank_line_goes() -> None:
    body = "    def f():\n-\n+        x = 1\n    y = 1\n"  # each line of context lacks its first blank
    with pytest.raises(EditError):
        apply(f"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n{body}", b"    def f():\n\n    y = 1\n")
