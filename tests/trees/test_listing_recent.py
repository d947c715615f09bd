"""A list of files is used again only while nothing came, went, or changed what is ignored."""

import asyncio
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kith.trees import listing
from kith.trees.listing import list_files
from kith.trees.revisions import clean_commit


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def listed(repository: Path) -> Path:
    """A tree that rests, and was just listed."""
    (repository / "empty").mkdir()
    (repository / "build").mkdir()
    (repository / "build" / "out.txt").write_text("")
    time.sleep(0.1)
    asyncio.run(list_files(repository))
    assert listing.recall(repository), "nothing changed"
    return repository


CHANGES: dict[str, Callable[[Path], object]] = {
    "a new file": lambda root: (root / "new.py").write_text(""),
    "a new file further down": lambda root: (root / "tests" / "new.py").write_text(""),
    "a new folder": lambda root: (root / "build" / "inner").mkdir(),
    "a file less": lambda root: (root / "utils.py").unlink(),
    "another name": lambda root: (root / "utils.py").rename(root / "tools.py"),
    "other rules": lambda root: (root / ".gitignore").write_text("*.md\n*.txt\n"),
    "another index": lambda root: git(root, "rm", "--quiet", "--cached", "utils.py"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_list_that_no_longer_holds_is_made_anew(listed: Path, change: str) -> None:
    CHANGES[change](listed)
    assert listing.recall(listed) is None
    known = asyncio.run(list_files(listed))
    time.sleep(0.1)
    again = asyncio.run(list_files(listed))
    assert known == again


def test_edits_leave_a_list_as_it_is(listed: Path) -> None:
    with (listed / "utils.py").open("a") as file:
        file.write("# more\n")
    assert listing.recall(listed) == asyncio.run(list_files(listed))


def test_a_tree_that_just_changed_is_listed_again(listed: Path) -> None:
    (listed / "new.py").write_text("")
    assert "new.py" in asyncio.run(list_files(listed))
    (listed / "newer.py").write_text("")
    assert "newer.py" in asyncio.run(list_files(listed)), "however short the time between them"


def change_in_every_way(root: Path) -> None:
    (root / "utils.py").unlink()
    (root / "tests" / "added.py").write_text("")
    git(root, "add", "tests/added.py")
    (root / "tests" / "added.py").unlink()
    (root / "loose").mkdir()
    (root / "loose" / "a b\tc\n.txt").write_text("")
    (root / "venv").mkdir()
    (root / "venv" / "pyvenv.cfg").write_text("")
    git(root, "init", "-q", "inner")
    (root / "inner" / "own.py").write_text("")


def test_one_look_tells_the_commit_and_the_files(repository: Path) -> None:
    time.sleep(0.1)
    assert asyncio.run(clean_commit(repository, 60, lists=True))
    kept = listing.recall(repository)
    assert kept and kept == asyncio.run(listing._list(repository))


def test_one_look_lists_a_changed_tree_as_it_is(repository: Path) -> None:
    change_in_every_way(repository)
    time.sleep(0.1)
    assert asyncio.run(clean_commit(repository, 60, lists=True)) == ""
    kept = listing.recall(repository)
    assert kept and kept == asyncio.run(listing._list(repository))
    assert "utils.py" not in kept and "loose/a b\tc\n.txt" in kept


def test_files_assumed_unchanged_need_a_look_of_their_own(repository: Path) -> None:
    git(repository, "update-index", "--assume-unchanged", "utils.py")
    (repository / "utils.py").unlink()
    time.sleep(0.1)
    asyncio.run(clean_commit(repository, 60, lists=True))
    assert listing.recall(repository) is None
    assert "utils.py" not in asyncio.run(list_files(repository))
