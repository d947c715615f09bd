"""What the first request of a task would cost, part by part, before anything is asked."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from kith.core.model import Prompt, Role
from kith.core.values import say


@dataclass(frozen=True, slots=True)
class Cost:
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
