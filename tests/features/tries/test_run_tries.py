"""Several tries at one task: the best change is adopted, the first proven one ends them."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from kith.agent.project import Result
from kith.features.tries.run_tries import Tried, best_of
from mending import DONE, NEW, OLD, edit
from outside import Kith, Serve, StandIn

pytestmark = pytest.mark.usefixtures("sandbox")

COMMENT = edit(OLD, f"    # as it was\n{OLD}")
LONGER = edit(OLD, f"    # one\n    # two\n{OLD}")


def run(kith: Kith, *words: str, code: int = 0) -> dict[str, Any]:
    return kith.run("--yes", "-m", "ollama/standin", *words, "fix mean", code=code)


@pytest.mark.slow
def test_the_first_proven_try_ends_them_and_is_applied(kith: Kith, serve: Serve) -> None:
    server = serve([COMMENT, DONE, edit(), DONE, COMMENT, DONE])
    report = run(kith, "--best-of", "3")
    assert [each["evidence"] for each in report["tries"]] == ["held", "proven"]
    assert NEW in (kith.folder / "utils.py").read_text() and len(server.requests) == 4
    assert report["evidence"] == "proven" and report["text"] == DONE["calls"][0]["args"]["summary"]


@pytest.mark.slow
def test_no_try_is_announced_after_a_proven_one(kith: Kith, serve: Serve) -> None:
    serve([edit(), DONE, COMMENT, DONE])
    said = kith("run", "--yes", "-m", "ollama/standin", "--best-of", "2", "fix mean").stderr
    assert "Try 1 of 2" in said and "Try 2" not in said


@pytest.mark.slow
def test_each_try_begins_anew_with_a_seed_of_its_own(kith: Kith, serve: Serve) -> None:
    server = serve([COMMENT, DONE] * 2)
    run(kith, "--best-of", "2", "--seed", "7")
    assert [each["options"]["seed"] for each in server.requests] == [7, 7, 8, 8]
    assert [len(each["messages"]) for each in server.requests] == [2, 4, 2, 4]


@pytest.mark.slow
def test_of_equal_evidence_the_smaller_change_is_applied_and_the_others_go(kith: Kith, serve: Serve) -> None:
    serve([LONGER, DONE, COMMENT, DONE])
    report = run(kith, "--best-of", "2")
    assert "# as it was" in (kith.folder / "utils.py").read_text()
    assert report["session"] == report["tries"][1]["session"]
    assert "No change waits" in kith("diff", report["tries"][0]["session"]).stderr


@pytest.mark.slow
def test_a_change_that_is_refused_leaves_all_of_them_waiting(kith: Kith, serve: Serve) -> None:
    serve([LONGER, DONE, COMMENT, DONE])
    report = kith.run("-m", "ollama/standin", "--best-of", "2", "fix mean", code=3)
    for each, words in zip(report["tries"], ("# two", "# as it was"), strict=True):
        assert words in kith("diff", each["session"]).stdout
    assert OLD in (kith.folder / "utils.py").read_text()


@pytest.mark.slow
def test_models_on_two_servers_try_side_by_side(
    kith: Kith, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, list[float]] = {"ollama": [], "vllm": []}

    def script(name: str, *replies: dict[str, Any]) -> Callable[[Any], dict[str, Any]]:
        left = iter(replies)

        def reply(request: Any) -> dict[str, Any]:
            asked[name].append(time.monotonic())
            return {**next(left), "delay": 1.0}

        return reply

    stand_in(script("ollama", COMMENT, DONE))
    stand_in(script("vllm", edit(), DONE), "vllm")
    report = run(kith, "--also", "openai/standin")
    first, second = asked.values()
    assert first[0] < second[-1] and second[0] < first[-1]
    assert report["evidence"] == "proven"


def test_without_any_change_the_last_try_speaks(kith: Kith, serve: Serve) -> None:
    serve(["Nothing is wrong.", "All is well."])
    report = run(kith, "--best-of", "2")
    assert report["text"] == "All is well." and [each["lines"] for each in report["tries"]] == [0, 0]


@pytest.mark.parametrize(
    "words",
    [
        ["--best-of", "17"],
        ["--best-of", "2", "--read-only"],
        ["--also", "a/b", "--output-schema", "a.json"],
        ["--best-of", "0"],
    ],
)
def test_what_makes_no_sense_is_refused(kith: Kith, words: list[str]) -> None:
    assert kith("run", "-m", "ollama/standin", *words, "fix mean", code=2).stderr.startswith("kith: ")


def test_proven_comes_before_held_and_held_before_small() -> None:
    def tried(number: int, evidence: str, lines: int, waiting: str = "trial") -> Tried:
        changes = [{"added": lines, "removed": 0}]
        report = {"evidence": evidence, "changes": changes, "waiting": waiting}
        return Tried(number, "model", number, "session", Result(6, report))

    every = [tried(1, "unproven", 1), tried(2, "held", 9), tried(3, "held", 4), tried(4, "proven", 50)]
    assert [getattr(best_of(every[:upto]), "number", 0) for upto in (0, 1, 2, 3, 4)] == [0, 1, 2, 3, 4]
    assert best_of([tried(1, "proven", 1, waiting="")]) is None
