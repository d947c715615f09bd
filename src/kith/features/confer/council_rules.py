"""Define a council's rules: agreement, claims that count, and the order of plans."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, groupby
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.core.decisions import Claimed

Round = Literal["propose", "criticise", "revise", "check"]
# What each round may have used of the tokens by its end; what one leaves over, the next one may use.
UNTIL: Final[Mapping[Round, float]] = {"propose": 0.40, "criticise": 0.65, "revise": 0.80, "check": 1.0}
ALIKE: Final = 0.8  # of the files that either plan names, the share that both name
MOST_CLAIMS: Final = 3  # of one member in one round
_WORD: Final = re.compile(r"\w{4,}")
_AGAINST: Final = re.compile(
    r"\b(?:not use|without|instead of|rather than|avoid)\s+(?:an?\s+|the\s+)?(\w{4,})", re.I
)
LEVEL: Final = 0.55  # up to which two authors are as good as each other


class Proposal(Struct, frozen=True):
    """One member's plan, or its answer to a question, as data.

    `design` has the signatures, algorithms and data structures that it uses, `rejects` those that it decides
    against. `answer` is the answer in a word or two where there is one. `probe` is a command that would tell
    right
    from wrong, `ends` how its author says that it ends now, before anything is changed. `confidence` is from
    0 to 1.
    """

    approach: str
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    answer: str = ""
    probe: str = ""
    ends: Literal["passes", "fails", ""] = ""
    confidence: float = 0.5
    design: tuple[str, ...] = ()
    rejects: tuple[str, ...] = ()


class Revision(Struct, frozen=True):
    """An author's reply to claims against its plan; `proposal` is None where the plan stays."""

    accepted: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    proposal: Proposal | None = None


class Seat(Struct, frozen=True):
    """The server of a member's model, and the number of calls it answers at once."""

    label: str
    server: str
    slots: int = 1


class TriedPlan(Struct, frozen=True):
    """The result of a plan that was carried out. `ok` is None where nothing could be tested.

    `findings` are those of linters and type checkers, `size` counts the lines added and removed.
    """

    label: str
    ok: bool | None
    passed: int = 0
    findings: int = 0
    size: int = 0


# --- agreement -------------------------------------------------------------------------------


Comparison = Literal["same", "different", "unclear"]


def agree(proposals: Sequence[Proposal]) -> bool:
    """True if there are at least two proposals, and every two say the same."""
    return len(proposals) > 1 and all(compare(*pair) == "same" for pair in combinations(proposals, 2))


def compare(one: Proposal, other: Proposal) -> Comparison:
    """Compare two proposals by outcome, place and approach; "unclear" where the words do not tell."""
    if _conflict(one, other):
        return "different"
    if one.files and other.files:
        both, either = set(one.files) & set(other.files), set(one.files) | set(other.files)
        return _compare_approaches(one, other) if len(both) >= ALIKE * len(either) else "different"
    return "same" if one.answer and one.answer == other.answer else "different"


def _compare_approaches(one: Proposal, other: Proposal) -> Comparison:
    """Compare the designs that are named; without both lists, the words of the approaches."""
    if _rejects(one, other) or _rejects(other, one):
        return "different"
    ours, theirs = _terms(one.design), _terms(other.design)
    if ours and theirs:
        signatures = _signatures(ours), _signatures(theirs)
        if any(signatures[1].get(name, given) != given for name, given in signatures[0].items()):
            return "different"
        return "same" if 2 * len(ours & theirs) >= min(len(ours), len(theirs)) else "different"
    if one.answer:
        return "same"  # _conflict has compared the answers
    words, others = _words(one.approach), _words(other.approach)
    return "same" if 2 * len(words & others) >= len(words | others) else "unclear"


def _rejects(one: Proposal, other: Proposal) -> bool:
    """True if one decides against something that the other's design, or else its approach, uses."""
    against = _terms(one.rejects) | {found.lower() for found in _AGAINST.findall(one.approach)}
    own = {found.lower() for found in _AGAINST.findall(other.approach)} | _terms(other.rejects)
    used = _terms(other.design) or _words(other.approach)
    return bool((against & used) - own)


def _terms(names: Sequence[str]) -> set[str]:
    return {re.sub(r"[\s`]+", "", name).lower() for name in names} - {""}


def _signatures(terms: Collection[str]) -> dict[str, str]:
    """Function -> its parameters, for each term that is a signature."""
    return {name: given for name, mark, given in (term.partition("(") for term in terms) if mark}


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _conflict(one: Proposal, other: Proposal) -> bool:
    """Another answer, another outcome of the same command, or nothing in common that is to be changed."""
    answers = {one.answer, other.answer} - {""}
    ends = {one.ends, other.ends} - {""}
    apart = one.symbols and other.symbols and not set(one.symbols) & set(other.symbols)
    return len(answers) > 1 or (one.probe == other.probe and len(ends) > 1) or bool(apart)


def cheapest(costs: Mapping[str, tuple[float, float]]) -> str:
    """The member whose words cost the least: money first (US dollars), then seconds."""
    return min(costs, key=lambda label: (costs[label], label))


# --- claims ----------------------------------------------------------------------------------


def holding(claims: Sequence[Claimed], against: str) -> tuple[Claimed, ...]:
    """The claims against a member's plan that a tool found to hold: nothing else moves anybody."""
    return tuple(each for each in claims if each.of == against and each.check == "confirmed")


def may_revise(claims: Sequence[Claimed]) -> tuple[str, ...]:
    """The members whose plan is touched by a claim that holds; () ends the council."""
    return tuple(sorted({each.of for each in claims if each.check == "confirmed"}))


def take_revision(
    before: Proposal, revision: Revision, claims: Sequence[Claimed]
) -> tuple[Proposal, tuple[str, ...]]:
    """The plan after its author spoke again, and the ids of the claims that it gave in to.

    `claims` are all those against the plan. Without one that holds and that the author accepts, the plan is
    what it was before, whatever the author writes.
    """
    ids = [each.id for each in claims if each.check == "confirmed"]
    accepted = tuple(id for id in ids if id in revision.accepted)
    if not accepted or revision.proposal is None:
        return before, ()
    return replace(revision.proposal, probe=revision.proposal.probe or before.probe), accepted


# --- the decision ----------------------------------------------------------------------------


def objections(claims: Sequence[Claimed]) -> Counter[str]:
    """Count the confirmed claims against each plan.

    Those that its author accepted count too: a plan that needed no correction is right more often.
    """
    return Counter(each.of for each in claims if each.check == "confirmed")


def in_order(
    labels: Sequence[str], against: Mapping[str, int], ability: Mapping[str, float]
) -> tuple[str, ...]:
    """Order the plans: the fewest objections first, then the author's ability so far.

    Ties keep the given order.
    """
    return tuple(sorted(labels, key=lambda label: (against.get(label, 0), -ability.get(label, 0.0))))


def is_decided(labels: Collection[str], against: Mapping[str, int]) -> bool:
    """True if the claims alone decide: exactly one plan has the fewest against it."""
    counts = [against.get(label, 0) for label in labels]
    return counts.count(min(counts)) == 1


def are_level(one: float, other: float) -> bool:
    """True if two authors (by ability, 0 to 1) are too close to tell their plans apart.

    If one of two plans is wrong, the abler author's is right with p(1-q) / (p(1-q) + q(1-p)) where errors
    are independent. They are not: models fail at the same tasks, so it is right more often. A judge that
    is right in two of three cases already does harm from LEVEL on (benchmarks/councils.py).
    """
    able, less = max(one, other), min(one, other)
    right, wrong = able * (1 - less), less * (1 - able)
    return right <= LEVEL * (right + wrong)


def choose_tried(tried: Sequence[TriedPlan]) -> TriedPlan | None:
    """Of plans that were carried out the best one that passed: more tests, fewer findings, a smaller change.

    None when none passed.
    """
    good = [each for each in tried if each.ok]
    return min(good, key=lambda each: (-each.passed, each.findings, each.size), default=None)


# --- the schedule ----------------------------------------------------------------------------


def make_lanes(seats: Sequence[Seat], turn: int) -> tuple[tuple[Seat, ...], ...]:
    """Plan the order of calls: lanes run in parallel, and the members of a lane one after the other.

    A server that answers one call at a time is one lane, and would reload each member's model. So
    every `turn` (from 0) begins with the member that spoke last, the first with the one that was opened
    last.
    """
    by_server = sorted(seats, key=lambda seat: (seat.server, seat.label))
    lanes: list[tuple[Seat, ...]] = []
    for _, group in groupby(by_server, key=lambda seat: seat.server):
        members = tuple(group)
        if all(seat.slots > 1 for seat in members):
            lanes += [(seat,) for seat in members]
        else:
            lanes.append(members[:: 1 if turn % 2 else -1])
    return tuple(lanes)
