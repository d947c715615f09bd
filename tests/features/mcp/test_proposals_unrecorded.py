"""A change that is in the files is never denied, whatever of kith's own cannot be written then."""

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kith.agent.outside_edits import write_edits
from kith.agent.project import Project
from kith.core.errors import EXIT_FAILED, EXIT_UNRECORDED, KithError, UnrecordedError
from kith.core.values import Answer, Change, Question
from kith.features.mcp.proposals import propose_given

OLD, NEW = b"len(numbers) + 1", b"max(len(numbers), 1)"


def mend(root: Path) -> Change:
    before = (root / "utils.py").read_bytes()
    return Change("utils.py", before, before.replace(OLD, NEW))


def refuse(log: Path, *kinds: str) -> None:
    """From now on the log takes no events of these kinds, as on a full disk; without any it does again."""
    with closing(sqlite3.connect(log)) as db:
        db.execute("DROP TRIGGER IF EXISTS full")
        if kinds:
            wanted = ", ".join(f"'{kind}'" for kind in kinds)
            db.execute(
                f"CREATE TRIGGER full BEFORE INSERT ON events WHEN NEW.kind IN ({wanted})"
                " BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
            )
        db.commit()


@pytest.mark.parametrize("kinds", [("Applied", "RunEnded"), ("Applied",), ("RunEnded",)])
def test_a_change_that_is_not_logged_is_told_of(repository: Path, kinds: tuple[str, ...]) -> None:
    project = Project.open(repository, {"check": ("none",)})

    async def answer(question: Question) -> Answer:
        refuse(project.log.path, *kinds)
        return Answer("all")

    with pytest.raises(UnrecordedError, match=r"(?s)is applied.*disk is full.*kith undo ") as caught:
        asyncio.run(propose_given(project, (mend(repository),), "", answer))
    assert NEW in (repository / "utils.py").read_bytes() and caught.value.code == EXIT_UNRECORDED
    refuse(project.log.path)
    asyncio.run(Project.open(repository, {}).undo(caught.value.change_id))
    assert OLD in (repository / "utils.py").read_bytes()


def test_a_refusal_before_the_change_is_a_failure(repository: Path) -> None:
    project = Project.open(repository, {"check": ("none",)})
    refuse(project.log.path, "Asked")

    async def answer(question: Question) -> Answer:
        return Answer("all")

    result = asyncio.run(propose_given(project, (mend(repository),), "", answer))
    assert result.code == EXIT_FAILED and not result.report["applied"]
    assert OLD in (repository / "utils.py").read_bytes()


def test_direct_edits_and_undo_change_nothing_without_a_lock(repository: Path) -> None:
    project = Project.open(repository, {})
    change = mend(repository)
    applied = asyncio.run(write_edits(project, (change,), "edits apply"))
    locks = project.log.path.parent / "locks"
    shutil.rmtree(locks)
    locks.write_text("no folder")
    again = Change("utils.py", change.after, change.before)
    for work in (write_edits(project, (again,), "edits apply"), project.undo(applied.change_id)):
        with pytest.raises(KithError, match="locks"):
            asyncio.run(work)
        assert (repository / "utils.py").read_bytes() == change.after


def test_the_command_says_so_and_how_to_take_it_back(
    repository: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = home / ".local/state/kith/log.sqlite3"
    Project.open(repository, {})
    fill = tmp_path / "fill.py"
    fill.write_text(
        "import sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1])\n"
        "db.execute(\"CREATE TRIGGER IF NOT EXISTS full BEFORE INSERT ON events WHEN NEW.kind = 'Applied'\"\n"
        "           \" BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END\")\n"
        "db.commit()\n"
    )
    reply = {"name": "edit", "args": {"path": "utils.py", "old": OLD.decode(), "new": NEW.decode()}}
    (tmp_path / "script.json").write_text(json.dumps([{"calls": [reply]}, "Done."]))
    words = ["run", "--yes", "--output-format", "json", "-m", f"replay/{tmp_path / 'script.json'}"]
    # The check stands for whatever fills the disk meanwhile.
    monkeypatch.setenv("KITH_SANDBOX", "off")
    command = [sys.executable, "-m", "kith", *words, "--check", f"{sys.executable} {fill} {log}", "Mend mean"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert done.returncode == EXIT_UNRECORDED, done.stderr
    told = json.loads(done.stdout)
    assert told["applied"] and told["status"] == "done" and told["changes"]
    assert f"kith undo {told['applied']}" in " ".join(done.stderr.split())
    refuse(log)
    undo = [sys.executable, "-m", "kith", "undo", told["applied"]]
    subprocess.run(undo, cwd=repository, check=True, capture_output=True)
    assert OLD in (repository / "utils.py").read_bytes()
