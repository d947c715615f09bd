"""Where a path really leads, before nobody is asked about it."""

import os
from pathlib import Path

import pytest

from kith.trees.reachable import why_git_may_run, why_private


def secret(path: str) -> bool:
    return path.rpartition("/")[2] == "secret"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "src" / ".hidden").mkdir(parents=True)
    (tree / "src" / "a").write_text("x")
    (tree / "src" / ".hidden" / "secret").write_text("x")
    (tmp_path / "outside").write_text("x")
    return tree


def test_files_and_folders_of_the_tree_may_be_read(tree: Path) -> None:
    (tree / "inner").symlink_to("src/a")
    for path in ("src/a", "src", ".", "inner", "missing", "src/missing/a"):
        assert why_private(tree, path, secret) == ""


def test_links_devices_and_secrets_may_not(tree: Path) -> None:
    (tree / "out").symlink_to(tree.parent / "outside")
    (tree / "up").symlink_to("..")
    (tree / "around").symlink_to("around")
    (tree / "also").symlink_to("src/.hidden/secret")
    (tree / ".git").mkdir()
    (tree / "of-git").symlink_to(".git")
    os.mkfifo(tree / "pipe")
    for path in ("out", "up", "up/outside", "around", "also", "of-git", "pipe", "src/.hidden/secret"):
        assert why_private(tree, path, secret), path
    assert "leads out" in why_private(tree, "o*", secret, glob=True)
    assert why_private(tree, ".", secret, below="seen")


def test_what_is_below_counts_where_it_is_read(tree: Path) -> None:
    assert why_private(tree, "src", secret) == ""
    assert why_private(tree, "src", secret, below="seen") == ""
    assert why_private(tree, "src", secret, below="all") == "src/.hidden/secret may hold secrets"


def test_a_name_that_looks_like_a_flag_is_no_name(tree: Path) -> None:
    (tree / "-rf").write_text("")
    assert "a flag" in why_private(tree, "*", secret, glob=True)
    assert why_private(tree, "src/*", secret, glob=True) == ""


def test_outside_of_a_repository_git_would_compare_what_it_is_pointed_at(tree: Path) -> None:
    assert "no repository" in why_git_may_run(tree)


def test_a_password_among_the_settings_of_git_is_not_searched_through(tree: Path) -> None:
    (tree / ".git").mkdir()
    settings = tree / ".git" / "config"
    settings.write_text('[remote "origin"]\n\turl = https://example.org/x\n')
    assert why_private(tree, ".", lambda _: False, below="all") == ""
    settings.write_text('[remote "origin"]\n\turl = https://me:x@example.org/x\n')
    assert why_private(tree, ".", lambda _: False, below="all") == ".git/config may hold secrets"
    assert why_private(tree, ".", lambda _: False, below="seen") == ""
