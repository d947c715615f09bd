"""What the log tells of a build: its state and figures, also for a model with little room."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from building import DONE, PLAIN, Stage, edit, write
from kith.core.codec import decode_event, encode_event
from kith.core.events import Advanced, Judged, RunEnded, RunStarted, Stepped, Tasked
from kith.core.values import BuildTask, Ran
from kith.features.build.builds import describe
from kith.features.build.state import Build, BuildStep
from plays import TALLY_CODE, one_task, script, two_tasks


@pytest.mark.slow
def test_the_log_tells_everything_that_status_shows(pyflakes: Path) -> None:
    stage = Stage(pyflakes, two_tasks(), replace(PLAIN, refine=True, coverage=None))
    assert stage.play().status == "done"
    shown = describe(stage.state)
    assert json.loads(json.dumps(shown)) == shown
    assert [(task["id"], task["state"], task["attempts"]) for task in shown["tasks"]] == [
        ("tally", "done", 2),
        ("shout", "done", 1),
    ]
    gates = {gate["gate"]: gate for gate in shown["tasks"][0]["gates"]}
    assert gates["tests"]["figures"]["wanted"] == gates["tests"]["figures"]["reached"] == 2
    assert {"spec", "untouched", "limits", "size", "secrets", "lint", "types"} <= gates.keys()
    assert all(task["seconds"] > 0 and task["tokens"]["input"] > 0 for task in shown["tasks"])
    metrics = shown["metrics"]
    assert (metrics["tasks"], metrics["done"], metrics["retries"]) == (2, 2, 1)
    assert metrics["tests_after"] == metrics["tests_before"] + 3
    assert 0 < metrics["coverage_before"] < metrics["coverage_after"] < 100
    assert 0 < metrics["seconds_in_tests"] < shown["seconds"]
    roles = {name: (role["good"], role["bad"]) for name, role in metrics["roles"].items()}
    assert roles["implementer"] == (2, 1) and roles["reviewer"] == (1, 0) and roles["refiner"] == (1, 0)
    assert roles["architect"] == (1, 0) and roles["spec-author"] == (2, 0)
    assert shown["now"] is None and shown["applied"]


def test_what_runs_now_is_told_while_it_runs() -> None:
    state = Build()
    task = BuildTask("1", "Add", ("x",))
    told = [
        (RunStarted("add", "/", "", ""), ()),
        (Tasked((task, replace(task, id="2", after=("1",)))), ("plan",)),
        (Advanced("plan", "tasks"), ()),
        (Advanced("agree", "yes"), ()),
        (Advanced("measure", "measured"), ()),
        (Advanced("next", "task", "1"), ()),
        (Stepped("specify 1", "began", kind="specify", task="1"), ("specify 1",)),
    ]
    for at, (event, path) in enumerate(told):
        state.take(decode_event(type(event).__name__, encode_event(event)), path, 100.0 + at)
    now = describe(state, 109.0)["now"]
    assert now == {
        "step": "specify",
        "task": "1",
        "attempt": 1,
        "role": "spec-author",
        "doing": "",
        "seconds": 3.0,
    }
    state.take(RunEnded("interrupted", "Interrupted."), (), 110.0)
    assert describe(state)["status"] == "interrupted" and describe(state)["now"] is None
    for step, outcome in [("specify", "written"), ("lock", "limit"), ("roll_back", "rolled back")]:
        state.take(Advanced(step, outcome, "1", 1, "it did not work"))
    assert [(piece.state, piece.why) for piece in state.pieces.values()] == [
        ("rolled back", "it did not work"),
        ("skipped", "it depends on task 1"),
    ]
    assert state.step is BuildStep.NEXT and state.upcoming == ""


@pytest.mark.slow
def test_a_small_model_gets_one_failing_test_at_a_time_and_progress_costs_no_retry(pyflakes: Path) -> None:
    right = "return len(Checker(ast.parse(source)).messages)"
    stage = Stage(
        pyflakes,
        script(
            tally__implement=[
                write("pyflakes/tally.py", TALLY_CODE.replace(right, "return None")),
                DONE,
                edit("pyflakes/tally.py", "return None", "return 1"),
                DONE,
                edit("pyflakes/tally.py", "return 1", right),
                DONE,
            ],
            tally__review__1=["Count something."],
            tally__review__2=["Count messages."],
        ),
        replace(PLAIN, max_retries=1),
        small=True,
    )
    assert stage.play().status == "done"
    checks = [step for step in stage.steps if step.startswith("check")]
    assert checks == ["check no", "check better", "check yes"]
    opening, first, second = stage.said_to("tally/implement")
    assert "test_an_unused_import_counts" in first and "test_good_code" not in first
    assert 'self.assertEqual(tally("import os"), 1)' in first, "with its source"
    assert "test_good_code_counts_nothing" in second and "test_an_unused" not in second
    assert len(opening) < 3_000 and one_task()


def test_time_in_tests_is_a_part_of_the_whole() -> None:
    state, ran = Build(), (Ran("pytest", 0, "", 8.0),)
    state.take(Stepped("measure", "began", kind="measure"), ("measure",), 1.0)
    for gate in ("tests", "coverage"):
        state.take(Judged(gate, True, 1, "", ran), ("measure",), 9.0)
    state.take(Stepped("measure", "ended", 10.0, kind="measure"), ("measure",), 11.0)
    assert state.testing == state.seconds == 10.0
    # Killed before it ended: neither its seconds nor its tests count.
    state.take(Stepped("lock 1", "began", kind="lock"), ("lock 1",), 12.0)
    state.take(Judged("tests", True, 1, "", ran), ("lock 1",), 20.0)
    assert state.testing == state.seconds == 10.0
