"""The first message of a task: what the project looks like, what it asks of agents, and the task itself."""

from kith.context.brief import Fitting, brief, fit_nothing
from kith.context.budget import estimate_tokens, fit_middle
from kith.context.showing import ALL, Showing
from kith.core.errors import TreeError
from kith.core.run import Run

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")
CHARS_PER_TOKEN = 3


async def open_task(
    run: Run, task: str, budget: int, fitting: Fitting = fit_nothing, showing: Showing = ALL
) -> str:
    """The task with what helps to begin, in about `budget` tokens beside its own (times `showing.room`).

    `fitting` is an index's word on which files fit.
    """
    return "\n\n".join(text for _, text in await opening_parts(run, task, budget, fitting, showing))


async def opening_parts(
    run: Run, task: str, budget: int, fitting: Fitting = fit_nothing, showing: Showing = ALL
) -> tuple[tuple[str, str], ...]:
    """What `open_task` says, as (name, text) of each part that there is."""
    budget = int(budget * showing.room)
    notes = await _instructions(run, budget // 3)
    layout = await brief(run, task, budget - estimate_tokens(notes), fitting, showing)
    parts = (("project layout", layout), ("project notes", notes), ("task", f"# Task\n{task}"))
    return tuple((name, text.strip()) for name, text in parts if text.strip())


async def _instructions(run: Run, budget: int) -> str:
    """The project's own notes for agents; they are advice of the repository, not of the person."""
    for name in INSTRUCTION_FILES:
        try:
            data = await run.workspace.read(name)
        except TreeError:  # there is none, or it is no text file
            continue
        if b"\0" not in data:
            text = fit_middle(data.decode("utf-8", "replace"), budget * CHARS_PER_TOKEN)
            return f"# Notes of the project ({name})\n{text}"
    return ""
