"""Learn how the look of a task's words, and its project, move the chance that a model solves it."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct, field

from kith.features.measure.intervals import Beta, chance_of, logit

# Long problems, many digits, or a traceback are easier for one model than for another. What words mean helps
# no further: on open tables of outcomes, hashed words in place of these five features gained nothing.

_SPREAD: Final = 1.0  # logits for one unit of a feature, before anything is known
_LEAST: Final = 0.01  # no chance is nearer to 0 or 1
_MOST: Final = 30.0  # logits
_SIZE: Final = 5
# Logits that all tasks of a model may be easier than counted, and those of one project. Without the first, a
# model that got the easy tasks would be believed to be good at all.
_LEVEL: Final = 0.25
_PROJECT: Final = 0.5
Looks = tuple[float, ...]


def looks_of(words: str) -> Looks:
    """Length, lines, digits, code and errors; each is of the order of one."""
    size = len(words)
    lines, digits = words.count("\n") / (size + 1), sum(map(str.isdigit, words)) / (size + 1)
    code, errors = "```" in words or "def " in words, "Traceback" in words or "Error" in words
    return math.log1p(size) - 6.5, 40 * lines, 10 * digits, float(code), float(errors)


def _begin() -> list[list[float]]:
    width = range(_SIZE + 1)
    return [[_SPREAD**2 * (row == column) for column in width] for row in width]


class Difficulty(Struct):
    """Weights of the features for one model, with their covariance: a logistic regression, learned online.

    Each outcome is one step of a Gaussian approximation (W. Penny, S. Roberts, Dynamic logistic regression,
    1999). The chance without these features is given, so that only differences from it are learned. The last
    weight is that of all tasks; `projects` has how much easier each project is, and the variance of that.
    """

    weights: list[float] = field(default_factory=lambda: [0.0] * (_SIZE + 1))
    covariance: list[list[float]] = field(default_factory=_begin)
    projects: dict[str, tuple[float, float]] = field(default_factory=dict)

    def learn(self, looks: Looks, reward: float, usual: float, project: str = "") -> None:
        """Learn from an outcome (0 to 1) of a task whose usual chance is known."""
        moved, variance, along = self._look(looks)
        easier, doubt = self._project(project)
        chance = _chance(_logit(usual) + moved + easier)
        slope = max(chance * (1 - chance), 1e-3)
        gain = slope / (1 + slope * (variance + doubt))
        step = (reward - chance) * gain / slope
        self.weights = [weight + each * step for weight, each in zip(self.weights, along, strict=True)]
        for row, one in zip(self.covariance, along, strict=True):
            for column, other in enumerate(along):
                row[column] -= gain * one * other
        if project:
            self.projects[project] = easier + doubt * step, doubt - gain * doubt**2

    def move(self, belief: Beta, looks: Looks, project: str = "") -> Beta:
        """The belief about a task that looks so, as sure as before."""
        moved, variance, _ = self._look(looks)
        easier, doubt = self._project(project)
        moved, variance = moved + easier, variance + doubt
        # Averaged over what is not known of the weights (D. MacKay, The evidence framework, 1992).
        mean = _chance((_logit(belief.mean) + moved) / math.sqrt(1 + math.pi * variance / 8))
        mean = min(max(mean, _LEAST), 1 - _LEAST)
        return Beta(mean * belief.mass, (1 - mean) * belief.mass)

    def _look(self, looks: Looks) -> tuple[float, float, list[float]]:
        seen = (*looks, _LEVEL)
        along = [_dot(row, seen) for row in self.covariance]
        return _dot(self.weights, seen), _dot(along, seen), along

    def _project(self, project: str) -> tuple[float, float]:
        return self.projects.get(project, (0.0, _PROJECT**2)) if project else (0.0, 0.0)


def _dot(one: Iterable[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _chance(logit: float) -> float:
    return chance_of(min(max(logit, -_MOST), _MOST))


def _logit(chance: float) -> float:
    return logit(min(max(chance, _LEAST), 1 - _LEAST))


class Usual(Struct):
    """The looks of the tasks so far, in the middle: features count by how far they are from it."""

    sums: list[float] = field(default_factory=lambda: [0.0] * _SIZE)
    tasks: float = 10.0  # at first a middle of zero is believed in

    def add(self, looks: Looks) -> None:
        self.sums = [a + b for a, b in zip(self.sums, looks, strict=True)]
        self.tasks += 1

    def apart(self, looks: Looks) -> Looks:
        """The difference from the usual ones."""
        return tuple(each - total / self.tasks for each, total in zip(looks, self.sums, strict=True))
