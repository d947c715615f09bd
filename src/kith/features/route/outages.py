"""Remember which models could not be reached lately, and how likely that is still so."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from kith.features.measure.rows import LegRow
from kith.memory.log import Log
from kith.memory.queries import outages_since

_HALF_S: Final = 1_800.0  # after which half of the doubt is left: servers are started again, machines wake
_OLDEST_S: Final = 6 * _HALF_S
_AT_FIRST: Final = 0.95


class Downtime(Struct, frozen=True):
    """A model could not be reached `ago_s` seconds ago, after a wait of `wait_s`.

    `chance`: it still cannot.
    """

    chance: float
    wait_s: float
    ago_s: float


def recall_outages(log: Log, now: float) -> Mapping[str, tuple[float, float]]:
    """The models that could not be reached lately, by the names they were asked as: when, and the wait."""
    return {each.model: (at, each.seconds) for at, each in outages_since(log, now - _OLDEST_S)}


def doubt(
    outage: tuple[float, float] | None, logged: str, legs: Sequence[LegRow], now: float
) -> Downtime | None:
    """Estimate a model's downtime from an outage; None after an answer under its name in the log."""
    if outage is None or any(leg.model == logged and leg.at > outage[0] for leg in legs):
        return None
    ago = max(0.0, now - outage[0])
    return Downtime(_AT_FIRST * 0.5 ** (ago / _HALF_S), outage[1], ago)
