"""The commit a task began from, and its files beside the project: nothing of the repository runs."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from kith.core.errors import TreeError
from kith.trees.commits import check_out, clean_commit, lay_out


def git(folder: Path, *words: str) -> str:
    return subprocess.check_output(["git", *words], cwd=folder, text=True).strip()


def test_a_clean_tree_has_a_commit_and_any_change_takes_it_away(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    assert asyncio.run(clean_commit(repository)) == head
    (repository / "__pycache__").mkdir()
    (repository / "__pycache__" / "x.pyc").write_bytes(b"x")  # ignored
    assert asyncio.run(clean_commit(repository)) == head
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
