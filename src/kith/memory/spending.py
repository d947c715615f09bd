"""What was paid today, and what is usual; read from the log, so by all sessions and processes together."""

from dataclasses import dataclass
from datetime import datetime

from kith.core.numbers import median
from kith.memory.log import Log


@dataclass(frozen=True, slots=True)
class Usual:
    """What a session with a model cost in US dollars, the one in the middle of so many."""

    usd: float
    sessions: int


def paid_today(log: Log, now: datetime | None = None, *, kind: str = "") -> float:
    """US dollars since midnight, by the clock and calendar of this machine; `kind`: by one command only."""
    midnight = (now or datetime.now()).replace(hour=0, minute=0, second=0, microsecond=0)
    return log.paid(midnight.timestamp(), kind)


def usual_cost(log: Log, model: str) -> Usual | None:
    """What sessions with a model have cost; None when none has yet."""
    paid = log.paid_by_session(model)
    return Usual(median(paid), len(paid)) if paid else None
