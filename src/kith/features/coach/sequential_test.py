"""Test if another strategy for a model is better, on paired trials; watch it on live work.

A pair is one recorded task done with the present strategy and with another. Only pairs that differ count
(McNemar, Psychometrika 12, 1947). From `wins` and `losses` of the other one, the doubt is the chance that it
loses at least as often as it wins. The number of looks at that value must not raise the error rate, so it
follows Haybittle (1971) and Peto et al. (Br. J. Cancer 34, 1976). Early looks are very strict, and nearly all
of the allowed error is kept for two looks, after 100 and after 150 pairs. A test with the same bar at each
look would need a higher one. It would miss every fourth gain of 8 points that this one finds.

The rule is a table, so its behaviour can be computed exactly: `chances` follows every course of trials. A
strategy that is not shown to be better by then is given up, and the original stays.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, Literal

from msgspec import Struct, field

from kith.core.numbers import median
from kith.features.measure.intervals import Count, median_interval

# Pairs -> the most doubt with which another way is accepted then.
LOOKS: Final[Mapping[int, float]] = dict.fromkeys(range(20, 150, 10), 0.003) | {100: 0.033, 150: 0.018}
HORIZON: Final = max(LOOKS)
FUTILE: Final = 4  # losses more than wins: nothing is to be hoped for
# Looks at which a way that is no better may be accepted for being faster, when it is hardly worse.
_SPEED_LOOKS: Final = (60, 100, 150)
_WORSE, _WORSE_DOUBT = 0.05, 0.01  # a loss of more than 5 points must be less likely than this
_FASTER: Final = 0.9  # of the time

CANARY: Final = 30  # live outcomes after which a canary is over
_EARLY: Final = 8  # live outcomes before which nothing is said of it
# How sure it must be that a canary is more than `_WORSE` below the present way: on the way, and at its end.
_ROLLED_BACK: Final = (0.99, 0.8)
_FADED: Final = 0.9  # how sure it must be that an adopted way is below the way before it
_PRIOR: Final = (0.5, 1.0)  # Jeffreys' prior, as an expected share and its weight in tasks


class Pair(Struct, frozen=True):
    """One task done in the present way and in another: solved or not, in how many seconds (0.0: unknown)."""

    before: bool
    after: bool
    before_s: float = 0.0
    after_s: float = 0.0


class TestDecision(Struct, frozen=True):
    """The decision of a trial so far, its reason for people, and the figures."""

    verdict: Literal["accept", "refuse", "go on"]
    why: str
    figures: Mapping[str, float] = field(default_factory=dict)


# --- paired trials -----------------------------------------------------------------------------


def decide(pairs: Sequence[Pair], most: int = HORIZON) -> TestDecision:
    """Decide on the pairs, in the order in which they were made; at most `most` of them count.

    The first look that settles it is final, whatever came after. Pure: interrupted trials continue as if
    nothing had happened.
    """
    most, wins, losses = min(most, HORIZON), 0, 0
    for number, pair in enumerate(pairs[:most], 1):
        wins += pair.after and not pair.before
        losses += pair.before and not pair.after
        if number in LOOKS and (settled := _look_at(pairs[:number], wins, losses)):
            return settled
    if len(pairs) >= most:
        return TestDecision("refuse", f"not shown to be better in {_pairs(most)}", measure(pairs[:most]))
    so_far, more = f"{_pairs(len(pairs))} so far: {wins} won, {losses} lost", needed(pairs, most)
    figures = measure(pairs) | {"needed": float(more)}
    return TestDecision("go on", f"{so_far}; it takes about {more} more", figures)


def needed(pairs: Sequence[Pair], most: int = HORIZON) -> int:
    """Estimate the pairs that are missing for a decision, if they go as those before."""
    most, count = min(most, HORIZON), max(len(pairs), 1)
    wins = sum(pair.after and not pair.before for pair in pairs)
    losses = sum(pair.before and not pair.after for pair in pairs)
    for number in sorted(each for each in LOOKS if len(pairs) < each <= most):
        won, lost = round(wins * number / count), round(losses * number / count)
        if doubt(won, lost) <= LOOKS[number] or lost - won >= FUTILE:
            return number - len(pairs)
    return max(0, most - len(pairs))


def _look_at(pairs: Sequence[Pair], wins: int, losses: int) -> TestDecision | None:
    """Return the decision of these pairs, if there is one."""
    number = len(pairs)
    told = f"{wins} won, {losses} lost in {_pairs(number)}"
    if doubt(wins, losses) <= LOOKS[number]:
        return TestDecision("accept", f"solves more: {told}", measure(pairs))
    if losses - wins >= FUTILE:
        return TestDecision("refuse", f"solves less: {told}", measure(pairs))
    if number in _SPEED_LOOKS and _is_faster(pairs, wins, losses):
        figures = measure(pairs)
        words = f"faster ({figures['time_ratio']:.0%} of the time) and no worse: {told}"
        return TestDecision("accept", words, figures)
    return None


def measure(pairs: Sequence[Pair]) -> dict[str, float]:
    """The figures of some pairs. `gain`: share solved more often; `doubt`: the chance that it is none.

    `time_ratio`: the median of the time after to the time before, 0.0 where nobody measured it.
    """
    wins = sum(pair.after and not pair.before for pair in pairs)
    losses = sum(pair.before and not pair.after for pair in pairs)
    ratios = _log_ratios(pairs)
    return {
        "pairs": float(len(pairs)),
        "wins": float(wins),
        "losses": float(losses),
        "gain": (wins - losses) / len(pairs) if pairs else 0.0,
        "doubt": doubt(wins, losses),
        "time_ratio": math.exp(median(ratios)) if ratios else 0.0,
    }


@cache
def doubt(wins: int, losses: int) -> float:
    """The chance that a way which won and lost so many pairs does not win more often than it loses.

    That of Beta(1 + wins, 1 + losses) below one half, which is a sum of binomial coefficients.
    """
    number = wins + losses + 1
    return math.fsum(math.comb(number, k) for k in range(wins + 1, number + 1)) / 2.0**number


def _is_faster(pairs: Sequence[Pair], wins: int, losses: int) -> bool:
    """True if it takes clearly less time, and is hardly worse."""
    ratios = sorted(_log_ratios(pairs))
    if len(ratios) < _SPEED_LOOKS[0] or _doubt_of_loss(wins, losses, len(pairs)) > _WORSE_DOUBT:
        return False
    interval = median_interval(ratios)
    return interval is not None and interval[1] < math.log(_FASTER)


def _log_ratios(pairs: Sequence[Pair]) -> list[float]:
    """Of pairs that agree: one that gives up at once is not fast."""
    timed = (pair for pair in pairs if pair.before == pair.after and min(pair.before_s, pair.after_s) > 0)
    return [math.log(pair.after_s / pair.before_s) for pair in timed]


def _doubt_of_loss(wins: int, losses: int, number: int) -> float:
    """The chance that more than `_WORSE` of all tasks are lost, by a normal approximation."""
    loss = (losses - wins) / (number + 1)
    spread = ((wins + losses + 1) / (number + 1) - loss * loss) / (number + 2)
    return _normal((loss - _WORSE) / math.sqrt(spread))


def chances(win: float, loss: float, most: int = HORIZON) -> dict[int, float]:
    """Look -> how likely a way is accepted as better by then, if it wins and loses these shares of all pairs.

    Exact: the probability of every (wins, losses) is carried on from pair to pair, and what a look settles
    leaves. Speed is left aside.
    """
    open_ones, accepted, found = {(0, 0): 1.0}, 0.0, dict[int, float]()
    for number in range(1, most + 1):
        following = dict[tuple[int, int], float]()
        for (wins, losses), chance in open_ones.items():
            for state, share in (
                ((wins, losses), 1 - win - loss),
                ((wins + 1, losses), win),
                ((wins, losses + 1), loss),
            ):
                if chance * share > 1e-15:
                    following[state] = following.get(state, 0.0) + chance * share
        open_ones = following
        if number in LOOKS:
            better = {state for state in open_ones if doubt(*state) <= LOOKS[number]}
            accepted += sum(open_ones.pop(state) for state in better)
            open_ones = {state: chance for state, chance in open_ones.items() if state[1] - state[0] < FUTILE}
            found[number] = accepted
    return found


# --- live work ---------------------------------------------------------------------------------


def decide_canary(new: Count, present: Count) -> TestDecision:
    """Decide on live outcomes of a strategy that paired trials accepted, against the present one."""
    over, figures = new.seen >= CANARY, _figures(new, present)
    told = f"{new.good:.0f} of {new.seen:.0f} solved, {present.good:.0f} of {present.seen:.0f} the way before"
    known = min(new.seen, present.seen) >= _EARLY
    if known and _chance_below(new, present, _WORSE) > _ROLLED_BACK[over]:
        return TestDecision("refuse", f"worse on live work: {told}", figures)
    return (
        TestDecision("accept", f"holds on live work: {told}", figures)
        if over
        else TestDecision("go on", told, figures)
    )


def decide_keeping(recent: Count, before: Count) -> TestDecision:
    """Decide if an adopted strategy is still better: its last outcomes against those before it."""
    told = f"of the last {recent.seen:.0f} it solved {recent.good:.0f}"
    figures = _figures(recent, before)
    if recent.seen < CANARY or before.seen < _EARLY:
        return TestDecision("go on", told, figures)
    if _chance_below(recent, before, 0.0) > _FADED:
        words = f"no longer better: {told}, the way before {before.good / before.seen:.0%}"
        return TestDecision("refuse", words, figures)
    return TestDecision("accept", told, figures)


def _figures(new: Count, present: Count) -> dict[str, float]:
    return {
        "live": new.seen,
        "live_solved": new.good,
        "present": present.seen,
        "present_solved": present.good,
    }


def _chance_below(one: Count, other: Count, margin: float) -> float:
    """The chance that one share is more than `margin` below another, by a normal approximation."""
    beliefs = [count.belief(*_PRIOR) for count in (one, other)]
    spread = sum(each.mean * (1 - each.mean) / (each.a + each.b + 1) for each in beliefs)
    return _normal((beliefs[1].mean - beliefs[0].mean - margin) / math.sqrt(spread))


def _normal(z: float) -> float:
    return (1 + math.erf(z / math.sqrt(2))) / 2


def _pairs(number: int) -> str:
    return f"{number} {'pair' if number == 1 else 'pairs'}"
