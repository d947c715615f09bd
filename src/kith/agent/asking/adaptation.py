"""How one model is asked for one kind of work: what of a task is put to it in another way than usual."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kith.agent.project import Project
from kith.context.brief import ALL, Showing
from kith.core.model import Role
from kith.memory.past import Past
from kith.memory.session import Listener
from kith.models.stack import Opened
from kith.settings.features import find_part


def _same(words: str) -> str:
    return words


def _same_role(role: Role) -> Role:
    return role


@dataclass(frozen=True, slots=True)
class Adaptation:
    """What is other than usual; the default changes nothing.

    `showing`: what of the project stands in front of the task. `phrase`: what stands around its words.
    `dress`: a role with other tools, sampling, steps or words. All stay the same in every request of a task,
    so that the prompt cache holds.
    """

    id: str = ""
    showing: Showing = ALL
    phrase: Callable[[str], str] = _same
    dress: Callable[[Role], Role] = _same_role


USUAL = Adaptation()


class Adapt(Protocol):
    """Finds how a task of this kind is asked in session `id`, of which `past` tells."""

    def __call__(self, project: Project, opened: Opened, kind: str, id: str, past: Past, /) -> Adaptation: ...


class Settle(Protocol):
    """Learns when a task whose calls were adapted is over; `listeners` hear what is told of that."""

    def __call__(self, project: Project, listeners: Sequence[Listener], /) -> object: ...


def adapt(project: Project, opened: Opened, kind: str, id: str, past: Past) -> Adaptation:
    """How a task is asked, by the feature that learns it; as usual where there is none."""
    find: Adapt | None = find_part(lambda feature: feature.adapt)
    return find(project, opened, kind, id, past) if find else USUAL


def settle(project: Project, past: Past, listeners: Sequence[Listener]) -> None:
    """Let that feature learn from a task that is over, where it had been adapted."""
    if any(call.strategy for call in past.calls):
        conclude: Settle | None = find_part(lambda feature: feature.settle)
        if conclude:
            conclude(project, listeners)
