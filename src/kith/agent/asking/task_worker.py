"""The worker of a task: its role, its tools, its model, and how that model is asked for this kind of work."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.asking.roles import find_role, in_own_words, make_player
from kith.agent.asking.routes import find_router
from kith.agent.asking.terms import Terms, budget_of
from kith.agent.knowledge import Knowledge, offers_skills, skill_tool, with_nested
from kith.agent.project import Project
from kith.agent.roles import offer
from kith.context.brief import ALL, Showing
from kith.core.events import Event
from kith.core.feature import Lazy
from kith.core.model import Emit, Prompt, Role, Tool
from kith.core.run import Thread
from kith.core.values import Message
from kith.memory.past import Past
from kith.memory.session import Listener
from kith.models.account import Account
from kith.models.stack import Opened
from kith.settings.features import features, find_part
from kith.tools import ReadLimits, standard_tools
from kith.tools.symbols import Look

# How one model is asked for one kind of work: what of a task is put to it in another way than usual.


def _same(words: str) -> str:
    return words


def _nothing(words: str) -> str:
    return ""


def _same_role(role: Role) -> Role:
    return role


class Adaptation(Struct, frozen=True):
    """Changes to the usual way of asking; the default changes nothing.

    `showing`: the excerpts of the project in front of the task. `phrase`: the text around the task.
    `dress`: a role with other tools, sampling, steps or words. All stay the same in every request of a task,
    so that the prompt cache holds. `tell`: what a person should know of it, from the task's own words.
    """

    id: str = ""
    showing: Showing = ALL
    phrase: Callable[[str], str] = _same
    dress: Callable[[Role], Role] = _same_role
    tell: Callable[[str], str] = _nothing


USUAL = Adaptation()


# Gives the tools of a feature for a project; what is amiss is emitted.
OfferTools = Callable[[Project, Emit], tuple[Tool, ...]]


class Adapt(Protocol):
    """Finds how a task of this kind is asked in session `id`, of which `past` tells."""

    def __call__(self, project: Project, opened: Opened, kind: str, id: str, past: Past, /) -> Adaptation: ...


class Settle(Protocol):
    """Learns when a task whose calls were adapted is over; `listeners` hear what is told of that."""

    def __call__(self, project: Project, listeners: Sequence[Listener], /) -> object: ...


def adapt(project: Project, opened: Opened, kind: str, id: str, past: Past) -> Adaptation:
    """Find how a task is asked, by the feature that learns it; as usual where there is none."""
    find: Adapt | None = find_part(lambda feature: feature.adapt)
    return find(project, opened, kind, id, past) if find else USUAL


def settle(project: Project, past: Past, listeners: Sequence[Listener]) -> None:
    """Let that feature learn from a task that is over, where it had been adapted."""
    if any(call.strategy for call in past.calls):
        conclude: Settle | None = find_part(lambda feature: feature.settle)
        if conclude:
            conclude(project, listeners)


def make_worker(
    project: Project,
    opened: Opened,
    past: Past,
    known: Knowledge,
    look: Look | None = None,
    terms: Terms | None = None,
    adaptation: Adaptation = USUAL,
    thread: Thread | None = None,
) -> Role:
    """The worker, played by `opened`; `look` asks the index, `terms` are those of the session if it has one.

    `thread` is the conversation so far, which keeps the tools that it began with. Tools of features
    come behind kith's own, and last those of servers, as far as these are connected.
    """
    said = thread.messages if thread else ()
    tools = standard_tools(past.todo, look=look, limits=ReadLimits.of_window(opened.window))
    tools += _delegation_tools(terms, opened) if terms else ()
    tools += (skill_tool(known, opened.window),) if offers_skills(known, said) else ()
    if terms:
        model, tools = terms.wrap(opened, past.compacted), terms.show(opened, tools)
    else:
        model = opened.wrap(Account(budget_of(project.settings)), past.compacted)
    added = _tools_of_features(project, tools, terms.run.emit if terms and not said else _ignore)
    outside = project.servers.tools(opened.window) if project.servers else ()
    added = terms.show(opened, added) + terms.hook(outside, opened) if terms else added + outside
    spec = offer(in_own_words(find_role("worker", project.settings), project.settings), added)
    veiled = terms is not None and terms.veils(opened)
    player = make_player(project, spec, opened, model, tools + added, veiled=veiled)
    role = adaptation.dress(player.role)
    if terms and thread:
        known_since = partial(_since, thread, _summed_up(past))
        telling = with_nested(project, role.tools, known_since, opened.window, terms.run.emit)
        role = replace(role, tools=telling)
    if (read := past.read) and read.model == opened.facts.name:
        sent = Prompt(role.system, tuple(past.threads[read.thread][: read.messages]), role.tools)
        opened.recall(sent, past.compacted[: read.compactions], read.tokens)
    return role


def _tools_of_features(project: Project, own: Sequence[Tool], emit: Emit) -> tuple[Tool, ...]:
    """The tools of features, each name once and none of kith's `own`; `emit` hears what is amiss."""
    names = {tool.name for tool in own}
    found = list[Tool]()
    for part in (part for feature in features() for part in feature.tools):
        for tool in _tools(part, project, emit):
            if tool.name not in names:
                names.add(tool.name)
                found.append(tool)
    return tuple(found)


def _tools(part: Lazy[Any], project: Project, emit: Emit) -> tuple[Tool, ...]:
    """The tools that a feature's part is, or gives for this project."""
    found = part.load()
    if isinstance(found, Tool):
        return (found,)
    give: OfferTools = found
    return give(project, emit)


def _ignore(event: Event) -> None:
    """The emit where nobody is told again."""


def _since(thread: Thread, begin: int) -> Sequence[Message]:
    """Return a conversation without its beginning."""
    return thread.messages[begin:]


def _summed_up(past: Past) -> int:
    """Count the messages that a summary replaces: notes among them are repeated."""
    return max((e.upto for e in past.compacted if e.summary and e.thread == past.thread), default=0)


def _delegation_tools(terms: Terms, opened: Opened) -> tuple[Tool, ...]:
    """Return the tools by which a cloud model delegates work to local ones, if some are named."""
    router = find_router() if opened.facts.cloud and terms.project.settings.route.local else None
    return router.errands(terms, opened) if router else ()
