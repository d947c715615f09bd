"""Who confers, what that may cost, and what has been said so far."""

import asyncio
import random
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

from kith.core.council_threads import council_thread
from kith.core.decisions import Claimed
from kith.core.loops import leave
from kith.core.model import Billed, Role
from kith.core.run import Thread
from kith.core.values import Charge
from kith.features.confer.council import UNTIL, Proposal, Round, Seat

T = TypeVar("T")
LEAST: Final = 160  # tokens of a reply; with less room nobody is asked


@dataclass(frozen=True, slots=True)
class Member:
    """One of a council: where its model runs, who it is, and how often its work was good so far (0 to 1)."""

    seat: Seat
    role: Role
    cloud: bool = False
    ability: float = 0.5

    @property
    def label(self) -> str:
        return self.seat.label

    @property
    def name(self) -> str:
        """The model's name: for the person, never for another member."""
        return self.role.model.name


@dataclass(slots=True)
class Ledger:
    """What a council may use in tokens (new ones read, and written), and what each member has used of it."""

    tokens: int
    spent: int = 0
    usd: float = 0.0
    costs: dict[str, tuple[float, float]] = field(default_factory=dict)  # by label
    first: dict[str, int] = field(default_factory=dict)  # by label: tokens of its first call

    def left(self, round: Round) -> int:
        """Tokens that may be used until the round's end."""
        return max(0, int(self.tokens * UNTIL[round]) - self.spent)

    def cost(self, label: str) -> tuple[float, float]:
        """US dollars and seconds of a member's calls."""
        return self.costs.get(label, (0.0, 0.0))

    def bill(self, label: str, role: Role) -> Role:
        """The role as a member plays it, whose calls are taken down here."""
        return replace(role, model=Billed(role.model, partial(self._take, label)))

    def _take(self, label: str, charge: Charge) -> None:
        used = charge.computed
        self.spent += used
        self.usd += charge.usd or 0.0
        self.first.setdefault(label, used)
        usd, seconds = self.cost(label)
        self.costs[label] = (usd + (charge.usd or 0.0), seconds + charge.timing.total_s)


@dataclass(frozen=True, slots=True)
class Council:
    """One council at work: what never changes first, then what its rounds fill in.

    `facts` is what all members are shown: the project as far as it matters, and the question. `tested`: plans
    will be carried out, and tests decide. `hurry` is set when the person wants a decision with what is there.
    `work` is what it costs to carry plans out, `silent` says why a member is asked no more, and `short` names
    rounds for which the tokens did not last.
    """

    id: str
    kind: str
    question: str
    facts: str
    members: dict[str, Member]
    ledger: Ledger
    tested: bool = False
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    work: Ledger = field(default_factory=lambda: Ledger(0))
    threads: dict[str, Thread] = field(default_factory=dict)
    proposals: dict[str, Proposal] = field(default_factory=dict)
    claims: list[Claimed] = field(default_factory=list)
    silent: dict[str, str] = field(default_factory=dict)
    revised: list[str] = field(default_factory=list)
    short: list[Round] = field(default_factory=list)

    def thread(self, label: str) -> Thread:
        """The conversation with a member."""
        return self.threads.setdefault(label, Thread(council_thread(self.id, label)))


def draw_labels(number: int) -> list[str]:
    """A, B, C ... in an order that nobody chose."""
    labels = [chr(ord("A") + at) for at in range(number)]
    return random.sample(labels, number)


async def unless_hurried(hurry: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """What the work returns; None when somebody was in a hurry meanwhile, and it was cut short."""
    task, waiter = asyncio.ensure_future(work), asyncio.ensure_future(hurry.wait())
    try:
        await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        await leave(waiter, task)
