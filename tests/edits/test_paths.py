"""No edit leads out of the tree, whatever its form."""

import pytest

from kith.core.values import Change
from kith.edits import Create, Delete, EditError, Hunk, Patch, Replace, Whole, make_changes, paths_of

BAD = [
    "", "/etc/passwd", "~/.bashrc", "~root/x", "../x", "a/../../x", "a//b", "./x", "a/./b", "a/", "C:/x",
    "c:x", "..\\x", "a\x00b",
    ".git", ".git/config", ".GIT/hooks/pre-commit", "sub/.git/x", ".git./x", ".git /x", "git~1/x",
    ".git::$INDEX_ALLOCATION/x", ".g\u200cit/config",
]  # fmt: skip


@pytest.mark.parametrize("path", BAD)
def test_a_path_out_of_the_tree_is_refused_with_one_sentence(path: str) -> None:
    hunk = Hunk(("-x", "+y"))
    edits = [Create(path, "x"), Delete(path), Whole(path, "x"), Replace(path, "x", "y"), Patch(path, (hunk,))]
    for edit in [*edits, Patch("a.txt", (hunk,), path or "/")]:
        with pytest.raises(EditError) as refusal:
            paths_of([edit])
        assert str(refusal.value).endswith(".")
        assert "\n" not in str(refusal.value)
        with pytest.raises(EditError):
            make_changes([edit], {path: b"x\n", "a.txt": b"x\n"})


@pytest.mark.parametrize(
    "path", ["a.py", ".github/x.yml", ".gitignore", "a/.gitattributes", "x y.txt", "ä/ö", "a..b", "@/~x"]
)
def test_ordinary_paths_pass(path: str) -> None:
    assert paths_of([Create(path, "x"), Delete(path)]) == (path,)


@pytest.mark.parametrize("path", ["a\\b", "a\tb", "a\nb", "a\x7fb"])
def test_only_a_file_that_exists_may_have_odd_characters(path: str) -> None:
    with pytest.raises(EditError):
        paths_of([Whole(path, "y\n")])
    with pytest.raises(EditError):
        make_changes([Whole(path, "y\n")], {path: None})
    assert paths_of([Whole(path, "y\n")], {path}) == (path,)
    assert make_changes([Whole(path, "y\n")], {path: b"x\n"}) == (Change(path, b"x\n", b"y\n"),)
