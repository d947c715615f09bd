"""The `*** Begin Patch` form."""

import pytest

from kith.edits import Create, Delete, EditError, find_edits, make_changes, paths_of


def apply(body: str, **files: bytes | None) -> dict[str, bytes | None]:
    named = {name.replace("_", "."): content for name, content in files.items()}
    edits = find_edits(f"*** Begin Patch\n{body}*** End Patch\n")
    changes = make_changes(edits, {path: named.get(path) for path in paths_of(edits)})
    return {change.path: change.after for change in changes}


def test_files_are_added_and_deleted() -> None:
    reply = "I will:\n*** Begin Patch\n*** Add File: b.py\n+x\n+\n*** Delete File: c.py\n *** End Patch \nBye"
    assert find_edits(reply) == (Create("b.py", "x\n\n"), Delete("c.py"))


def test_hunks_are_found_by_their_lines_and_by_what_stands_above() -> None:
    content = b"class A:\n    def f():\n        pass\n\nclass B:\n    def f():\n        pass\n"
    body = "*** Update File: a.py\n@@ class B:\n@@     def f():\n-        pass\n+        return 1\n"
    assert apply(body, a_py=content) == {"a.py": content[:-13] + b"        return 1\n"}


def test_an_anchor_that_is_missing_or_stands_twice_refuses() -> None:
    body = "*** Update File: a.py\n@@ def {}():\n-x\n+y\n"
    with pytest.raises(EditError, match="'def g\\(\\):', below which to look, is not in the file"):
        apply(body.format("g"), a_py=b"def f():\nx\n")
    with pytest.raises(EditError, match="at lines 1 and 3"):
        apply(body.format("f"), a_py=b"def f():\nx\ndef f():\nx\n")


def test_a_file_is_moved_and_changed_at_once_but_never_over_another() -> None:
    body = "*** Update File: a.py\n*** Move to: lib/b.py\n@@\n-x\n+y\n"
    assert apply(body, a_py=b"x\n") == {"a.py": None, "lib/b.py": b"y\n"}
    edits = find_edits(f"*** Begin Patch\n{body}*** End Patch")
    with pytest.raises(EditError, match=r"lib/b\.py exists already"):
        make_changes(edits, {"a.py": b"x\n", "lib/b.py": b""})


def test_end_of_file_chooses_the_last_of_equal_places() -> None:
    body = "*** Update File: a.py\n@@\n x\n+y\n*** End of File\n"
    assert apply(body, a_py=b"x\nz\nx\n") == {"a.py": b"x\nz\nx\ny\n"}


def test_lines_that_are_only_added_go_to_the_end() -> None:
    assert apply("*** Update File: a.py\n@@\n+z\n", a_py=b"x\n") == {"a.py": b"x\nz\n"}
    with pytest.raises(EditError) as caught:
        apply("*** Update File: a.py\n@@\n+z\n", a_py=b"x\nz\n")
    assert caught.value.already


def test_a_replaced_last_line_gets_its_newline() -> None:
    assert apply("*** Update File: a.py\n@@\n-x\n+y\n", a_py=b"w\nx") == {"a.py": b"w\ny\n"}
    assert apply("*** Update File: a.py\n@@\n-w\n+y\n", a_py=b"w\nx") == {"a.py": b"y\nx"}


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n", "no '\\*\\*\\* End Patch' line"),
        ("*** Begin Patch\n*** Frobnicate File: a.py\n*** End Patch", "does not begin the part of a file"),
        ("*** Begin Patch\n*** Add File: a.py\nx\n*** End Patch", "must begin with '\\+'"),
        ("*** Begin Patch\n*** Update File: a.py\n*** End Patch", "changes nothing"),
        ("*** Begin Patch\n*** Update File: a.py\n@@\n-x\nfoo\n*** End Patch", "begins with none of"),
        ("*** Begin Patch\n*** Delete File: a.py\n-x\n*** End Patch", "does not belong below"),
        ("*** Begin Patch\n*** Update File: ../a.py\n@@\n-x\n*** End Patch", "contains '..'"),
        ("<<\"EOF'\n*** Begin Patch\n*** Delete File: a.py\n*** End Patch\nEOF", "here-document"),
        ("*** Begin Patch\n*** End Patch", "changes no file"),
    ],
)
def test_a_broken_patch_is_refused(reply: str, words: str) -> None:
    with pytest.raises(EditError, match=words):
        find_edits(reply)


def test_a_command_that_changes_the_folder_first_is_refused() -> None:
    patch = "*** Begin Patch\n*** Add File: b.py\n+x\n*** End Patch\nEOF\n"
    assert find_edits(f"apply_patch <<'EOF'\n{patch}") == (Create("b.py", "x\n"),)
    with pytest.raises(EditError, match="folder"):
        find_edits(f"cd src && apply_patch <<'EOF'\n{patch}")
