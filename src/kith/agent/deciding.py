"""A person's word on a change. What they keep of it is checked again before it counts."""

from dataclasses import replace
from typing import Final

from kith.agent.judges import Judges
from kith.agent.verdicts import ask_gates
from kith.core.events import Notice
from kith.core.evidence import Evidence
from kith.core.run import Run
from kith.core.values import Changes, Verdict
from kith.core.workspace import Trial
from kith.edits import summarise
from kith.edits.left_out import tell_left_out
from kith.gates.human import change_question

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
    """What comes of a part that is kept: it passes, or what the person says then; None to ask anew."""
    async with run.workspace.trial() as trial:
        await trial.apply(kept)
        with run.inside(trial).step("check what was kept", kind="check") as step:
            verdict = await ask_gates(step, await judges.gates(), kept, attempt=0)
    yes = Verdict(True, by="person", changes=kept)
    less = verdict.evidence and verdict.evidence.held_back and not (whole and whole.held_back)
    if verdict.ok and not less:
        return yes
    run.emit(Notice("What you kept does not pass the checks.", "warning"))
    text = f"{'The check' if verdict.ok else verdict.by} fails on what you kept. Apply it all the same?"
    question = replace(change_question(text, kept, _AFTER_CHECKS, judges.named), evidence=verdict.evidence)
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
