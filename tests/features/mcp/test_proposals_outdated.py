"""What was shown is what is applied: a tree edited between question and answer is asked about anew."""

import asyncio
from pathlib import Path
from typing import Any

from kith.agent.project import Project
from kith.core.values import FILE, SYMLINK, Answer, Change, Question
from kith.features.mcp.proposals import propose_given

OLD, NEW = b"len(numbers) + 1", b"max(len(numbers), 1)"


def propose(root: Path, change: Change, *edits: bytes, **flags: Any) -> tuple[dict[str, Any], list[Question]]:
    """Propose a change; before each answer, a yes, somebody writes the next of `edits` into its file."""
    asked, waiting = list[Question](), list(edits)

    async def answer(question: Question) -> Answer:
        asked.append(question)
        if waiting:
            (root / change.path).write_bytes(waiting.pop(0))
        return Answer("all")

    project = Project.open(root, {"check": ("none",), **flags})
    return asyncio.run(propose_given(project, (change,), "", answer)).report, asked


def mend(root: Path) -> Change:
    before = (root / "utils.py").read_bytes()
    return Change("utils.py", before, before.replace(OLD, NEW))


def test_an_edit_elsewhere_in_the_file_stays_and_the_new_diff_is_shown(repository: Path) -> None:
    change = mend(repository)
    assert change.before
    edited = change.before.replace(b"Small helpers", b"My helpers")
    report, asked = propose(repository, change, edited, edited + b"# more\n")
    assert report["applied"] and len(asked) == 3
    assert [question.changes[0].before for question in asked] == [change.before, edited, edited + b"# more\n"]
    shown = asked[-1].changes[0].after
    assert (repository / "utils.py").read_bytes() == shown == edited.replace(OLD, NEW) + b"# more\n"
    assert any("edited meanwhile" in warning for warning in report["receipt"]["warnings"])


def test_an_edit_of_the_same_lines_is_never_written_over(repository: Path) -> None:
    change = mend(repository)
    assert change.before
    edited = change.before.replace(OLD, b"mine")
    report, asked = propose(repository, change, edited)
    assert not report["applied"] and "in the same places" in report["text"] and len(asked) == 1
    assert (repository / "utils.py").read_bytes() == edited


def test_a_new_file_that_somebody_else_made_is_never_written_over(repository: Path) -> None:
    report, _ = propose(repository, Change("new.txt", None, b"kith's\n"), b"somebody's\n")
    assert not report["applied"] and (repository / "new.txt").read_bytes() == b"somebody's\n"


def test_the_question_warns_of_what_runs_by_itself(repository: Path) -> None:
    _, asked = propose(repository, Change(".envrc", None, b"payload\n"))
    assert ".envrc" in asked[0].warnings[0] and asked[0].files[0].warning
    _, asked = propose(repository, Change(".husky/a\nb", None, b"x\n"))
    assert not asked, "a name that hides its end is refused before anybody is asked"
    _, asked = propose(repository, Change("here", None, b"utils.py", SYMLINK, SYMLINK))
    assert "symbolic link" in asked[0].warnings[0]
    _, asked = propose(repository, Change(".exrc", None, b"x\n", FILE), allow_file=(".e*",))
    assert not asked[0].warnings and not asked[0].files[0].warning
