"""Decide a council: its plans tested one after the other in a trial, else a judge with reasons."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.attempt import Outcome, adopt_ready, attempt
from kith.agent.judges import Judges
from kith.agent.lint_notes import find_lint_notes
from kith.agent.relay import Leg
from kith.agent.roles import Player
from kith.core.errors import KithError
from kith.core.events import Notice
from kith.core.evidence import Evidence
from kith.core.run import Run, Thread
from kith.core.trial_names import trial_after
from kith.core.values import Changes, Verdict, say
from kith.core.workspace import Workspace
from kith.edits import summarise
from kith.features.confer.council_rules import TriedPlan, cheapest, choose_tried, compare
from kith.features.confer.debate import CouncilDecision, ranking
from kith.features.confer.discriminate import discriminate
from kith.features.confer.members import Council, Member, ask, unless_hurried
from kith.features.confer.messages import JudgeChoice, describe_proposal, read_choice, to_judge

# Who carries out the plan of a member, by its label.
Worker = Callable[[str], Awaitable[Player]]
_KEPT: Final = "kith"
_PLAN: Final = (
    "{task}\n\n# Plan\nYou agreed on this plan with others; follow it unless the code says otherwise.\n{plan}"
)


class Made(Struct):
    """A plan that was carried out: the change, and what tests and linters said of it."""

    label: str
    changes: Changes = ()
    passed: bool = False
    tested: bool = False
    tests: int = 0
    findings: int = 0
    text: str = ""

    @property
    def tried(self) -> TriedPlan:
        files = summarise(self.changes)
        size = sum(file.added + file.removed for file in files)
        return TriedPlan(self.label, self.passed and bool(self.changes), self.tests, self.findings, size)


class Settling(Struct, frozen=True):
    """The way to carry plans out: worker, first message and judges.

    `both`: if the first plan takes fewer seconds, the second is carried out as well, and compared.
    """

    worker: Worker
    task: str
    judges: Judges
    both: float = 0.0


async def settle(
    run: Run, council: Council, decision: CouncilDecision, how: Settling
) -> tuple[CouncilDecision, Outcome]:
    """Carry out the plans in their order until one passes its gates, and put that one to the person.

    Where no test ran, the decision stays what it was, and is carried out as it is.
    """
    # Who was in a hurry to decide has decided now, and may be in a hurry once more.
    hurry = asyncio.Event() if council.hurry.is_set() else council.hurry
    made: list[Made] = []
    for number, label in enumerate(decision.order[:2]):
        own = replace(run, trial_name=_numbered(run.trial_name, number))
        each = await unless_hurried(hurry, carry_out(own, council, label, how))
        if each is None:
            break
        made.append(each)
        if each.tried.ok and not (each.tested and _is_cheap(council, how, made)):
            break
        if not each.tried.ok and len(decision.order) > len(made):
            run.emit(Notice(f"The plan of {label} fails: {each.text}"))
    passed = [each for each in made if each.tried.ok]
    for each in passed if len(passed) > 1 else ():
        each.findings = await _count_findings(run, each.changes)
    decisive = await _tell_apart(run, council, passed) if len(passed) > 1 else ""
    best = choose_tried([each.tried for each in made if not decisive or each.label == decisive])
    if best is None:
        return decision, Outcome("failed", f"Nothing was applied: {made[-1].text}" if made else "Stopped.")
    chosen = next(each for each in made if each.label == best.label)
    own = replace(run, trial_name=_numbered(run.trial_name, made.index(chosen)))
    outcome = await adopt_ready(own, chosen.changes, how.judges, chosen.text)
    for number, each in enumerate(made):
        if each is not chosen and run.trial_name:
            await discard(run.workspace, _numbered(run.trial_name, number))
    return _settled(decision, chosen, made), outcome


def _numbered(name: str, number: int) -> str:
    """The trial of the plan that is carried out first (0: the run's own), or after it."""
    return trial_after(name, number) if name else ""


async def _count_findings(run: Run, changes: Changes) -> int:
    """Count linter and type-checker findings on the lines that a change added."""
    async with run.workspace.trial() as trial:
        await trial.apply(changes)
        return len(await find_lint_notes(run, run.inside(trial), changes))


def _is_cheap(council: Council, how: Settling, made: Sequence[Made]) -> bool:
    """True if the next plan is worth carrying out although this one passed."""
    _, seconds = council.work.cost(made[0].label)
    return len(made) == 1 and seconds < how.both


async def _tell_apart(run: Run, council: Council, passed: Sequence[Made]) -> str:
    """The change that a member's test decides for; "" for the same approach, and where no test tells."""
    labels = [each.label for each in passed]
    if compare(*(council.proposals[label] for label in labels)) == "same":
        return ""
    author = cheapest({label: council.ledger.cost(label) for label in labels})
    told = await discriminate(run, council, author, {each.label: each.changes for each in passed})
    if told.passes:
        run.emit(Notice(f"A test by {author} decides: {told.why}."))
    else:
        run.emit(Notice(f"No test tells {' and '.join(labels)} apart: {told.why}."))
    return told.passes


def _settled(decision: CouncilDecision, chosen: Made, made: Sequence[Made]) -> CouncilDecision:
    if not chosen.tested:
        return replace(decision, choice=chosen.label)
    others = [each for each in made if each is not chosen]
    against = "; ".join(f"{each.label}: {each.text if not each.passed else 'passes too'}" for each in others)
    why = f"its change passes the checks{f' ({against})' if against else ''}"
    return replace(decision, choice=chosen.label, by="tests", why=why)


async def carry_out(run: Run, council: Council, label: str, how: Settling) -> Made:
    """Let a plan's author do it in the run's trial, by the same attempts and gates as any task."""
    made = Made(label)
    player = await how.worker(label)
    plan = describe_proposal(council.proposals[label])
    thread = Thread(f"{council.thread(label).name}/work")

    async def keep(inside: Run, changes: Changes, evidence: Evidence | None = None) -> Verdict:
        """In the person's place: the change is kept for the comparison, and goes no further yet."""
        made.changes, made.passed = changes, not (evidence and evidence.held_back)
        for each in (check.after for check in evidence.checks if check.after) if evidence else ():
            made.tested, made.tests = True, each.passed + each.skipped
        return Verdict(False, "", _KEPT)

    with run.step(f"plan {label}", kind="plan") as step:
        role = council.work.bill(label, player.role)
        judges = replace(how.judges, person=keep, review=False)
        words = _PLAN.format(task=how.task, plan=plan)
        try:
            outcome = await attempt(step, Leg(role, thread, council.question), say(words), judges)
        except KithError as error:  # the other's plan is not worse for it
            made.text = f"{player.role.model.name}: {error}"
            return made
    made.text = (thread.last_words or "The plan is carried out.") if made.passed else outcome.text
    return made


# Where nothing can be tested and the claims do not decide: a judge with reasons, which is no proof.

JUDGE = "judge"


async def ask_judge(run: Run, council: Council, judge: Member) -> CouncilDecision:
    """The judge's choice, said to be unverified; the ranking where it fails or the tokens are spent."""
    order = ranking(council)
    hurried = council.hurry.is_set()
    choice = None if hurried else await unless_hurried(council.hurry, _choose(run, council, judge))
    if choice is None:
        return CouncilDecision(
            order[0], "limit", "nothing tells them apart, and no judge said otherwise", order
        )
    rest = tuple(label for label in order if label != choice.label)
    why = f"{judge.name} says, unverified: {choice.why.rstrip('.') or 'nothing more'}"
    return CouncilDecision(choice.label, "judge", why, (choice.label, *rest))


async def _choose(run: Run, council: Council, judge: Member) -> JudgeChoice | None:
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


async def discard(workspace: Workspace, name: str) -> None:
    """Throw away the change that waits in a trial, and the trial."""
    async with workspace.trial(name):
        pass
