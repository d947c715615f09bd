"""The person reads tasks and change, edits both, keeps a part, and has the last word."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from building import DONE, PLAIN, Stage, edit, snapshot, write
from building import tasks as tell
from kith.core.events import Advanced, Judged, Tasked
from kith.core.values import Answer, BuildTask, Change, Question
from kith.features.build.finishing import commit_message
from kith.features.build.finishing import tell as tell_end
from kith.features.build.state import Build, TaskProgress
from plays import NOD, NOD_CODE, NOD_TESTS, TALLY_CODE, TALLY_TEST_FILE, one_task, script

LOUD = "Count all that pyflakes finds."


@pytest.mark.slow
def test_a_person_edits_the_tasks(pyflakes: Path) -> None:
    """What does not make sense is asked about once more, with what was written."""
    broken = Answer("edit", "## 1. Nothing\n")
    stage = Stage(pyflakes, one_task(), answers={"plan": [broken]})
    fields = "Files: `pyflakes/tally.py`\n\nWrite tally.\n\nDone when:\n- tally('import os') == 1\n"
    good = f"## tally. Tally\n{fields}"
    stage.answers = {"plan": [broken, Answer("edit", good)]}
    assert stage.play().status == "done"
    first, second = (question for question in stage.questions if question.kind == "plan")
    assert first.draft.startswith("## tally. Count what pyflakes finds\n")
    assert "Task 1 has no criteria" in second.text and second.draft == "## 1. Nothing\n"
    assert [event.tasks[0].title for event in stage.events if isinstance(event, Tasked)][-1] == "Tally"
    assert "# Tally\nWrite tally." in stage.said_to("tally/specify")[0]


@pytest.mark.slow
def test_a_person_asks_for_other_tasks(pyflakes: Path) -> None:
    nod = {
        "nod/specify": [write("pyflakes/test/test_nod.py", NOD_TESTS), DONE],
        "nod/implement": [write("pyflakes/nod.py", NOD_CODE), DONE],
    }
    plans = [*one_task()["plan"], tell(NOD)]
    stage = Stage(pyflakes, script(plan=plans, **nod), answers={"plan": [Answer("revise", "Only nod.")]})
    assert stage.play().status == "done"
    assert stage.said_to("plan")[1].startswith("Only nod.")
    assert [piece.task.id for piece in stage.state.done] == ["nod"]


@pytest.mark.slow
def test_a_person_asks_for_more_and_gets_it(pyflakes: Path) -> None:
    more = [edit("pyflakes/tally.py", "Count what pyflakes finds.", LOUD), DONE]
    stage = Stage(
        pyflakes,
        script(tally__implement=[*one_task()["tally/implement"], *more]),
        answers={"change": [Answer("revise", "Say that all is counted.")]},
    )
    assert stage.play().status == "done"
    assert stage.said_to("tally/implement")[1] == "Say that all is counted."
    assert LOUD in (pyflakes / "pyflakes" / "tally.py").read_text()
    assert stage.steps.count("finish yes") == 2


@pytest.mark.slow
def test_what_a_person_asks_for_in_vain_is_taken_back_and_they_are_asked_again(pyflakes: Path) -> None:
    spoilt = [edit("pyflakes/tally.py", "len(Checker(ast.parse(source)).messages)", "9"), DONE]
    stage = Stage(
        pyflakes,
        script(tally__implement=[*one_task()["tally/implement"], *spoilt]),
        replace(PLAIN, max_retries=0),
        answers={"change": [Answer("revise", "Always answer 9.")]},
    )
    assert stage.play().status == "done"
    assert "Your revision failed and was rolled back" in stage.notices
    assert (pyflakes / "pyflakes" / "tally.py").read_text() == TALLY_CODE


@pytest.mark.slow
@pytest.mark.parametrize(("overrule", "status"), [("all", "done"), ("none", "rejected")])
def test_a_person_keeps_a_part_that_is_checked_again(pyflakes: Path, overrule: str, status: str) -> None:
    before = snapshot(pyflakes)
    kept = (Change("pyflakes/tally.py", None, b"def tally(source): ...\n"),)
    answers = {"change": [Answer("some", changes=kept), Answer(overrule)]}
    stage = Stage(pyflakes, one_task(), answers=answers)
    assert stage.play().status == status
    assert "The part that you kept does not pass the checks." in stage.notices
    after = {"pyflakes/tally.py": b"def tally(source): ...\n"} if status == "done" else {}
    assert snapshot(pyflakes) == before | after


@pytest.mark.slow
def test_a_part_that_is_good_needs_no_second_question(pyflakes: Path) -> None:
    stage = Stage(pyflakes, one_task())

    async def without_words(question: Question) -> Answer:
        if question.kind != "change":
            return Answer("yes")
        return Answer("edit", changes=tuple(_reworded(change) for change in question.changes))

    stage.answerer = without_words
    assert stage.play().status == "done"
    assert LOUD in (pyflakes / "pyflakes" / "tally.py").read_text()
    assert TALLY_TEST_FILE in snapshot(pyflakes)
    last = [event for event in stage.events if isinstance(event, Judged) and event.gate == "tests"][-1]
    assert last.ok


def _reworded(change: Change) -> Change:
    after = (change.after or b"").replace(b"Count what pyflakes finds.", LOUD.encode())
    return replace(change, after=after)


def test_a_commit_says_what_was_done() -> None:
    def named(*titles: str) -> list[BuildTask]:
        return [BuildTask(str(number), title, ("x",)) for number, title in enumerate(titles)]

    assert commit_message(named("Add x"), "please add x") == "Add x"
    assert commit_message(named("Add x", "Add y"), "both") == "Add x; Add y"
    long = [f"Add a function that is called number {number}" for number in range(3)]
    subject, blank, *rows = commit_message(named(*long), "Three functions, " * 9).split("\n")
    assert len(subject) <= 72 and subject.startswith("Three functions,") and subject.endswith("...")
    assert blank == "" and rows == [f"- {title}" for title in long]


def test_a_build_in_part_says_what_is_applied_and_what_not() -> None:
    pieces = {
        "1": TaskProgress(BuildTask("1", "Add x", ("x",)), "done"),
        "2": TaskProgress(BuildTask("2", "Add y", ("y",)), "rolled back", why="tests fail"),
    }
    partly = Build(pieces=pieces, last=Advanced("commit", "committed"))
    assert not partly.complete
    said = "1 of 2 tasks are done, applied and committed: Add x. Not applied: Add y: rolled back, tests fail."
    assert tell_end(partly) == said
    whole = Build(pieces={"1": pieces["1"]}, last=Advanced("commit", "refused"))
    assert not whole.complete and tell_end(whole) == "All tasks are done, applied, but not committed."
    assert Build(pieces={"1": pieces["1"]}, last=Advanced("commit", "skipped")).complete
