"""Predict how long a call takes, learned from the calls before it: load, queue, reading and writing."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.numbers import median
from kith.models.forecasts import Forecast, Took

# Seconds as a sum of known quantities, each times a coefficient that is not negative, fitted robustly.


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


# Predict how long a call takes, learned from the calls before it: load, queue, reading and writing.


FORGET: Final = 0.98  # what a call is worth, once another has come
_UNKNOWN: Final = (math.log(150.0), 1.2)  # of replies nobody knows: the mean of logarithms, their deviation
_BELIEVED: Final = 2.0  # calls that such a belief counts for
_OTHER: Final = 0.5  # what another purpose adds to the deviation
_TENTH: Final = 1.2816  # deviations, beyond which a tenth of a normal distribution lies


class _Moments(Struct):
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


class Lengths(Struct):
    """The replies of one model, by purpose."""

    _seen: dict[str, _Moments] = field(default_factory=dict)

    def take(self, purpose: str, out: int) -> None:
        """Note one reply's tokens."""
        self._seen.setdefault(purpose, _Moments()).take(out)

    def foresee(self, purpose: str, most: int | None = None) -> tuple[float, float, float]:
        """Tokens: one of ten replies has fewer than the first, five than the second, nine than the last.

        `most`: none has more.
        """
        middle, spread = (self._seen.get(purpose) or _Moments()).with_belief(*self._belief())
        low, usual, high = (math.exp(middle + each * spread) for each in (-_TENTH, 0.0, _TENTH))
        return (min(low, most), min(usual, most), min(high, most)) if most else (low, usual, high)

    def _belief(self) -> tuple[float, float]:
        """Estimate a purpose without data: the average of all replies, with more spread."""
        weight = sum(each.weight for each in self._seen.values())
        if not weight:
            return _UNKNOWN
        mean = sum(each.weight * each.mean for each in self._seen.values()) / weight
        square = sum(each.weight * each.square for each in self._seen.values()) / weight
        return mean, math.sqrt(max(0.0, square - mean * mean)) + _OTHER

    def to_facts(self) -> dict[str, list[float]]:
        """As plain data."""
        rows = ((purpose, (of.weight, of.mean, of.square)) for purpose, of in self._seen.items())
        return {purpose: [round(each, 4) for each in figures] for purpose, figures in rows}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Sequence[Any]]) -> "Lengths":
        """Read the output of `to_facts`. Raises TypeError, ValueError, AttributeError for anything else."""
        return cls({purpose: _Moments(*map(float, figures)) for purpose, figures in facts.items()})


# --- how long calls take -------------------------------------------------------------------------


_KEPT = 48  # calls
_ERRORS = 64  # relative errors that an interval is made of
_LOADS = 8  # loads of the model
_ASIDE = 200  # calls that a supposition is older than what is measured
_CHANGED = 4  # calls in a row that all err to one side, and by this much: things are no longer as they were
_MUCH = math.log(1.4)
_DOUBT = (math.log(0.6), math.log(1.8))  # errors that are believed in before any is known
_LOW, _HIGH = 0.1, 0.9
# How much a share of the whole is held down: at first all of it is put down to the tokens themselves.
_READ_HELD: Final = (0.02, 0.0005, 0.01)
_WRITE_HELD: Final = (0.0005, 0.01)
_SLOWER: Final = 20.0  # times: a token is written so much slower than read, while nothing is known


class Latency(Struct):
    """The measured times of one model on one machine, empty or from `from_facts`."""

    count: int = 0  # calls so far; the age of a call is counted in calls
    lengths: Lengths = field(default_factory=Lengths)
    _calls: list[tuple[int, Took]] = field(default_factory=list)
    _errors: list[float] = field(default_factory=list)  # logarithms of measured by foreseen, newest last
    _loads: list[float] = field(default_factory=list)
    _reading: Vector | None = None
    _writing: Vector | None = None
    _way: float = 0.0  # seconds there and back

    @property
    def knows(self) -> bool:
        """True if a forecast is possible."""
        return self._reading is not None or self._writing is not None

    # --- learning ------------------------------------------------------------------------------

    def take(self, took: Took, *, purpose: str = "", load_s: float = 0.0) -> None:
        """Learn from a call. `load_s`: how long the model was loaded for it, if it was."""
        foreseen = self.seconds_of(took.new, took.cached, took.out)
        if took.read_s <= 0 and took.write_s <= 0:
            took = self._split(took)
        if foreseen and took.seconds > 0:
            self._errors = [*self._errors, math.log(took.seconds / foreseen)][-_ERRORS:]
        if load_s > 0:
            self._loads = [*self._loads, load_s][-_LOADS:]
        if took.out > 0:
            self.lengths.take(purpose, took.out)
        self.count += 1
        self._calls = _kept([*self._calls, (self.count, took)])
        if self._has_changed():
            self._set_aside()
        self._fit()

    def suppose(self, *tooks: Took, aside: bool = True) -> None:
        """Begin with calls that somebody else measured. `aside`: what is measured here counts for more."""
        born = self.count - _ASIDE if aside else self.count
        self._calls = _kept([*((born, took) for took in tooks), *self._calls])
        self._fit()

    def suppose_rates(self, read_rate: float, write_rate: float) -> None:
        """Begin with tokens a second, read and written; 0.0 is unknown."""
        if read_rate > 0:
            self.suppose(Took(1000, 0, 0, 1000 / read_rate, 0.0))
        if write_rate > 0:
            self.suppose(Took(0, 1000, 101, 0.0, 100 / write_rate))

    def _split(self, took: Took) -> Took:
        """A call of which only the whole time is known, divided as such calls are."""
        read, write = self._parts(took.new, took.cached, took.out)
        if read + write <= 0:
            read, write = float(took.new), _SLOWER * took.out
        share = read / (read + write) if read + write > 0 else 0.0
        return replace(took, read_s=share * took.rest_s, write_s=(1 - share) * took.rest_s, rest_s=0.0)

    def _has_changed(self) -> bool:
        """True if the last calls all took much longer, or all much shorter, than expected."""
        last = self._errors[-_CHANGED:]
        return len(last) == _CHANGED and (min(last) > _MUCH or max(last) < -_MUCH)

    def _set_aside(self) -> None:
        """Let what was before the last calls count for little: the machine, or the server, is another now."""
        since = self.count - _CHANGED
        self._calls = [(born if born > since else born - _ASIDE, took) for born, took in self._calls]
        self._errors = self._errors[:-_CHANGED]

    def _fit(self) -> None:
        reads = [
            Row(_to_read(took.new, took.cached), took.read_s, self._weight(born))
            for born, took in self._calls
            if took.new > 0 and took.read_s > 0
        ]
        writes = [
            Row(_to_write(took.new + took.cached, took.out), took.write_s, self._weight(born))
            for born, took in self._calls
            if took.out > 1 and took.write_s > 0
        ]
        self._reading = fit(reads, _READ_HELD, self._reading)
        self._writing = fit(writes, _WRITE_HELD, self._writing)
        ways = [(took.rest_s, self._weight(born)) for born, took in self._calls if took.rest_s > 0]
        self._way = quantile(ways, 0.5) if ways else 0.0

    def _weight(self, born: int) -> float:
        return FORGET ** (self.count - born)

    # --- foreseeing ----------------------------------------------------------------------------

    def seconds_of(self, new: int, cached: int, out: float) -> float:
        """The likely seconds of a call, without load and queue; 0.0 while nothing is known."""
        return sum(self._parts(new, cached, out))

    def _parts(self, new: int, cached: int, out: float) -> tuple[float, float]:
        reading = total(self._reading, _to_read(new, cached)) if self._reading and new > 0 else 0.0
        writing = total(self._writing, _to_write(new + cached, out)) if self._writing else 0.0
        return (reading + self._way if self.knows else 0.0), writing

    def foresee(
        self,
        new: int,
        cached: int,
        out: int | None = None,
        *,
        cold: bool = False,
        queue_s: float = 0.0,
        purpose: str = "",
        most: int | None = None,
    ) -> Forecast | None:
        """Forecast a call; None while nothing is known of this model here.

        `new` and `cached`: the prompt's tokens that must be read, and that the server has. `out`: those
        of the reply, if known; else as many as replies for this purpose had, and `most` at most. `cold`:
        the model must be loaded first.
        """
        if not self.knows:
            return None
        shortest, middle, longest = (
            (float(out),) * 3 if out is not None else self.lengths.foresee(purpose, most)
        )
        read, write = self._parts(new, cached, middle)
        usual = read + write
        down, up = self._spread()
        least, greatest = (max(1e-6, self.seconds_of(new, cached, each)) for each in (shortest, longest))
        down = math.hypot(down, math.log(max(usual, 1e-6) / least))
        up = math.hypot(up, math.log(greatest / max(usual, 1e-6)))
        load = median(self._loads) if cold and self._loads else 0.0
        waits = load + queue_s
        return Forecast(
            waits + usual * math.exp(-down),
            waits + usual,
            waits + usual * math.exp(up),
            load,
            queue_s,
            read,
            write,
            new,
            cached,
            round(middle),
        )

    def _spread(self) -> tuple[float, float]:
        """Return the spread of the times, down and up, as positive logarithms."""
        newest = len(self._errors) - 1
        errors = [(error, FORGET ** (newest - at)) for at, error in enumerate(self._errors)]
        errors += [(each, 1.0) for each in _DOUBT]
        return max(0.02, -quantile(errors, _LOW)), max(0.02, quantile(errors, _HIGH))

    # --- as plain data -------------------------------------------------------------------------

    def to_facts(self) -> dict[str, Any]:
        """Convert to facts for the model's card."""
        return {
            "count": self.count,
            "calls": [_write_call(born, took) for born, took in self._calls],
            "errors": [round(each, 3) for each in self._errors],
            "loads": [round(each, 3) for each in self._loads],
            "lengths": self.lengths.to_facts(),
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Latency":
        """Read the output of `to_facts`; unreadable parts are left out."""
        try:
            found = cls(
                int(facts.get("count", 0)),
                Lengths.from_facts(facts.get("lengths", {})),
                [_read_call(*figures) for figures in facts.get("calls", ())],
                [float(each) for each in facts.get("errors", ())],
                [float(each) for each in facts.get("loads", ())],
            )
        except (TypeError, ValueError, AttributeError):  # a card that another version wrote
            return cls()
        found._fit()
        return found


def _to_read(new: int, cached: int) -> Vector:
    return 1.0, float(new), new * (cached + new / 2)


def _to_write(prompt: int, out: float) -> Vector:
    # The first token comes out of the reading.
    steps = max(0.0, out - 1.0)
    return steps, steps * (prompt + out / 2)


def _kept(calls: list[tuple[int, Took]]) -> list[tuple[int, Took]]:
    """The calls that are remembered: of those that are much alike the oldest go first.

    So a long row of small calls does not make it forget what a large one takes.
    """
    while len(calls) > _KEPT:
        counts = Counter(_likeness(took) for _, took in calls)
        crowd = max(counts, key=counts.__getitem__)
        alike = (at for at, (_, took) in enumerate(calls) if _likeness(took) == crowd)
        oldest = min(alike, key=lambda at: calls[at][0])
        del calls[oldest]
    return calls


def _likeness(took: Took) -> tuple[int, int]:
    """Orders of magnitude, by fours."""
    return took.new.bit_length() // 2, took.cached.bit_length() // 2


def _write_call(born: int, took: Took) -> list[float]:
    seconds = (took.read_s, took.write_s, took.rest_s)
    return [born, took.new, took.cached, took.out, *(round(each, 5) for each in seconds)]


def _read_call(born: float, new: float, cached: float, out: float, *seconds: float) -> tuple[int, Took]:
    return int(born), Took(int(new), int(cached), int(out), *map(float, seconds))
