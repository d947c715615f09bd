"""The commit of an undone change: reverted alone, and only where it is in the branch."""

import asyncio
import subprocess
from pathlib import Path

from kith.agent.project import Project
from kith.agent.reverting import find_commit, find_own_commit, is_exact, revert
from kith.core.events import Applied, Committed, RunStarted
from kith.core.values import FileChange


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_an_undone_commit_is_reverted_alone(repository: Path) -> None:
    file = repository / "utils.py"
    before = file.read_text()
    file.write_text(f"{before}# new\n")
    git(repository, "commit", "-qam", "Add a line")
    commit = git(repository, "rev-parse", "HEAD")
    project = Project.open(repository, {})
    with project.session() as session:
        session.emit(RunStarted("add", str(repository), "", ""))
        session.emit(Committed("change", commit))
    undone = Applied("undo", (FileChange("utils.py", 0, 1, ""),), undoes="change")
    assert asyncio.run(find_commit(project, undone)) == commit
    assert not asyncio.run(is_exact(project, undone, commit)), "the file holds the change still"
    file.write_text(before)
    assert asyncio.run(is_exact(project, undone, commit))
    made = asyncio.run(revert(project, undone, commit))
    assert git(repository, "rev-parse", "HEAD") == made
    assert git(repository, "log", "-1", "--format=%B").startswith(
        'Revert "Add a line"\n\nThis reverts commit'
    )
    git(repository, "reset", "-q", "--hard", f"{commit}^")
    assert asyncio.run(find_commit(project, undone)) == "", "it is no longer in the branch"


def test_a_commit_of_the_persons_own_is_found_only_if_it_holds_the_change(repository: Path) -> None:
    file = repository / "utils.py"
    before = file.read_text()
    undone = Applied("undo", (FileChange("utils.py", 0, 1, ""),), undoes="change")
    project = Project.open(repository, {})
    assert asyncio.run(find_own_commit(project, undone)) == "", "nothing was committed"
    file.write_text(f"{before}# new\n")
    git(repository, "commit", "-qam", "Mine")
    file.write_text(before)
    assert asyncio.run(find_own_commit(project, undone)) == git(repository, "rev-parse", "HEAD")
    file.write_text(f"{before}# new\n# more\n")
    assert asyncio.run(find_own_commit(project, undone)) == "", "the file holds the change still"
