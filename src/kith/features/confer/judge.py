"""Where nothing can be tested and the claims do not decide: a judge with reasons, which is no proof."""

from dataclasses import replace
from functools import partial

from kith.core.errors import KithError
from kith.core.events import Notice
from kith.core.run import Run
from kith.features.confer.confer import Decision, ranking
from kith.features.confer.letters import to_judge
from kith.features.confer.members import Council, Member, unless_hurried
from kith.features.confer.replies import Choice, read_choice
from kith.features.confer.rounds import ask

JUDGE = "judge"


async def ask_judge(run: Run, council: Council, judge: Member) -> Decision:
    """The judge's choice, said to be unverified; the ranking where it fails or the tokens are spent."""
    order = ranking(council)
    hurried = council.hurry.is_set()
    choice = None if hurried else await unless_hurried(council.hurry, _choose(run, council, judge))
    if choice is None:
        return Decision(order[0], "limit", "nothing tells them apart, and no judge said otherwise", order)
    rest = tuple(label for label in order if label != choice.label)
    why = f"{judge.name} says, unverified: {choice.why.rstrip('.') or 'nothing more'}"
    return Decision(choice.label, "judge", why, (choice.label, *rest))


async def _choose(run: Run, council: Council, judge: Member) -> Choice | None:
    letter = to_judge(council.facts, council.proposals, council.claims)
    read = partial(read_choice, labels=frozenset(council.proposals))
    try:
        with run.step(JUDGE) as step:
            billed = replace(judge, role=council.ledger.bill(JUDGE, judge.role))
            room = council.ledger.left("check")
            choice = await ask(step, billed, council.thread(JUDGE), letter, room, read)
    except KithError as error:
        run.emit(Notice(f"The judge ({judge.name}) does not decide: {error}", "warning"))
        return None
    if choice is None:
        run.emit(Notice("No judge is asked: the council's tokens are spent."))
    return choice
