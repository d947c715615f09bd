"""What a diff says of its files: names, modes, moves, copies; and the contradictions that are refused."""

import pytest

from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change
from kith.edits import Create, Delete, EditError, Patch, find_edits, make_changes, paths_of, unified_diff

BODY = "@@ -1 +1 @@\n-x\n+y\n"
MOVE = "rename from f\nrename to g\n"


def apply(diff: str, files: dict[str, bytes], modes: dict[str, int] | None = None) -> dict[str, Change]:
    edits = find_edits(diff, tuple(files))
    contents = {path: files.get(path) for path in paths_of(edits, files)}
    return {change.path: change for change in make_changes(edits, contents, modes or {})}


@pytest.mark.parametrize(
    "header",
    [
        "--- src/a.py\n+++ src/a.py\n",
        "--- a/src/a.py\n+++ b/src/a.py\n",
        "--- i/src/a.py\n+++ w/src/a.py\n",
        "--- before-1.0/src/a.py\t2024-05-06 07:08:09.5 +0200\n+++ after/src/a.py\t2024-05-06\n",
        "diff --git i/src/a.py w/src/a.py\nindex 1..2 100644\n--- i/src/a.py\n+++ w/src/a.py\n",
        "diff --git src/a.py src/a.py\n--- src/a.py\n+++ src/a.py\n",
        'diff --git "a/src/a.py" "b/src/a.py"\n--- "a/src/a.py"\n+++ "b/src/a.py"\n',
    ],
)
def test_what_tells_the_two_sides_apart_is_no_part_of_the_name(header: str) -> None:
    assert apply(header + BODY, {"src/a.py": b"x\n", "b.py": b""})["src/a.py"].after == b"y\n"


def test_a_folder_that_is_called_like_a_prefix_is_kept_where_it_is_known() -> None:
    assert apply(f"--- a/x.py\n+++ b/x.py\n{BODY}", {"b/x.py": b"x\n"})["b/x.py"].after == b"y\n"


def test_git_moves_a_file_by_its_two_names_alone() -> None:
    made = apply(f"diff --git a/old.py b/new.py\n--- a/old.py\n+++ b/new.py\n{BODY}", {"old.py": b"x\n"})
    assert {path: change.after for path, change in made.items()} == {"old.py": None, "new.py": b"y\n"}


def test_a_copy_leaves_its_source_as_it_was_before_all_edits() -> None:
    diff = (
        f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n{BODY}"
        "diff --git a/a.py b/c.py\nsimilarity index 90%\ncopy from a.py\ncopy to c.py\n"
        "--- a/a.py\n+++ b/c.py\n@@ -1 +1 @@\n-x\n+z\n"
    )
    made = apply(diff, {"a.py": b"x\n"}, {"a.py": EXECUTABLE})
    assert made["a.py"] == Change("a.py", b"x\n", b"y\n", EXECUTABLE, EXECUTABLE)
    assert (made["c.py"].after, made["c.py"].mode) == (b"z\n", EXECUTABLE)
    with pytest.raises(EditError, match=r"copy a\.py to c\.py\): c\.py exists already"):
        apply(diff, {"a.py": b"x\n", "c.py": b""})


def test_two_files_may_swap_their_names() -> None:
    swap = "".join(
        f"diff --git a/{old} b/{new}\nsimilarity index 100%\nrename from {old}\nrename to {new}\n"
        for old, new in (("a", "b"), ("b", "a"))
    )
    made = apply(swap, {"a": b"1\n", "b": b"2\n"})
    assert {path: change.after for path, change in made.items()} == {"a": b"2\n", "b": b"1\n"}


def test_modes_are_those_of_plain_files() -> None:
    wide = "diff --git a/run b/run\nold mode 100660\nnew mode 100770\n"
    assert find_edits(wide) == (Patch("run", (), None, EXECUTABLE),)
    assert apply(wide, {"run": b"x\n"})["run"] == Change("run", b"x\n", b"x\n", EXECUTABLE, FILE)
    for mode in ("", "10064x", "120000", "160000"):
        with pytest.raises(EditError, match=r"not a mode of a file|link or a submodule"):
            find_edits(f"diff --git a/run b/run\nold mode 100644\nnew mode {mode}\n")


def test_an_edit_keeps_the_mode_that_the_file_has_and_never_touches_a_link() -> None:
    diff = f"--- a/run\n+++ b/run\n{BODY}"
    assert apply(diff, {"run": b"x\n"}, {"run": EXECUTABLE})["run"].mode == EXECUTABLE
    with pytest.raises(EditError, match="symbolic link"):
        apply(diff, {"run": b"x\n"}, {"run": SYMLINK})


def test_the_time_of_the_epoch_says_that_there_was_no_file() -> None:
    new = "--- a/f\t1970-01-01 01:00:00.000000000 +0100\n+++ b/f\t2024-01-01\n@@ -0,0 +1 @@\n+x\n"
    assert find_edits(new) == (Create("f", "x\n"),)
    with pytest.raises(EditError, match="exists already"):
        apply(new, {"f": b""})
    gone = "--- a/f\t2024-01-01 00:00:00 +0000\n+++ b/f\t1969-12-31 16:00:00 -0800\n@@ -1 +0,0 @@\n-x\n"
    assert find_edits(gone) == (Delete("f", "x\n"),)


def test_the_signature_of_a_mailed_patch_is_no_removed_line() -> None:
    assert apply(f"--- a/f\n+++ b/f\n{BODY}-- \n2.39.5\n", {"f": b"x\n"})["f"].after == b"y\n"


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        (f"diff --git a/f b/f\n--- a/f\n+++ b/g\n{BODY}", "names 'f' first, and then 'g'"),
        ("diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+x\n", "then 'g'"),
        (
            "diff --git a/n b/n\nindex 1a..2b 100644\n--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+x\n",
            "shows a new one as",
        ),
        ("diff --git a/f b/f\nGIT binary patch\nliteral 3\nabc\n", "binary; only text"),
        (f"diff --git a/f b/g\nnew file mode 100644\n{MOVE}", "g is new and moved"),
        (f"diff --git a/f b/g\n{MOVE}deleted file mode 100644\n", "g is deleted and moved"),
        (f"diff --git a/f b/g\n{MOVE}--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+x\n", "g is new and moved"),
        ("diff --git a/f b/g\nnew file mode 100644\ncopy from f\ncopy to g\n", "g is new and moved"),
        (f"diff --git a/f b/g\n{MOVE}copy from f\n", "a rename and a copy"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "is new and deleted"),
    ],
)
def test_what_contradicts_itself_is_refused(diff: str, words: str) -> None:
    with pytest.raises(EditError, match=words):
        apply(diff, {"f": b"x\n"})


@pytest.mark.parametrize(
    "header", ["diff --git a/f b/f\ndeleted file mode 100644\n", "--- a/f\n+++ /dev/null\n"]
)
def test_a_deletion_shows_every_line_of_its_file(header: str) -> None:
    assert apply(header, {"f": b""})["f"].after is None
    for content in (b"x\n", b"\n"):
        with pytest.raises(EditError, match="as removed"):
            apply(header, {"f": content})


@pytest.mark.parametrize("name", ["a\\tb", "a\tb"])
def test_a_tab_in_a_quoted_name_is_kept(name: str) -> None:
    files = {"a\tb": b"x\n", "a": b"x\n"}
    for header in (
        f'--- "a/{name}"\t2024-05-06 07:08:09\n+++ "b/{name}"\n',
        f'diff --git "a/{name}" "b/{name}"\n--- "a/{name}"\n+++ "b/{name}"\n',
    ):
        assert {path: change.after for path, change in apply(header + BODY, files).items()} == {
            "a\tb": b"y\n"
        }


@pytest.mark.parametrize("header", ["--- a/b.py\n", "+++ b/b.py\n", "---a/b.py\n+++b/b.py\n"])
def test_one_name_above_a_hunk_is_enough(header: str) -> None:
    files = {"a.py": b"x\n", "b.py": b"x\n"}
    for body in (BODY, "@@ ... @@\n-x\n+y\n"):
        assert list(apply(header + body, files)) == ["b.py"]
        if "---a" not in header:
            assert list(apply(f"--- a/a.py\n+++ b/a.py\n{body}{header}{body}", files)) == ["a.py", "b.py"]
    with pytest.raises(EditError) as caught:
        apply(header + BODY, {"a.py": b"x\n"})
    assert caught.value.absent


def test_a_line_that_reads_like_a_name_is_text_while_the_hunk_announces_it() -> None:
    diff = "--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n x\n--- b\n@@ -4 +3 @@\n-x\n+y\n"
    assert apply(diff, {"a": b"x\n-- b\n1\nx\n", "b": b"x\n"})["a"].after == b"x\n1\ny\n"


@pytest.mark.parametrize(
    "name", ["end ", " start", "a b", 'a"b', "a\\b", "a\nb", "é", "b/x", "--- x", "old mode"]
)
def test_a_diff_of_a_file_with_an_odd_name_applies(name: str) -> None:
    change = Change(name, b"x\n", b"y\n")
    diff = unified_diff(change)
    assert apply(diff, {name: b"x\n", "other": b""}) == {name: change}


def test_a_new_file_may_be_named_without_prefixes() -> None:
    made = apply(
        "diff --git b/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n", {"a": b""}
    )
    assert list(made) == ["b/x"]


@pytest.mark.parametrize("name", ["d/x.py", "sp ace.py"])
def test_git_may_be_told_to_write_other_prefixes(name: str) -> None:
    """`git -c diff.srcPrefix=old/`: also of a file that is new or goes, where only one line has a name."""
    head = f"diff --git old/{name} new/{name}\n"
    tab = "\t" if " " in name else ""
    new = f"{head}new file mode 100644\n--- /dev/null\n+++ new/{name}{tab}\n@@ -0,0 +1 @@\n+y\n"
    gone = f"{head}deleted file mode 100644\n--- old/{name}{tab}\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert {path: each.after for path, each in apply(new, {}).items()} == {name: b"y\n"}
    assert {path: each.after for path, each in apply(gone, {name: b"x\n"}).items()} == {name: None}


def test_git_s_own_names_are_enough_where_a_line_is_missing() -> None:
    gone = "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n@@ -1 +0,0 @@\n-x\n"
    assert {path: each.after for path, each in apply(gone, {"f": b"x\n"}).items()} == {"f": None}
    with pytest.raises(EditError, match="something else"):
        apply(gone, {"f": b"x\nz\n"})
    for line in ("--- a/f\n", "+++ b/g\n"):
        moved = apply(f"diff --git a/f b/g\nsimilarity index 50%\n{MOVE}{line}{BODY}", {"f": b"x\n"})
        assert {path: each.after for path, each in moved.items()} == {"f": None, "g": b"y\n"}
