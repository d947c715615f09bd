"""Write a task's first message to the model, the checks, and the news."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kith.agent.judges import Judges, Stands
from kith.agent.project import Project
from kith.context.brief import ALL, FindFitting, Showing, brief, know_nothing
from kith.context.budget import fit_middle, output_room
from kith.core.event_loop import leave
from kith.core.model import Tool, ToolFn
from kith.core.non_answers import TASK_HEADING
from kith.core.run import Run
from kith.core.values import Ran, ToolResult
from kith.edits.pieces import tell_left_out
from kith.gates.reports import SuiteReport
from kith.gates.runners.python import PYTEST
from kith.memory.applied import holds
from kith.memory.past import Past

# The first message of a task: what is known beforehand, what the project looks like, and the task
# itself.


async def no_checks() -> str:
    """Nothing is told of checks."""
    return ""


async def open_task(
    run: Run,
    task: str,
    budget: int,
    known: FindFitting = know_nothing,
    showing: Showing = ALL,
    tell_checks: Callable[[], Awaitable[str]] = no_checks,
) -> str:
    """The task with what helps to begin, in about `budget` tokens beside its own (times `showing.room`).

    `known` scores files by the index; `tell_checks` gives the checks' results before the change. Both are
    waited for while the tree is looked at.
    """
    telling = asyncio.ensure_future(tell_checks())
    try:
        layout, *rest = await opening_parts(run, task, budget, known, showing)
        checks = await telling
    finally:
        await leave(telling)
    parts = (layout, ("checks", checks), *rest) if rest else (("checks", checks), layout)
    return join_parts(tuple(part for part in parts if part[1]))


async def opening_parts(
    run: Run, task: str, budget: int, known: FindFitting = know_nothing, showing: Showing = ALL
) -> tuple[tuple[str, str], ...]:
    """Return the parts of `open_task`, as (name, text) of each non-empty part."""
    layout = await brief(run, task, int(budget * showing.room), known, showing)
    parts = (("project layout", layout), ("task", f"{TASK_HEADING}\n{task}"))
    return tuple((name, text.strip()) for name, text in parts if text.strip())


def join_parts(parts: tuple[tuple[str, str], ...], *more: str) -> str:
    """The parts of a first message as one text, and `more` behind them."""
    return "\n\n".join([*(text for _, text in parts), *more])


NOT_APPLIED: Final = "Your last change was not applied: the files are as they were before it."
ELSEWHERE: Final = "Another model finished your last task. It changed"
PARTLY: Final = "Of your last change the person kept only a part:"
SAID: Final = "They said of it:"
TAKEN_BACK: Final = "Your last change was taken back: the files are as they were before it."
LATER: Final = "Since then, these files were changed:"
READ_AGAIN: Final = "Read before you edit them again."
_MOST: Final = 12_000  # characters of all that the person ran


def with_news(project: Project, past: Past, words: str, window: int) -> str:
    """A task's words, after what the model has to know before it reads them."""
    news = news_of(project, past.last, output_room(window, _MOST)) if past.last and past.threads else ""
    return "\n\n".join(filter(None, (news, tell_commands(past.untold, window), words)))


def news_of(project: Project, last: Past, room: int = _MOST) -> str:
    """Tell the model how its last change ended; "" when it was applied as it was."""
    if last.started and last.started.options.news is not None:
        return last.started.options.news
    if not last.applied:
        return _with_words(NOT_APPLIED, last) if last.touched else ""
    if not holds(project.log.applied(str(project.root)), last.applied[-1].change_id):
        return TAKEN_BACK
    kept = last.applied[-1].files
    if any(each.after for each in last.routes):
        return name_files(ELSEWHERE, (file.path for file in kept))
    if last.proposed and kept != last.proposed:
        told = f"{PARTLY}\n{tell_left_out(last.proposed, kept, room // 2)}"
        return f"{_with_words(told, last)}\n{READ_AGAIN}"
    return ""


def _with_words(told: str, last: Past) -> str:
    """Add the person's comment on their decision."""
    said = last.said
    if said is None or not said.text or said.unasked or said.choice == "revise":
        return told  # what sends a change back is a message of its own
    return f"{told}\n{SAID} {said.text}"


def name_files(what: str, paths: Iterable[str]) -> str:
    """A sentence that ends in these files, and what to do about them."""
    return f"{what} {', '.join(paths)}. {READ_AGAIN}"


def tell_commands(ran: Sequence[Ran], window: int) -> str:
    """The commands that the person ran, with as much output as a window of so many tokens carries."""
    room = output_room(window, _MOST) // max(1, len(ran))
    return "\n\n".join(_told(each, room) for each in ran)


def _told(ran: Ran, room: int) -> str:
    output = fit_middle(ran.output.strip("\n"), room)
    fence = "`" * max(3, _longest_run(output) + 1)
    shown = f"\n{fence}\n{output}\n{fence}" if output else " (it printed nothing)"
    return f"I ran `{ran.command}` (exit code {ran.code}):{shown}"


def _longest_run(text: str) -> int:
    """The longest run of backticks at the beginning of a line."""
    return max((len(line) - len(line.lstrip("`")) for line in text.split("\n")), default=0)


# How the checks stand before the change, told to the model once: at the start, or with a tool's result.

WAIT_S: Final = 1.5  # for the checks of the untouched tree, before the model is asked without them
_STEP_S: Final = 0.05
# Characters of a command; of a longer one only what runs the tests of a tree that is built.
_SHOWN: Final = 400


class ToldChecks:
    """The checks that the model was told of, and the results still to tell."""

    def __init__(self, judges: Judges) -> None:
        self._judges = judges
        self._open: frozenset[str] = frozenset()  # commands that the model was told of, without a result

    async def first_words(self) -> str:
        """A line for each check, for the first message ("" for none), after a short wait for results."""
        stands = await self._judges.stands()
        for _ in range(int(WAIT_S / _STEP_S)):
            if all(each.before for each in stands):
                break
            await asyncio.sleep(_STEP_S)
            stands = await self._judges.stands()
        is_open = any(each.before is None for each in stands)
        self._open = frozenset(map(_word_command, stands)) if is_open else frozenset()
        return "\n".join(filter(None, map(word_stands, stands)))

    async def news(self) -> str:
        """Return the results of checks that were still running when first told; "" otherwise."""
        if not self._open:
            return ""
        stands = await self._judges.stands()
        if any(each.before is None for each in stands):
            return ""
        known, self._open = self._open, frozenset()
        return "\n".join(filter(None, (word_stands(each, known) for each in stands)))

    def telling(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """The same tools; the first result after the checks have ended says how."""
        return tuple(replace(tool, fn=self._telling(tool.fn)) for tool in tools)

    def _telling(self, use: ToolFn) -> ToolFn:
        async def tell(args: Mapping[str, Any], run: Run) -> ToolResult:
            result = await use(args, run)
            if result.detail.get("final"):
                return result
            words = await self.news()
            return replace(result, text=f"{result.text}\n\n[{words}]") if words else result

        return tell


def word_stands(stands: Stands, known: Collection[str] = ()) -> str:
    """Word a check and its result for the model; `known` are the commands that it was told of."""
    command = _word_command(stands)
    checks = f"kith checks your whole change with {command} when you end."
    if stands.before is None:
        return f"{checks} It runs on the unchanged files now; the result follows."
    result = _word_result(stands.before.report)
    if not result:
        return ""
    return (
        f"Before your change {command}: {result}." if command in known else f"{checks} Before it: {result}."
    )


def _word_result(report: SuiteReport) -> str:
    """Word the result of a check of the unchanged files; "" where it tells nothing."""
    if report.cases:
        failed = f", {len(report.failed)} fail (not yours)" if report.failed else ""
        passed = len(report.passed)
        return f"{passed} {'test passes' if passed == 1 else 'tests pass'}{failed}"
    if report.problem:
        return ""
    return "succeeds" if report.ok else f"fails with exit code {report.ran.code} (not yours)"


def _word_command(stands: Stands) -> str:
    """The command as the model can run it: pytest stops before the first test if a file cannot be loaded."""
    toolchain = stands.toolchain
    line = toolchain.test if len(toolchain.test) <= _SHOWN else toolchain.from_top(toolchain.run)
    failed = stands.before.report.failed if stands.before else ()
    unloaded = toolchain.runner is PYTEST and any(case.id.endswith(".py") for case in failed)
    return f"`{line} --continue-on-collection-errors`" if unloaded else f"`{line}`"
