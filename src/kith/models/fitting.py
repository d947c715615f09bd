"""Seconds as a sum of known quantities, each times a coefficient that is not negative, fitted robustly."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from kith.core.numbers import median

Vector = tuple[float, ...]

_ROUNDS = 3  # of weighing the rows by the last fit; from a former fit on, one is enough
_LEAST_S = 0.005  # shorter times are mostly the clock's
_OUTLIER = 2.0  # robust deviations, beyond which a row counts the less
_LEAST_SPREAD = 0.05  # of relative errors: nothing repeats itself more exactly


class Row(NamedTuple):
    """One measurement: what there was to do (the quantities), the seconds it took, and what that is worth."""

    quantities: Vector
    seconds: float
    weight: float = 1.0


def total(coefficients: Vector, quantities: Vector) -> float:
    """Seconds."""
    return sum(map(float.__mul__, coefficients, quantities))


def fit(rows: Sequence[Row], held: Vector, guess: Vector | None = None) -> Vector | None:
    """Coefficients (seconds for each unit of a quantity), none of them negative; None without any rows.

    Relative errors are made small, as a call of a minute and one of a second shall be foreseen equally well.
    Rows far off count less (Huber's weights: P. Huber, Robust estimation of a location parameter, 1964).
    `held`: how much each quantity's share of the whole is held down while rows do not tell them apart.
    `guess` is a former fit, to begin with.
    """
    if not rows:
        return None
    expected = [total(guess, row.quantities) if guess else row.seconds for row in rows]
    found = guess
    for number in range(_ROUNDS - 1 if guess else 0, _ROUNDS):
        scales = [max(_LEAST_S, each) for each in expected]
        doubts = _doubts(rows, scales) if number else [1.0] * len(rows)
        found = _solve_positive(*_normal_equations(rows, scales, doubts, held))
        expected = [total(found, row.quantities) for row in rows]
    return found


def _doubts(rows: Sequence[Row], scales: Sequence[float]) -> list[float]:
    """Reweigh each row: 1.0 near the fit, less the further away."""
    errors = [abs(row.seconds / scale - 1.0) for row, scale in zip(rows, scales, strict=True)]
    limit = _OUTLIER * max(_LEAST_SPREAD, 1.4826 * median(errors))  # 1.4826: of a normal distribution
    return [1.0 if error <= limit else limit / error for error in errors]


def _normal_equations(
    rows: Sequence[Row], scales: Sequence[float], doubts: Sequence[float], held: Vector
) -> tuple[list[list[float]], list[float]]:
    """The matrix and the right side of weighted least squares with a penalty (ridge)."""
    size = len(held)
    matrix = [[0.0] * size for _ in range(size)]
    right, means, weights = [0.0] * size, [0.0] * size, 0.0
    for row, scale, doubt in zip(rows, scales, doubts, strict=True):
        weight = row.weight * doubt
        shares = [quantity / scale for quantity in row.quantities]
        target = row.seconds / scale
        weights += weight
        for i, share in enumerate(shares):
            weighted = weight * share
            means[i] += weighted
            right[i] += weighted * target
            line = matrix[i]
            for j in range(i + 1):
                line[j] += weighted * shares[j]
    trust = min(1.0, weights)  # what rows of little weight say alone is not held down the more
    for i in range(size):
        matrix[i][i] += trust * held[i] * (means[i] / weights) ** 2 + 1e-12
        for j in range(i):
            matrix[j][i] = matrix[i][j]
    return matrix, right


def _solve_positive(matrix: list[list[float]], right: list[float]) -> Vector:
    """Least squares with positive weights only: the most negative is left out, one after the other."""
    kept = list(range(len(right)))
    while kept:
        found = _solve([[matrix[i][j] for j in kept] for i in kept], [right[i] for i in kept])
        least = min(range(len(kept)), key=found.__getitem__)
        if found[least] >= 0:
            by_place = dict(zip(kept, found, strict=True))
            return tuple(by_place.get(place, 0.0) for place in range(len(right)))
        del kept[least]
    return (0.0,) * len(right)


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Linear equations with a symmetric positive matrix: Cholesky's way."""
    size = len(right)
    lower = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i][j] - sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = math.sqrt(max(rest, 1e-300)) if i == j else rest / lower[j][j]
    half: list[float] = []
    for i in range(size):
        half.append((right[i] - sum(lower[i][k] * half[k] for k in range(i))) / lower[i][i])
    found = [0.0] * size
    for i in reversed(range(size)):
        found[i] = (half[i] - sum(lower[k][i] * found[k] for k in range(i + 1, size))) / lower[i][i]
    return found


def quantile(values: Sequence[tuple[float, float]], share: float) -> float:
    """The value below which `share` of the weight lies; `values` are pairs of value and weight, not empty."""
    ordered = sorted(values)
    limit, passed = share * sum(weight for _, weight in ordered), 0.0
    for value, weight in ordered:
        passed += weight
        if passed >= limit:
            return value
    return ordered[-1][0]
