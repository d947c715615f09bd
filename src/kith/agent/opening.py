"""The first message of a task: what is known beforehand, what the project looks like, and the task itself."""

from kith.context.brief import Fitting, brief, fit_nothing
from kith.context.showing import ALL, Showing
from kith.core.run import Run


async def open_task(
    run: Run,
    task: str,
    budget: int,
    fitting: Fitting = fit_nothing,
    showing: Showing = ALL,
    checks: str = "",
) -> str:
    """The task with what helps to begin, in about `budget` tokens beside its own (times `showing.room`).

    `fitting` is an index's word on which files fit; `checks` says how they stand before the change.
    """
    layout, *rest = await opening_parts(run, task, budget, fitting, showing)
    parts = (layout, ("checks", checks), *rest) if rest else (("checks", checks), layout)
    return join_parts(tuple(part for part in parts if part[1]))


async def opening_parts(
    run: Run, task: str, budget: int, fitting: Fitting = fit_nothing, showing: Showing = ALL
) -> tuple[tuple[str, str], ...]:
    """What `open_task` says, as (name, text) of each part that there is."""
    layout = await brief(run, task, int(budget * showing.room), fitting, showing)
    parts = (("project layout", layout), ("task", f"# Task\n{task}"))
    return tuple((name, text.strip()) for name, text in parts if text.strip())


def join_parts(parts: tuple[tuple[str, str], ...], *more: str) -> str:
    """The parts of a first message as one text, and `more` behind them."""
    return "\n\n".join([*(text for _, text in parts), *more])
