"""How long replies are, in tokens: a lognormal distribution for each purpose, which forgets."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

FORGET: Final = 0.98  # what a call is worth, once another has come
_UNKNOWN: Final = (math.log(150.0), 1.2)  # of replies nobody knows: the mean of logarithms, their deviation
_BELIEVED: Final = 2.0  # calls that such a belief counts for
_DOUBT: Final = 0.5  # what another purpose adds to the deviation
_TENTH: Final = 1.2816  # deviations, beyond which a tenth of a normal distribution lies


@dataclass(slots=True)
class _Seen:
    """The replies of one purpose: their weight, the mean of their logarithms, and of the squares of these."""

    weight: float = 0.0
    mean: float = 0.0
    square: float = 0.0

    def take(self, out: int) -> None:
        value = math.log(max(1, out))
        self.weight = FORGET * self.weight + 1.0
        self.mean += (value - self.mean) / self.weight
        self.square += (value * value - self.square) / self.weight

    def with_belief(self, mean: float, spread: float, weight: float = _BELIEVED) -> tuple[float, float]:
        """The mean and the deviation, if so many calls had been as somebody believes."""
        whole = self.weight + weight
        middle = (self.weight * self.mean + weight * mean) / whole
        square = (self.weight * self.square + weight * (mean**2 + spread**2)) / whole
        return middle, math.sqrt(max(0.0, square - middle * middle))


@dataclass(slots=True)
class Lengths:
    """The replies of one model, by purpose."""

    _seen: dict[str, _Seen] = field(default_factory=dict)

    def take(self, purpose: str, out: int) -> None:
        """Note one reply's tokens."""
        self._seen.setdefault(purpose, _Seen()).take(out)

    def foresee(self, purpose: str, most: int | None = None) -> tuple[float, float, float]:
        """Tokens: one of ten replies has fewer than the first, five than the second, nine than the last.

        `most`: none has more.
        """
        middle, spread = (self._seen.get(purpose) or _Seen()).with_belief(*self._belief())
        low, usual, high = (math.exp(middle + each * spread) for each in (-_TENTH, 0.0, _TENTH))
        return (min(low, most), min(usual, most), min(high, most)) if most else (low, usual, high)

    def _belief(self) -> tuple[float, float]:
        """What is believed of a purpose nobody has asked for yet: as replies are in all, and less sure."""
        weight = sum(each.weight for each in self._seen.values())
        if not weight:
            return _UNKNOWN
        mean = sum(each.weight * each.mean for each in self._seen.values()) / weight
        square = sum(each.weight * each.square for each in self._seen.values()) / weight
        return mean, math.sqrt(max(0.0, square - mean * mean)) + _DOUBT

    def to_facts(self) -> dict[str, list[float]]:
        """As plain data."""
        rows = ((purpose, (of.weight, of.mean, of.square)) for purpose, of in self._seen.items())
        return {purpose: [round(each, 4) for each in figures] for purpose, figures in rows}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Sequence[Any]]) -> "Lengths":
        """What `to_facts` wrote. Raises TypeError, ValueError, AttributeError for anything else."""
        return cls({purpose: _Seen(*map(float, figures)) for purpose, figures in facts.items()})
