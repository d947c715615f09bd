"""Choose the strategy for a task, and apply it to the task's prompt."""

from collections.abc import Collection
from functools import partial
from typing import Final

from msgspec import field
from msgspec.structs import replace

from kith.agent.asking.task_worker import USUAL, Adaptation
from kith.agent.project import Project
from kith.context.brief import Showing
from kith.core.errors import LimitError
from kith.core.model import Emit, Prompt, Role, Wrapped
from kith.core.values import Reply, Sampling
from kith.features.coach import CoachSettings
from kith.features.coach.sequential_test import Pair
from kith.features.coach.strategy import (
    ORIGINAL,
    Coaching,
    EditForm,
    Levers,
    Strategy,
    choose,
    key_of,
    phrase,
    read_coaching,
    tell_way,
)
from kith.memory.past import Past
from kith.models.stack import Opened

# Without these tools a reply without tool calls ends the loop, and its edits are taken from its text.
_WRITING: Final = frozenset({"edit", "write", "done"})
_BLOCKS: Final = """\
You have no tools to edit. When you know the change, answer once without tool calls, with one block per edit:
path/to/file
<<<<<<< SEARCH
old lines, exactly
=======
new lines
>>>>>>> REPLACE
"""
_WHOLE: Final = """\
You have no tools to edit. When you know the change, answer once without tool calls. Give each file that
changes whole, with nothing left out: its path on a line of its own, directly below it a fenced block with the
new content:
path/to/file
```
all of the file
```
"""
_FORMS: Final[dict[EditForm, str]] = {"tools": "", "blocks": _BLOCKS, "whole": _WHOLE}
_SPLIT: Final = (
    "Work on one function at a time: say in one line what it has to do, change it, check it, then go on.\n"
)


class Stamped(Wrapped, frozen=True, eq=False):
    """`model`, whose calls are told with the id of the way in which it is asked.

    `steps`: calls that one attempt may have (0: as many as the run lets it).
    """

    strategy: str
    steps: int = 0
    _taken: dict[int, int] = field(default_factory=dict)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises what the model raises, and LimitError when the steps of the attempt are spent."""
        taken = self._taken[prompt.attempt] = self._taken.get(prompt.attempt, 0) + 1
        if 0 < self.steps < taken:
            raise LimitError(f"stopped after {self.steps} steps, the limit")
        return await self.model(replace(prompt, strategy=self.strategy), emit)


def adaptation_of(strategy: Strategy, pairs: Collection[Pair] = ()) -> Adaptation:
    """The strategy as the kernel applies it to a task; `pairs`: what its trials found."""
    if not strategy.id:
        return USUAL
    return Adaptation(
        strategy.id,
        look_at(strategy),
        partial(phrase, levers=strategy.levers),
        partial(dress, strategy=strategy),
        partial(tell_way, strategy, pairs),
    )


def look_at(strategy: Strategy) -> Showing:
    """Return the excerpts of the project to show before the task."""
    levers = strategy.levers
    return Showing(levers.room, levers.files, levers.signatures)


def dress(role: Role, strategy: Strategy) -> Role:
    """The role as this strategy asks it; the original one leaves it as it is."""
    if not strategy.id:
        return role
    levers = strategy.levers
    writes = any(tool.name in _WRITING for tool in role.tools)
    form = levers.edits if writes else "tools"  # a role that only reads has nothing to write edits for
    kept = role.tools if form == "tools" else tuple(t for t in role.tools if t.name not in _WRITING)
    words = _FORMS[form] + (_SPLIT if levers.split else "")
    return replace(
        role,
        system=f"{role.system.rstrip()}\n\n{words}" if words else role.system,
        tools=kept,
        sampling=_sample(role.sampling, levers),
        model=Stamped(role.model, strategy.id, levers.steps),
    )


def _sample(sampling: Sampling, levers: Levers) -> Sampling:
    """The sampling with what the strategy sets."""
    names = ("temperature", "top_p", "min_p", "max_tokens", "think")
    chosen = {name: getattr(levers, name) for name in names}
    return replace(sampling, **{name: value for name, value in chosen.items() if value is not None})


# The way in which one task is asked: the one that won, a canary, or the one its conversation began in.


def adapt(project: Project, opened: Opened, kind: str, id: str, past: Past) -> Adaptation:
    """The way in which a task of this kind is asked in session `id`, as the kernel applies it.

    A conversation keeps the strategy that it began with, so its prompt prefix stays cached. Otherwise the
    adopted one, or for a share `coach.live` of the sessions the canary. `coach.original` overrides all that.
    """
    settings = project.settings.section(CoachSettings)
    if settings.original:
        return USUAL
    coaching = read_coaching(project.log)
    key = key_of(opened.facts.digest, opened.facts.name)
    earlier = past.calls or (past.last.calls if past.last else [])
    if calls := [call for call in earlier if call.model == opened.facts.name]:
        return adaptation_of(_find(coaching, key, calls[-1].strategy))
    ways = coaching.ways.get((key, kind))
    strategy = choose(ways, settings.live, id) if ways else ORIGINAL
    return adaptation_of(strategy, coaching.pairs.get(((key, kind), strategy.id), {}).values())


def _find(coaching: Coaching, key: str, id: str) -> Strategy:
    """The way with this id, whatever became of it since."""
    for (digest, _), ways in coaching.ways.items():
        if digest == key and (found := ways.recall(id)):
            return found
    return ORIGINAL
