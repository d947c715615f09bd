"""What fills a model's window: before the first request of a task, and in the middle of a conversation."""

from contextlib import aclosing
from dataclasses import dataclass

from kith.app.knowledge import gather, opening_of
from kith.app.project import Project
from kith.app.tasks import first_worker, open_first
from kith.context.rooms import opening_room
from kith.core.model import Prompt
from kith.core.run import Run
from kith.core.values import Answer, Question, say
from kith.workflows.explain import Cost, explain
from kith.workflows.opening import opening_parts


@dataclass(frozen=True, slots=True)
class Explained:
    """What the first request of a task would cost, in tokens; `exact` when the server counted them."""

    model: str
    window: int
    exact: bool
    costs: tuple[Cost, ...]


async def explain_task(project: Project, task: str) -> Explained:
    """What the first request of a task would cost; it is not sent. Raises KithError."""
    async with aclosing(await open_first(project)) as opened:
        run = Run(lambda event, path: None, _nobody, project.tree)
        known = opening_of(gather(project.settings), opened.window)
        parts = await opening_parts(run, task, opening_room(opened.window))
        role = first_worker(project, opened)
        exact = await opened.provider.count(Prompt(role.system, (say("hi"),))) is not None
        costs = await explain(role, (*known, *parts), opened.count)
    return Explained(opened.facts.name, opened.window, exact, costs)


async def _nobody(question: Question) -> Answer:
    return Answer("no")
