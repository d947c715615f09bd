"""The worker of a task: in which words it is told who it is, with which tools, played by which model."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kith.agent.asking.adaptation import USUAL, Adaptation
from kith.agent.asking.roles import find_role, in_own_words, make_player
from kith.agent.asking.routes import find_router
from kith.agent.asking.terms import Terms, budget_of
from kith.agent.knowledge import Knowledge, offers_skills, skill_tool, with_nested
from kith.agent.project import Project
from kith.agent.roles import offer
from kith.core.model import Prompt, Role, Tool
from kith.core.run import Thread
from kith.core.values import Message
from kith.memory.past import Past
from kith.models.account import Account
from kith.models.stack import Opened
from kith.settings.features import features
from kith.tools import ReadLimits, standard_tools
from kith.tools.symbols import Look


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
    added = tuple(tool.load() for feature in features() for tool in feature.tools)
    added += project.servers.tools(opened.window) if project.servers else ()
    added = terms.hook(added, opened) if terms else added
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


def _since(thread: Thread, begin: int) -> Sequence[Message]:
    """What a conversation holds by now, without its beginning."""
    return thread.messages[begin:]


def _summed_up(past: Past) -> int:
    """How many messages of the conversation a summary stands for: notes among them are told anew."""
    return max((e.upto for e in past.compacted if e.summary and e.thread == past.thread), default=0)


def _delegation_tools(terms: Terms, opened: Opened) -> tuple[Tool, ...]:
    """What a model in the cloud hands work to local ones with, where some were named."""
    router = find_router() if opened.facts.cloud and terms.project.settings.route.local else None
    return router.errands(terms, opened) if router else ()
