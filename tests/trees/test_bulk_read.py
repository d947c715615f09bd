"""Many files at once: what is read, and what is left alone."""

import os
from pathlib import Path

import pytest

from kith.trees.bulk_read import read_files, stamp_files
from kith.trees.files import read_file


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for path in ("a.py", "deep/er/b.py", "deep/er/c.py", "z.py"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("hidden")
    return root


def test_contents_are_those_of_one_by_one(tree: Path) -> None:
    paths = ["a.py", "deep/er/b.py", "deep/er/c.py", "z.py"]
    assert read_files(tree, paths) == {path: read_file(tree, path) for path in paths}
    assert list(stamp_files(tree, paths)) == paths
    assert stamp_files(tree, ["z.py"])["z.py"] == (4, (tree / "z.py").stat().st_mtime_ns)


def test_links_and_what_is_not_there_are_left_out(tree: Path) -> None:
    (tree / "link.py").symlink_to("a.py")
    (tree / "out").symlink_to(tree.parent / "secret")
    os.mkfifo(tree / "pipe")
    paths = [
        "a.py",
        "deep",
        "gone.py",
        "gone/b.py",
        "link.py",
        "out/key",
        "pipe",
        ".git/config",
        "../secret/key",
    ]
    assert read_files(tree, paths) == {"a.py": b"a.py"}
    assert "link.py" not in stamp_files(tree, paths) and "pipe" not in stamp_files(tree, paths)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_left_out(tree: Path) -> None:
    (tree / "a.py").chmod(0)
    assert list(read_files(tree, ["a.py", "z.py"])) == ["z.py"]
