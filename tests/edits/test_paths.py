"""No edit leads out of the tree, whatever its form."""

import pytest

from kith.edits import Create, Delete, EditError, Hunk, Patch, Replace, Whole, make_changes, paths_of

BAD = [
    "", "/etc/passwd", "~/.bashrc", "~root/x", "../x", "a/../../x", "a//b", "./x", "a/./b", "a/", "C:/x",
    "c:x", "a\\b", "..\\x", "a\x00b", "a\nb", "a\x7fb",
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
