"""States of a repository: two of them as changes, and one beside the project; nothing of it runs."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from kith.core.errors import TreeError
from kith.core.values import EXECUTABLE, SYMLINK
from kith.trees.revisions import (
    INDEX,
    WORKTREE,
    Difference,
    check_out,
    clean_commit,
    diff_states,
    empty_tree,
    lay_out,
    merge_base,
    parent,
    resolve,
)

LINES = "".join(f"{number}\n" for number in range(20))


def git(root: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def commit(root: Path, message: str) -> str:
    git(root, "add", "--all")
    git(root, "commit", "-qm", message)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    (folder / "lines.txt").write_text(LINES)
    commit(folder, "first")
    return folder


def compared(root: Path, old: str, new: str, most: int = 1_000_000) -> Difference:
    return asyncio.run(diff_states(root, old, new, most))


def sides(found: Difference) -> dict[str, tuple[bytes | None, bytes | None]]:
    return {change.path: (change.before, change.after) for change in found.changes}


def test_the_working_tree_the_index_and_the_commit_are_told_apart(root: Path) -> None:
    (root / "a.txt").write_text("two\n")
    git(root, "add", "a.txt")
    (root / "a.txt").write_text("three\n")
    (root / "new file.txt").write_text("new\n")
    (root / ".gitignore").write_text("*.log\n")
    (root / "x.log").write_text("ignored\n")
    assert sides(compared(root, "HEAD", INDEX)) == {"a.txt": (b"one\n", b"two\n")}
    new = {"new file.txt": (None, b"new\n"), ".gitignore": (None, b"*.log\n")}
    assert sides(compared(root, "HEAD", WORKTREE)) == {"a.txt": (b"one\n", b"three\n"), **new}
    assert sides(compared(root, INDEX, WORKTREE)) == {"a.txt": (b"two\n", b"three\n"), **new}


def test_nothing_is_a_change_that_changes_nothing(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    assert compared(root, "HEAD", WORKTREE) == Difference(())


def test_a_renamed_file_is_one_change(root: Path) -> None:
    git(root, "mv", "lines.txt", "moved.txt")
    (root / "moved.txt").write_text(LINES + "more\n")
    git(root, "add", "moved.txt")
    assert sides(compared(root, "HEAD", INDEX)) == {"moved.txt": (LINES.encode(), f"{LINES}more\n".encode())}


def test_modes_links_deleted_and_odd_names(root: Path) -> None:
    (root / "a.txt").chmod(0o755)
    (root / "lines.txt").unlink()
    (root / "link").symlink_to("a.txt")
    odd = b"odd \xff\n.txt".decode("utf-8", "surrogateescape")
    (root / odd).write_text("odd\n")
    changes = {change.path: change for change in compared(root, "HEAD", WORKTREE).changes}
    assert changes["a.txt"].mode == EXECUTABLE and changes["lines.txt"].after is None
    assert changes["link"].mode == SYMLINK and changes[odd].after == b"odd\n"


def test_an_unmerged_file_is_what_the_working_tree_has(root: Path) -> None:
    git(root, "checkout", "-qb", "side")
    (root / "a.txt").write_text("side\n")
    commit(root, "side")
    git(root, "checkout", "-q", "main")
    (root / "a.txt").write_text("main\n")
    commit(root, "main")
    subprocess.run(["git", "merge", "side"], cwd=root, capture_output=True)
    ((before, after),) = sides(compared(root, "HEAD", WORKTREE)).values()
    assert before == b"main\n" and after is not None and b"<<<<<<<" in after


def test_large_files_and_submodules_are_left_out_and_named(root: Path) -> None:
    (root / "large.txt").write_text("x" * 200)
    (root / "a.txt").write_text("y" * 200)
    inner = root / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "b.txt").write_text("b\n")
    commit(inner, "inner")
    git(root, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    found = compared(root, "HEAD", WORKTREE, most=100)
    assert found.changes == ()
    assert set(found.left_out) == {
        "inner (a submodule)",
        "large.txt (over 100 bytes)",
        "a.txt (over 100 bytes)",
    }


def test_what_a_folder_brings_along_for_kith_is_named_and_left_out(root: Path) -> None:
    (root / ".kith").mkdir()
    (root / ".kith" / "config.toml").write_text("tries = 1\n")
    (root / "a.txt").write_text("two\n")
    assert compared(root, "HEAD", WORKTREE).left_out == (".kith/config.toml (out of bounds)",)
    commit(root, "both")
    found = compared(root, "HEAD~1", "HEAD")
    assert [*sides(found)] == ["a.txt"] and found.left_out == (".kith/config.toml (out of bounds)",)


def test_commits_are_found_by_name(root: Path) -> None:
    first = git(root, "rev-parse", "HEAD")
    (root / "a.txt").write_text("two\n")
    second = commit(root, "second")
    assert asyncio.run(resolve(root, "main~1")) == first
    assert asyncio.run(parent(root, second)) == first
    assert asyncio.run(parent(root, first)) == asyncio.run(empty_tree(root))
    assert sides(compared(root, asyncio.run(parent(root, first)), first))["a.txt"] == (None, b"one\n")
    assert asyncio.run(merge_base(root, first, second)) == first


@pytest.mark.parametrize("name", ["nothing", "", "-x", "--upload-pack=touch hacked", "HEAD:a.txt"])
def test_what_is_no_commit_is_refused(root: Path, name: str) -> None:
    with pytest.raises(TreeError, match="no commit"):
        asyncio.run(resolve(root, name))


def test_a_clean_tree_has_a_commit_and_any_change_takes_it_away(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    assert asyncio.run(clean_commit(repository, patience=60)) == head
    (repository / "__pycache__").mkdir()
    (repository / "__pycache__" / "x.pyc").write_bytes(b"x")  # ignored
    assert asyncio.run(clean_commit(repository, patience=60)) == head
    (repository / "new.py").write_text("1\n")
    assert asyncio.run(clean_commit(repository)) == ""
    git(repository, "add", ".")
    assert asyncio.run(clean_commit(repository)) == ""


def test_there_is_no_commit_without_git_or_before_the_first(tmp_path: Path) -> None:
    assert asyncio.run(clean_commit(tmp_path)) == ""
    git(tmp_path, "init", "-q")
    assert asyncio.run(clean_commit(tmp_path)) == ""


def test_a_commit_is_checked_out_beside_a_tree_that_went_on(repository: Path, tmp_path: Path) -> None:
    head, ran = git(repository, "rev-parse", "HEAD"), tmp_path / "ran"
    for name in ("post-checkout", "pre-commit", "post-commit", "post-index-change"):
        hook = repository / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
        hook.chmod(0o755)
    git(repository, "config", "filter.evil.smudge", f"sh -c 'touch {ran}; cat'")
    (repository / ".git" / "info" / "attributes").write_text("*.py filter=evil\n")
    (repository / "utils.py").write_text("gone = True\n")
    (repository / "staged.py").write_text("1\n")
    git(repository, "add", "staged.py")
    before = git(repository, "status", "--porcelain")
    ran.unlink(missing_ok=True)

    place = asyncio.run(check_out(repository, head, tmp_path / "beside"))
    assert "def mean" in (place / "utils.py").read_text() and not (place / "staged.py").exists()
    assert asyncio.run(clean_commit(place)) and git(place, "log", "--oneline").count("\n") == 0
    assert not ran.exists() and git(repository, "status", "--porcelain") == before
    assert asyncio.run(check_out(repository, head, tmp_path / "beside")) == place

    inner = asyncio.run(check_out(repository / "tests", head, tmp_path / "beside"))
    assert (inner / "test_utils.py").exists()
    with pytest.raises(TreeError):
        asyncio.run(check_out(repository, "0" * 40, tmp_path / "other"))
    assert not (tmp_path / "other").exists()


def test_files_are_laid_out_as_a_repository(tmp_path: Path) -> None:
    asyncio.run(lay_out({"a/b.py": "1\n", "c.py": "2\n"}, tmp_path / "made"))
    assert (tmp_path / "made" / "a" / "b.py").read_text() == "1\n"
    assert asyncio.run(clean_commit(tmp_path / "made"))
