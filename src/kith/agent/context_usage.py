"""Measure what fills a model's context window, make room in it, and count what another model reads."""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import reduce
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.asking.task_worker import make_worker
from kith.agent.asking.terms import Terms
from kith.agent.index import look_nowhere
from kith.agent.knowledge import gather, opening_of
from kith.agent.project import Project, with_servers
from kith.agent.task_prompt import opening_parts
from kith.agent.tasks import THREAD, first_worker, open_first
from kith.context.brief import EXCERPTS, HEADING
from kith.context.budget import estimate_tokens, opening_room
from kith.context.compact import NAMED, View, opening, show
from kith.context.notes import HEADING as SKILLS
from kith.context.notes import OF_PROJECT, OF_USER, part_notes
from kith.context.uses import USES
from kith.core.events import Compacted
from kith.core.model import Prompt, Role
from kith.core.run import Answerer, Thread, quiet_run
from kith.core.values import Message, Part, Text, Thinking, ToolCall, ToolResult, Usage, say
from kith.memory.past import Past
from kith.memory.session import Session
from kith.models.stack import Opened

# What the messages of a conversation are made of, so that a person sees what fills the window.

YOUR_NOTES, PROJECT_NOTES, LAYOUT = "your notes", "project notes", "project layout"
FILES_NAMED = "files that you named"  # they follow the task
_PARTS: Final[Mapping[str, str]] = {
    OF_USER: YOUR_NOTES,
    OF_PROJECT: PROJECT_NOTES,
    SKILLS: "skills",
    NAMED: FILES_NAMED,
    HEADING: LAYOUT,
    USES: LAYOUT,
    EXCERPTS: LAYOUT,
    "# Task": "your words",
}
_HEADINGS: Final = re.compile(rf"^(?:{'|'.join(map(re.escape, _PARTS))})(?= \(|$)", re.MULTILINE)


def weigh_parts(messages: Sequence[Message], *, thinking: bool = False) -> dict[str, int]:
    """Estimated tokens of each sort of thing that is said, in the order in which the sorts first appear.

    `thinking`: former thoughts are sent, too.
    """
    weights: Counter[str] = Counter()
    tools = {call.id: call.name for message in messages for call in message.calls}
    begins = opening(messages) - 1
    for place, message in enumerate(messages):
        for part in message.parts:
            if place == begins and isinstance(part, Text):
                found = [*split_opening(part.text)]
            else:
                found = [*_sorts(message, part, tools, thinking=thinking)]
            for name, text in found:
                weights[name] += estimate_tokens(text)
    return {name: tokens for name, tokens in weights.items() if tokens}


def split_opening(text: str) -> Iterator[tuple[str, str]]:
    """The parts of a first message, by their headings: (name, text)."""
    marks = [(found.start(), _PARTS[found[0]]) for found in _HEADINGS.finditer(text)]
    task = max((at for at, name in marks if name == "your words"), default=len(text))
    marks = [mark for mark in marks if mark[0] <= task or mark[1] == FILES_NAMED]
    if before := text[: marks[0][0] if marks else len(text)]:
        yield "your words", before
    for (at, name), (end, _) in zip(marks, [*marks, (len(text), "")][1:], strict=True):
        yield name, text[at:end]


def _sorts(
    message: Message, part: Part, tools: Mapping[str, str], *, thinking: bool
) -> Iterator[tuple[str, str]]:
    match part:
        case ToolResult():
            text, notes = part_notes(part)
            yield f"results of {tools.get(part.call_id, 'tools')}", text
            yield PROJECT_NOTES, notes
        case ToolCall():
            yield "calls of tools", f"{part.name}{json.dumps(dict(part.args), default=str)}"
        case Thinking():
            yield "thoughts", part.text if thinking else ""
        case Text() if message.role == "user":
            yield "your words" if message.author == "person" else "checks and hints", part.text
        case Text():
            yield "answers", part.text


# What the first request of a task would cost, part by part, before anything is asked.


class Cost(Struct, frozen=True):
    """One part of a prompt, in tokens; `tool`: it is the definition of a single tool."""

    part: str
    tokens: int
    tool: bool = False


async def explain(
    role: Role, parts: Sequence[tuple[str, str]], count: Callable[[Prompt], Awaitable[int]]
) -> tuple[Cost, ...]:
    """The cost of each part of the prompt that begins with `parts` (name and text), in the order it is read.

    The prompt is counted as it grows, part by part, so that the chat template's own words are in the figures
    too. `count` gives a prompt's tokens.
    """
    grown = [(Cost("system prompt, template", 0), Prompt(role.system, (say(""),)))]
    for number, tool in enumerate(role.tools, 1):
        prompt = Prompt(role.system, (say(""),), role.tools[:number])
        grown.append((Cost(f"tool {tool.name}", 0, tool=True), prompt))
    said = ""
    for name, text in parts:
        said = f"{said}\n\n{text}".strip()
        grown.append((Cost(name, 0), Prompt(role.system, (say(said),), role.tools)))
    costs, before = [], 0
    for cost, prompt in grown:
        tokens = await count(prompt)
        costs.append(replace(cost, tokens=max(0, tokens - before)))
        before = max(tokens, before)
    return tuple(costs)


class Explained(Struct, frozen=True):
    """The tokens of a request, part by part; `exact` when the server counted them.

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
        """The rest of the window, for later messages and replies."""
        return max(0, self.window - self.used)


async def explain_task(project: Project, task: str) -> Explained:
    """Break down the tokens of a task's first request, without sending it. Raises KithError."""
    async with with_servers(project) as project, aclosing(await open_first(project)) as opened:
        if project.servers:
            await project.servers.served()
        return await _explain_first(project, opened, task)


async def explain_conversation(project: Project, past: Past, opened: Opened) -> Explained:
    """Break down the tokens of a conversation's next request, without the next message; nothing is sent.

    The server counts system prompt and tools if it can. The messages are counted as a whole, which their
    parts share by estimate. Raises KithError.
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
    run = quiet_run(project.tree)
    parts = await opening_parts(run, task, opening_room(opened.window)) if task else ()
    role = first_worker(project, opened)
    costs = await explain(role, (*known, *parts), opened.count)
    return Explained(opened.facts.name, opened.window, await _is_exact(opened, role), costs)


async def _is_exact(opened: Opened, role: Role) -> bool:
    return await opened.provider.count(Prompt(role.system, (say("hi"),))) is not None


def _said(past: Past) -> tuple[Message, ...]:
    """The conversation that the next task continues."""
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


# A conversation summed up because its person wants room, before its model's window is full.


async def compact_now(
    project: Project, session: Session, opened: Opened, answerer: Answerer
) -> Compacted | None:
    """Let an opened model sum up an open session's conversation; None where that makes it no shorter.

    It reads the prompt that it has read already, and its summary replaces that from now on. Raises
    ModelError.
    """
    past = session.past()
    said = tuple(past.threads.get(THREAD, ()))
    if not said:
        return None
    run = project.begin(session, answerer)
    terms = Terms(project, run, session.id)
    await terms.admit(opened)
    look = look_nowhere if past.symbols else None
    known, thread = gather(project.settings), Thread(THREAD, said)
    role = make_worker(project, opened, past, known, look, terms, thread=thread)
    prompt = Prompt(role.system, said, role.tools, sampling=role.sampling, thread=THREAD)
    return await opened.sum_up(prompt, past.compacted, terms.account, terms.permit, run.emit)


# Another model in the middle of a conversation: what it has to read anew, and what that takes.


class Reading(Struct, frozen=True):
    """The cost of reading another model's conversation: tokens (an estimate), seconds and dollars.

    None: unknown. `fits`: the window holds it completely.
    """

    tokens: int
    fits: bool
    seconds: float | None = None
    usd: float | None = None


def read_anew(opened: Opened, past: Past, thread: str) -> Reading | None:
    """Estimate the reading of `opened`'s next request; None where nothing was said yet."""
    messages = tuple(past.threads.get(thread, ()))
    if not messages:
        return None
    prompt = Prompt("", messages)
    tokens = opened.counter.estimate(prompt)
    forecast = opened.foresight.expect(prompt) if opened.foresight else None
    usd = opened.price(opened.facts.name, Usage(tokens)) if opened.facts.cloud else None
    fits = not opened.window or tokens < opened.window
    return Reading(tokens, fits, forecast.mid_s if forecast else None, usd)
