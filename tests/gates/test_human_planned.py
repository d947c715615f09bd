"""The question about a change that leaves the agreed plan."""

import asyncio

from kith.core.run import Run
from kith.core.values import Answer, Change, Plan, Question, Verdict
from kith.gates.human import human_gate

A, B = Change("a.py", b"1\n", b"2\n"), Change("b.py", b"1\n", b"2\n")
PLAN = Plan(("x",), modify=("a.py",))


def decided(plan: Plan | None, *changes: Change, choice: str = "planned") -> tuple[Question, Verdict]:
    asked: list[Question] = []

    async def answer(question: Question) -> Answer:
        asked.append(question)
        return Answer(choice)

    run = Run(lambda event, path: None, answer, None, plan=plan)  # type: ignore[arg-type]
    verdict = asyncio.run(human_gate()(run, changes))
    return asked[0], verdict


def test_files_are_marked_and_those_outside_are_named() -> None:
    question, _ = decided(PLAN, A, B)
    assert [file.planned for file in question.files] == [True, False]
    assert "planned" in question.choices and "b.py" in question.warnings[-1]


def test_planned_keeps_the_files_of_the_plan() -> None:
    assert decided(PLAN, A, B)[1].changes == (A,)


def test_a_change_all_in_or_all_out_offers_no_part() -> None:
    assert "planned" not in decided(PLAN, A, choice="all")[0].choices
    question, _ = decided(PLAN, B, choice="all")
    assert "planned" not in question.choices and question.warnings


def test_without_a_plan_nothing_is_marked() -> None:
    question, _ = decided(None, A, B, choice="all")
    assert [file.planned for file in question.files] == [None, None] and not question.warnings
