"""The machine of a build: its steps, and one table that says which step follows what came of another."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Step(StrEnum):
    """What a build may be doing; the last three are its ends."""

    PLAN = "plan"  # the architect cuts the request into tasks
    AGREE = "agree"  # the person reads them, edits them, says yes
    MEASURE = "measure"  # the untouched project's tests run: what passes now must pass at the end
    NEXT = "next"  # the first task whose turn it is
    SPECIFY = "specify"  # the spec author writes the task's tests
    LOCK = "lock"  # they must run, and fail for the right reason; from then on nobody may touch them
    IMPLEMENT = "implement"  # the implementer makes them pass
    CHECK = "check"  # all tests and gates
    REVIEW = "review"  # the reviewer reads the failure and gives one instruction
    ROLL_BACK = "roll_back"  # everything is as it was before the task
    REFINE = "refine"  # the refiner makes the change simpler
    WEIGH = "weigh"  # all tests and gates once more: the simpler version is kept or thrown away
    FINISH = "finish"  # everything on the whole change, and its coverage
    APPROVE = "approve"  # the person reads one diff
    APPLY = "apply"  # the user's tree is changed, once
    COMMIT = "commit"  # only where it was asked for
    DONE = "done"
    FAILED = "failed"
    REJECTED = "rejected"


ENDS: Final = frozenset({Step.DONE, Step.FAILED, Step.REJECTED})
# Steps that leave the trial's files other than they found them: a checkpoint follows. Where a guard of the
# tests puts files back, one follows too.
WRITES: Final = frozenset({Step.SPECIFY, Step.IMPLEMENT, Step.REFINE, Step.APPROVE})

TRANSITIONS: Final[Mapping[tuple[Step, str], Step]] = {
    (Step.PLAN, "tasks"): Step.AGREE,
    (Step.PLAN, "faulty"): Step.PLAN,
    (Step.PLAN, "limit"): Step.FAILED,
    (Step.AGREE, "yes"): Step.MEASURE,
    (Step.AGREE, "revise"): Step.PLAN,
    (Step.AGREE, "no"): Step.REJECTED,
    (Step.MEASURE, "measured"): Step.NEXT,
    (Step.MEASURE, "no"): Step.REJECTED,
    (Step.MEASURE, "unmeasured"): Step.FAILED,
    (Step.NEXT, "task"): Step.SPECIFY,
    (Step.NEXT, "finished"): Step.FINISH,
    (Step.NEXT, "nothing"): Step.FAILED,
    (Step.SPECIFY, "written"): Step.LOCK,
    (Step.LOCK, "locked"): Step.IMPLEMENT,
    (Step.LOCK, "wrong"): Step.SPECIFY,
    (Step.LOCK, "limit"): Step.ROLL_BACK,
    (Step.LOCK, "untestable"): Step.FAILED,
    (Step.IMPLEMENT, "written"): Step.CHECK,
    (Step.CHECK, "yes"): Step.REFINE,
    (Step.CHECK, "better"): Step.REVIEW,
    (Step.CHECK, "no"): Step.REVIEW,
    (Step.CHECK, "limit"): Step.ROLL_BACK,
    (Step.REVIEW, "advised"): Step.IMPLEMENT,
    (Step.ROLL_BACK, "rolled back"): Step.NEXT,
    (Step.REFINE, "written"): Step.WEIGH,
    (Step.REFINE, "skipped"): Step.NEXT,
    (Step.WEIGH, "kept"): Step.NEXT,
    (Step.WEIGH, "discarded"): Step.NEXT,
    (Step.WEIGH, "unchanged"): Step.NEXT,
    (Step.FINISH, "yes"): Step.APPROVE,
    (Step.FINISH, "no"): Step.FAILED,
    (Step.APPROVE, "yes"): Step.APPLY,
    (Step.APPROVE, "revise"): Step.IMPLEMENT,
    (Step.APPROVE, "no"): Step.REJECTED,
    (Step.APPLY, "applied"): Step.COMMIT,
    (Step.COMMIT, "committed"): Step.DONE,
    (Step.COMMIT, "skipped"): Step.DONE,
}


def draw() -> str:
    """The table as a Mermaid state diagram."""
    arrows: dict[tuple[Step, Step], list[str]] = {}
    for (step, outcome), after in TRANSITIONS.items():
        arrows.setdefault((step, after), []).append(outcome)
    lines = [f"    {step} --> {after}: {', '.join(outcomes)}" for (step, after), outcomes in arrows.items()]
    ends = [f"    {end} --> [*]" for end in Step if end in ENDS]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {Step.PLAN}", *lines, *ends])
