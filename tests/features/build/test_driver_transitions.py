"""The table: every outcome has its row, every step is reached and ends, and the document shows it."""

from typing import get_args, get_type_hints

import pytest

from kith.features.build.driver import STEPS
from kith.features.build.state import ENDS, TRANSITIONS, WRITES, BuildStep
from places import ROOT

DOCUMENT = ROOT / "docs" / "build.md"


def outcomes_of(step: BuildStep) -> set[str]:
    """What a step's function can say, by its own annotation."""
    outcome, _ = get_args(get_type_hints(STEPS[step])["return"])
    return set(get_args(outcome))


@pytest.mark.parametrize("step", STEPS)
def test_every_outcome_of_a_step_has_exactly_one_row(step: BuildStep) -> None:
    assert outcomes_of(step) == {outcome for from_, outcome in TRANSITIONS if from_ is step}


def test_every_step_is_done_by_somebody_or_is_an_end() -> None:
    assert STEPS.keys() == set(BuildStep) - ENDS
    assert not ENDS & WRITES


def reached_from(step: BuildStep) -> set[BuildStep]:
    found, left = {step}, [step]
    while left:
        here = left.pop()
        after = {to for (from_, _), to in TRANSITIONS.items() if from_ is here} - found
        found |= after
        left += after
    return found


def test_every_step_is_reached_and_comes_to_an_end() -> None:
    assert reached_from(BuildStep.PLAN) == set(BuildStep)
    assert all(BuildStep.DONE in reached_from(step) for step in STEPS)
    assert not any(step in ENDS for step, _ in TRANSITIONS)


def draw() -> str:
    """The table as a Mermaid state diagram."""
    arrows: dict[tuple[BuildStep, BuildStep], list[str]] = {}
    for (step, outcome), after in TRANSITIONS.items():
        arrows.setdefault((step, after), []).append(outcome)
    lines = [f"    {step} --> {after}: {', '.join(outcomes)}" for (step, after), outcomes in arrows.items()]
    ends = [f"    {end} --> [*]" for end in BuildStep if end in ENDS]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {BuildStep.PLAN}", *lines, *ends])


def test_the_document_shows_the_table() -> None:
    assert f"```mermaid\n{draw()}\n```" in DOCUMENT.read_text("utf-8")
