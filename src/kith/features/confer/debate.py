"""A council from its first question to its decision: propose, criticise, check, revise, decide."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.core.decisions import Claimed, Concluded, Convened
from kith.core.errors import KithError, LimitError, ModelError
from kith.core.event_loop import leave
from kith.core.events import Notice
from kith.core.run import Run
from kith.features.confer.checks import Check, Checked, check_probe
from kith.features.confer.council_rules import (
    Proposal,
    Revision,
    agree,
    are_level,
    cheapest,
    compare,
    holding,
    in_order,
    is_decided,
    may_revise,
    objections,
    take_revision,
)
from kith.features.confer.members import Agenda, Council, ask, hold_round, unless_hurried
from kith.features.confer.messages import (
    Objection,
    read_comparison,
    read_objections,
    read_proposal,
    read_revision,
    to_compare,
    to_criticise,
    to_propose,
    to_revise,
)

COMPARE: Final = "compare"  # the thread of the questions if two approaches are the same
TOOLS: Final = "kith"  # who says that a member's own command ends otherwise than it said
By = Literal["tests", "evidence", "agreement", "judge", "limit"]
_BY: Final[Mapping[By, str]] = {
    "tests": "Decided by tests",
    "evidence": "Decided by evidence",
    "agreement": "Agreed",
    "judge": "Decided by a judge",
    "limit": "Not decided by evidence",
}


class CouncilDecision(Struct, frozen=True):
    """The chosen proposal, the kind of decision, and its reason. `order`: all of them, best first."""

    choice: str
    by: By
    why: str
    order: tuple[str, ...]


async def confer(run: Run, council: Council, check: Check) -> CouncilDecision | None:
    """Let the members confer; None where the claims do not tell the best proposals apart.

    It ends early when they agree, when no claim is confirmed, when the tokens are spent, or when the
    person is in a hurry. Raises ModelError when nobody proposes anything, LimitError when nobody had the
    time to.
    """
    open_minutes(run, council)
    await propose(run, council)
    if len(council.proposals) == 1:
        only = next(iter(council.proposals))
        return CouncilDecision(only, "limit", "nobody else proposed anything", (only,))
    if await _all_agree(run, council):
        return _agreed(council)
    if not council.hurry.is_set():
        await check_probes(run, council)
        await criticise(run, council, check)
    if may_revise(council.claims) and not council.hurry.is_set():
        await revise(run, council)
    return decide(council)


async def _all_agree(run: Run, council: Council) -> bool:
    """Compare every two proposals; where their words do not tell, ask one member one question."""
    for pair in combinations(sorted(council.proposals), 2):
        one, other = (council.proposals[label] for label in pair)
        found = compare(one, other)
        same = found == "same" or (
            found == "unclear" and await _are_same(run, council, to_compare(one, other))
        )
        if not same:
            run.emit(Notice(f"{pair[0]} and {pair[1]} propose different things."))
            return False
    return True


async def _are_same(run: Run, council: Council, letter: str) -> bool:
    """True if the member who costs least answers that both are the same."""
    label = cheapest({label: council.ledger.cost(label) for label in council.proposals})
    thread, room = council.thread(COMPARE), council.ledger.left("criticise")
    question = ask(run, council.members[label], thread, letter, room, read_comparison)
    try:
        answer = await unless_hurried(council.hurry, question)
    except KithError as error:
        run.emit(Notice(f"The proposals cannot be compared: {error}", "warning"))
        return False
    return answer == "same"


def open_minutes(run: Run, council: Council) -> None:
    """Log the members and the question; screens read the model of each label from it."""
    run.emit(Convened(council.id, council.kind, council.question, _names(council)))


async def propose(run: Run, council: Council) -> None:
    """Hold the first round, blind: all members get the same message."""

    async def take(label: str, proposal: Proposal) -> None:
        council.proposals[label] = proposal

    letters = dict.fromkeys(council.members, to_propose(council.facts))
    await hold_round(run, council, Agenda("propose", letters, read_proposal, take))
    if not council.proposals and council.hurry.is_set():
        _take_halves(council)
    if not council.proposals:
        why = [f"{council.members[who].name}: {said.rstrip('.')}" for who, said in council.silent.items()]
        if why:
            raise ModelError(f"Nobody of the council proposed anything ({'; '.join(why)}).")
        raise LimitError("The council was stopped before anybody had proposed anything.")


def _take_halves(council: Council) -> None:
    """In a hurry half a proposal is better than none."""
    for label in sorted(council.threads):
        last = council.threads[label].messages[-1]
        proposal = read_proposal(last.text)[0] if last.role == "assistant" else None
        if proposal:
            council.proposals[label] = proposal


async def check_probes(run: Run, council: Council) -> None:
    """Run each proposal's own command: one that does not end as its author says is a claim that holds."""
    for label in sorted(council.proposals):
        proposal = council.proposals[label]
        checked = await check_probe(run, proposal)
        if checked.result == "refuted":
            text = f"Its probe does not end as it says ({proposal.ends})."
            _note(
                run,
                council,
                TOOLS,
                Objection(label, text, command=proposal.probe),
                Checked("confirmed", checked.why),
            )
        elif checked.result == "confirmed":
            run.emit(Notice(f"The probe of {label} confirms its claim: {checked.why}."))


async def criticise(run: Run, council: Council, check: Check) -> None:
    """The second round: each says what is wrong with the others, and tools look at once whether it is."""
    looks: list[asyncio.Future[None]] = []

    async def look(by: str, objection: Objection) -> None:
        _note(run, council, by, objection, await check(objection))

    async def take(label: str, found: tuple[Objection, ...]) -> None:
        meant = (_addressed(council, label, each) for each in found)
        looks.extend(asyncio.ensure_future(look(label, each)) for each in meant if each)

    letters = {label: to_criticise(_others(council, label)) for label in sorted(council.proposals)}
    try:
        await hold_round(run, council, Agenda("criticise", letters, read_objections, take))
        await unless_hurried(council.hurry, _all(looks))
    finally:
        await leave(*looks)


async def _all(works: Sequence[asyncio.Future[None]]) -> None:
    await asyncio.gather(*works)


def _addressed(council: Council, by: str, objection: Objection) -> Objection | None:
    """The claim with whom it is about, where that is clear: one of the others, or the only one there is."""
    others = sorted(_others(council, by))
    if objection.of in others:
        return objection
    return replace(objection, of=others[0]) if len(others) == 1 else None


def _note(run: Run, council: Council, by: str, objection: Objection, checked: Checked) -> None:
    """Put a claim and what its check said on record."""
    claim = Claimed(
        council.id,
        f"c{len(council.claims) + 1}",
        by,
        objection.of,
        objection.text,
        objection.evidence,
        checked.result,
        checked.why,
    )
    council.claims.append(claim)
    run.emit(claim)


async def revise(run: Run, council: Council) -> None:
    """The third round: authors whose plan a claim touches that holds, and nobody else, speak once more."""

    async def take(label: str, revision: Revision) -> None:
        against = [each for each in council.claims if each.of == label]
        plan, accepted = take_revision(council.proposals[label], revision, against)
        if accepted:
            council.proposals[label] = plan
            council.revised.append(label)
        run.emit(Notice(_tell_revision(label, accepted, holding(council.claims, label))))

    letters = {label: to_revise(holding(council.claims, label)) for label in may_revise(council.claims)}
    ids = [each.id for each in council.claims]
    await hold_round(run, council, Agenda("revise", letters, lambda words: read_revision(words, ids), take))


def _tell_revision(label: str, accepted: tuple[str, ...], held: tuple[Claimed, ...]) -> str:
    kept = [each.id for each in held if each.id not in accepted]
    if not accepted:
        return f"{label} keeps its proposal as it was."
    rest = f", and rejects {', '.join(kept)}" if kept else ""
    return f"{label} accepts {', '.join(accepted)}{rest}."


# --- the decision ----------------------------------------------------------------------------


def ranking(council: Council) -> tuple[str, ...]:
    """All proposals, the best one first as far as claims and what is known of their authors tell."""
    ability = {label: member.ability for label, member in council.members.items()}
    return in_order(sorted(council.proposals), objections(council.claims), ability)


def decide(council: Council) -> CouncilDecision | None:
    """Decide by claims, or else by the authors' ability; None where neither tells plans apart."""
    order, against = ranking(council), objections(council.claims)
    first, second = order[:2]
    if is_decided(order, against):
        why = f"{against[first] or 'no'} claim that holds is against it, {against[second]} against the next"
        return CouncilDecision(first, "evidence", why, order)
    if council.hurry.is_set():
        return CouncilDecision(first, "limit", "it was the best when the person asked for a decision", order)
    if agree(list(council.proposals.values())):
        return CouncilDecision(first, "agreement", "after the claims they agree", order)
    if are_level(*(council.members[label].ability for label in (first, second))):
        return None
    return CouncilDecision(
        first, "evidence", "its author's work was, or is expected to be, good more often", order
    )


def _agreed(council: Council) -> CouncilDecision:
    """The plan whose author costs less, where tests will tell if it is wrong; else the abler author's."""
    order = ranking(council)
    if not council.tested:
        return CouncilDecision(order[0], "agreement", "they agree", order)
    choice = cheapest({label: council.ledger.cost(label) for label in order})
    rest = tuple(label for label in order if label != choice)
    return CouncilDecision(choice, "agreement", "they agree, and its author costs less", (choice, *rest))


def conclude(run: Run, council: Council, decision: CouncilDecision) -> Concluded:
    """Put the decision on record, with what it cost."""
    proposal = council.proposals[decision.choice]
    why = f"{_BY[decision.by]}: {decision.why}."
    text = f"{proposal.approach}\n\n{why}"
    counts = [each.check for each in council.claims]
    figures: dict[str, float] = {
        "tokens": council.ledger.spent,
        "work_tokens": council.work.spent,
        "single_tokens": council.ledger.first.get(decision.choice, 0),
        "usd": round(council.ledger.usd + council.work.usd, 6),
        "proposals": len(council.proposals),
        "claims": len(counts),
        "confirmed": counts.count("confirmed"),
        "refuted": counts.count("refuted"),
        "revised": len(council.revised),
        "confidence": proposal.confidence,
    }
    concluded = Concluded(
        council.id, council.kind, decision.choice, decision.by, text, _names(council), figures, why
    )
    run.emit(concluded)
    return concluded


def _names(council: Council) -> dict[str, str]:
    return {label: council.members[label].name for label in sorted(council.members)}


def _others(council: Council, label: str) -> Mapping[str, Proposal]:
    return {other: plan for other, plan in council.proposals.items() if other != label}
