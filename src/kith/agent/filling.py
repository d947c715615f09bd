"""What fills a model's window: before the first request of a task, and in the middle of a conversation."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import reduce

from kith.agent.asking.worker import make_worker
from kith.agent.explain import Cost, explain
from kith.agent.filled import weigh_parts
from kith.agent.held_servers import with_servers
from kith.agent.index import look_nowhere
from kith.agent.knowledge import gather, opening_of
from kith.agent.opening import opening_parts
from kith.agent.project import Project
from kith.agent.tasks import THREAD, first_worker, open_first
from kith.context.compact import View, show
from kith.context.rooms import opening_room
from kith.core.model import Prompt, Role
from kith.core.run import Run, Thread
from kith.core.values import Answer, Message, Question, say
from kith.memory.past import Past
from kith.models.stack import Opened


@dataclass(frozen=True, slots=True)
class Explained:
    """What a request costs, part by part, in tokens; `exact` when the server counted them.

    `window` is 0 where nobody knows it.
    """

    model: str
    window: int
    exact: bool
    costs: tuple[Cost, ...]

    @property
    def used(self) -> int:
        """The tokens of all parts together."""
        return sum(cost.tokens for cost in self.costs)

    @property
    def free(self) -> int:
        """What is left of the window for what comes, replies included."""
        return max(0, self.window - self.used)


async def explain_task(project: Project, task: str) -> Explained:
    """What the first request of a task would cost; it is not sent. Raises KithError."""
    async with with_servers(project) as project, aclosing(await open_first(project)) as opened:
        if project.servers:
            await project.servers.served()
        return await _explain_first(project, opened, task)


async def explain_conversation(project: Project, past: Past, opened: Opened) -> Explained:
    """What the next request of a conversation holds, without the person's next words; it is not sent.

    System prompt and tools are counted by the server where it can; what was said is counted as a whole, and
    its parts share that by estimate. Raises KithError.
    """
    said = _said(past)
    if not said:
        return await _explain_first(project, opened, "")
    look = look_nowhere if past.symbols else None
    role = make_worker(project, opened, past, gather(project.settings), look, thread=Thread("", said))
    steps = [each for each in past.compacted if each.thread == past.thread]
    sent = show(said, reduce(View.after, steps, View()))
    costs = await _count_all(opened, role, sent)
    return Explained(opened.facts.name, opened.window, await _is_exact(opened, role), costs)


async def _explain_first(project: Project, opened: Opened, task: str) -> Explained:
    known = opening_of(gather(project.settings), opened.window)
    run = Run(lambda event, path: None, _nobody, project.tree)
    parts = await opening_parts(run, task, opening_room(opened.window)) if task else ()
    role = first_worker(project, opened)
    costs = await explain(role, (*known, *parts), opened.count)
    return Explained(opened.facts.name, opened.window, await _is_exact(opened, role), costs)


async def _is_exact(opened: Opened, role: Role) -> bool:
    return await opened.provider.count(Prompt(role.system, (say("hi"),))) is not None


def _said(past: Past) -> tuple[Message, ...]:
    """The conversation that goes on with the next task."""
    return tuple(past.threads.get(past.thread or THREAD, ()))


async def _count_all(opened: Opened, role: Role, sent: Sequence[Message]) -> tuple[Cost, ...]:
    """The system prompt, the tools, and the sorts of what is sent."""
    system = await opened.count(Prompt(role.system, (say(""),)))
    tools = await opened.count(Prompt(role.system, (say(""),), role.tools))
    whole = await opened.count(Prompt(role.system, tuple(sent), role.tools))
    weights = weigh_parts(sent, thinking=opened.counter.thinking)
    scale = max(0, whole - tools) / max(1, sum(weights.values()))
    parts = (Cost(name, round(tokens * scale)) for name, tokens in weights.items())
    named = f"{len(role.tools)} tools"
    return (Cost("system prompt, template", system), Cost(named, max(0, tools - system)), *parts)


async def _nobody(question: Question) -> Answer:
    return Answer("no")
