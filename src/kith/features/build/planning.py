"""The first steps of a build: tasks, the person's yes to them, and how the untouched project stands."""

from typing import Final, Literal

from kith.core.events import Judged, Locked, Notice, Tasked
from kith.core.run import new_id
from kith.core.values import Question
from kith.features.build.judging import measures
from kith.features.build.prompts import AGAIN, tell_left
from kith.features.build.suite import GATE, run_tests
from kith.features.build.tasks import in_order, parse_tasks, read_tasks, render_tasks
from kith.features.build.work import Work, begin, speak

_PLANS: Final = 3  # tries to write a list of tasks that has no fault
_TRUST: Final = "Run this project's build and tests without a sandbox? They run its code on your machine."


async def plan(work: Work) -> tuple[Literal["tasks", "faulty", "limit"], str]:
    """The architect cuts the request into tasks."""
    attempt, last = work.build.attempt, work.build.last
    thread, player = work.thread("plan"), await work.cast("architect")
    await begin(work, player, thread, f"{last.text}\n\n{AGAIN}" if last else work.request)
    stopped = await speak(work, player, thread, writes=False)
    tasks, fault = parse_tasks(thread.last_words, work.options.max_tasks)
    if tasks:
        work.tell(Tasked(in_order(tasks)))
        return "tasks", ""
    if stopped or attempt >= _PLANS:
        return "limit", f"The architect wrote no usable tasks: {stopped or fault}"
    return "faulty", fault


async def agree(work: Work) -> tuple[Literal["yes", "revise", "no"], str]:
    """The person reads the tasks, may edit them or ask for others."""
    if not work.options.agree:
        return "yes", ""
    text, draft = "Go on with these tasks?", render_tasks(work.build.tasks)
    while True:
        choices = ("yes", "no", "edit", "revise")
        answer = await work.run.ask(Question(new_id(), "plan", text, choices, draft=draft))
        match answer.choice:
            case "yes":
                return "yes", ""
            case "revise" if answer.text:
                return "revise", answer.text
            case "edit":
                tasks, fault = read_tasks(answer.text, work.options.max_tasks)
                if tasks:
                    work.tell(Tasked(in_order(tasks)))
                    return "yes", ""
                text, draft = f"{fault} Go on with the tasks as they were?", answer.text
            case _:
                return "no", f"The tasks were not carried out: {answer.text or 'you said no to them'}."


async def measure(work: Work) -> tuple[Literal["measured", "no", "unmeasured"], str]:
    """The untouched project's tests run: what passes now must pass at the end."""
    if not await _may_run(work):
        return "no", "Nothing was built: this project's tests may not run here."
    toolchains = await work.toolchains()
    if not toolchains:
        work.run.emit(Notice("This project has no tests yet; the first ones say how they are run."))
        work.tell(Locked(""))
        return "measured", ""
    report = await run_tests(work.run, toolchains, work.options.suite, coverage=await measures(work))
    skipped = bool(report.problem)
    work.tell(
        Judged(
            GATE,
            report.ok or skipped,
            0,
            report.problem,
            (report.ran,),
            when="before",
            skipped=skipped,
            figures=report.figures,
        )
    )
    if work.options.coverage and report.coverage is None and not skipped:
        # Better now than after an hour of work, at whose end nobody could say whether it is enough.
        why = report.unmeasured or "no report of it came of the tests"
        return (
            "unmeasured",
            f"Nothing was built: coverage cannot be measured here: {why}. --coverage 0 does without.",
        )
    work.tell(Locked("", tests=tuple(sorted(report.passed))))
    return "measured", ""


async def _may_run(work: Work) -> bool:
    if work.run.workspace.confined or work.options.trusted:
        return True
    answer = await work.run.ask(Question(new_id(), "trust", _TRUST, ("yes", "no")))
    return answer.choice == "yes"


async def choose(work: Work) -> tuple[Literal["task", "finished", "nothing"], str]:
    """The next task in the order of their dependencies."""
    if work.build.upcoming:
        return "task", ""
    if work.build.done:
        return "finished", ""
    return "nothing", f"Nothing was applied: none of the tasks could be done. {tell_left(work.build)}"
