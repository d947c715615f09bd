"""Judge a change by gates, compare with the tree before it, and ask the person."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from kith.agent.judges import Judges
from kith.core.check_names import name_check
from kith.core.events import Judged, Notice
from kith.core.evidence import CheckEvidence, Evidence, Tries, combine
from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.core.workspace import Trial
from kith.edits import summarise
from kith.edits.pieces import tell_left_out
from kith.gates.human import change_question


async def judge(
    run: Run,
    judges: Judges,
    changes: Changes,
    attempt: int,
    *,
    claimed: Sequence[str] = (),
    tries: Tries = "none",
    compare: bool,
) -> tuple[Verdict, tuple[Judged, ...]]:
    """Ask the gates in order; the first no ends it. With `compare`, the untouched tree is told of first."""
    compared = await check_before(run, judges) if compare else ()
    return await ask_gates(run, await judges.gates(changes, claimed, tries), changes, attempt), compared


async def check_before(run: Run, judges: Judges) -> tuple[Judged, ...]:
    """Check the untouched tree, and report the results."""
    compared = tuple(await judges.baseline())
    for judged in compared:
        run.emit(judged)
    return compared


async def ask_gates(run: Run, gates: Iterable[Gate], changes: Changes, attempt: int) -> Verdict:
    """The first no, or yes; with what all checks together say of the change."""
    checks: list[CheckEvidence] = []
    for gate in gates:
        verdict = await gate(run, changes)
        run.emit(told(verdict, attempt))
        if verdict.evidence:
            checks += verdict.evidence.checks
        if not verdict.ok:
            return verdict
    return Verdict(True, by="gates", evidence=combine(checks))


def told(verdict: Verdict, attempt: int) -> Judged:
    """A gate's verdict as an event."""
    return Judged(
        verdict.by,
        verdict.ok,
        attempt,
        verdict.feedback,
        verdict.ran,
        skipped=verdict.ok and bool(verdict.feedback) and not (verdict.evidence and verdict.ran),
        figures=dict(verdict.figures),
        evidence=verdict.evidence.checks[0] if verdict.evidence and verdict.evidence.checks else None,
    )


def in_a_line(refusal: Verdict | None) -> str:
    """A gate's rejection in a line for the person, who has just read why a command failed."""
    if refusal is None:
        return "the checks rejected it."
    ran = refusal.ran[-1] if refusal.ran else None
    if ran and (ran.code or ran.timed_out):  # what ends well was refused for what it did not run
        how = "timed out" if ran.timed_out else f"ends with exit code {ran.code}"
        return f"`{name_check(ran.command)}` {how}."
    first = (refusal.feedback.strip() or "it does not say why").splitlines()[0]
    return f"{refusal.by}: {first if first.endswith(('.', '!', '?')) else f'{first}.'}"


# A person's word on a change. What they keep of it is checked again before it counts.

TAKEN_OUT: Final = "Of your change only a part stays in the files:"
READ_AGAIN: Final = "Read these files before you edit them again."
_AFTER_CHECKS: Final = ("all", "none", "back", "revise")


async def decide(
    run: Run, trial: Trial, judges: Judges, changes: Changes, evidence: Evidence | None = None
) -> Verdict:
    """Yes, with `changes` where they keep less or other ones; or no, with words for the model if any.

    What the person takes out when they send it back is taken out of the trial, too.
    """
    inside = run.inside(trial)
    while True:
        decision = await judges.person(inside, changes, evidence)
        kept = decision.changes
        if decision.ok and kept is not None and kept != changes:
            again = await _check_kept(run, judges, kept, evidence)
            if again is None:
                continue
            decision = again
        if decision.feedback and decision.changes is not None:
            return await _take_out(inside, trial, changes, decision.changes, decision)
        return decision


async def _check_kept(run: Run, judges: Judges, kept: Changes, whole: Evidence | None) -> Verdict | None:
    """Judge a kept part: it passes, or the person decides; None to ask again."""
    async with run.workspace.trial() as trial:
        await trial.apply(kept)
        with run.inside(trial).step("check what was kept", kind="check") as step:
            verdict = await ask_gates(step, await judges.gates(kept), kept, attempt=0)
    yes = Verdict(True, by="person", changes=kept)
    less = verdict.evidence and verdict.evidence.held_back and not (whole and whole.held_back)
    if verdict.ok and not less:
        return yes
    run.emit(Notice("The part that you kept does not pass the checks.", "warning"))
    text = f"{'The check' if verdict.ok else verdict.by} fails on the part that you kept. Apply it anyway?"
    question = replace(
        change_question(text, kept, _AFTER_CHECKS, judges.named, run.plan), evidence=verdict.evidence
    )
    answer = await run.ask(question)
    if answer.choice == "back":
        return None
    if answer.choice == "all":
        return yes
    words = answer.text if answer.choice == "revise" else ""
    return Verdict(False, words, by="person", changes=kept)


async def _take_out(run: Run, trial: Trial, changes: Changes, kept: Changes, no: Verdict) -> Verdict:
    """The trial as the person wants it, and the words that tell the model what is different there."""
    if kept != changes:
        await trial.go_back("")
        await trial.apply(kept)
    return replace(no, feedback=with_left_out(no.feedback, changes, kept, run.limits.exec.output // 2))


def with_left_out(words: str, changes: Changes, kept: Changes, room: int) -> str:
    """A person's words, and what they took out of a change, in so many characters."""
    told = tell_left_out(summarise(changes), summarise(kept), room)
    return "\n\n".join([words, f"{TAKEN_OUT}\n{told}", READ_AGAIN]) if told else words
