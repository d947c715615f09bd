"""The look at the tree before a task, in a thread or when it is asked for."""

import asyncio
import subprocess
from pathlib import Path

from kith.agent.start_state import find_commit, look_ahead


def head_of(root: Path) -> str:
    asked = ["git", "-C", str(root), "rev-parse", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def test_a_look_ahead_finds_the_commit_once(repository: Path) -> None:
    look_ahead(repository)
    assert asyncio.run(find_commit(repository, begins=True)) == head_of(repository)
    (repository / "utils.py").write_text("changed = True\n")
    assert asyncio.run(find_commit(repository, begins=True)) == ""


def test_without_a_look_ahead_it_is_found_too(repository: Path) -> None:
    assert asyncio.run(find_commit(repository, begins=True)) == head_of(repository)
    assert asyncio.run(find_commit(repository, begins=False)) == head_of(repository)


def test_outside_of_a_repository_there_is_none(tmp_path: Path) -> None:
    look_ahead(tmp_path)
    assert asyncio.run(find_commit(tmp_path, begins=True)) == ""
