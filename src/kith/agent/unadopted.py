"""A change that was not applied when it was made: brought up to date, judged, asked about, and adopted."""

from typing import Final

from kith.agent.attempt import Outcome, adopt, not_adopted
from kith.agent.deciding import decide
from kith.agent.judges import Judges
from kith.agent.renew import renew
from kith.agent.verdicts import ask_gates, in_a_line
from kith.core.events import Notice, Proposed
from kith.core.run import Run
from kith.core.values import Changes
from kith.edits import summarise

WAITS_ON: Final = "Nothing was applied. The change still waits."
THERE: Final = "Your files hold this change already."
_RENEWED: Final = "Your files were edited since this change was made. It is shown as it applies to them now."


async def adopt_unadopted(run: Run, changes: Changes, judges: Judges, *, hold_back: bool) -> Outcome:
    """Judge a change on the tree as it is now, ask the person, and apply it.

    No model is there to mend it: what the checks say against it is told, and the person decides. With
    `hold_back` nobody reads that, so a change that does not pass is not applied.
    """
    renewed = await renew(run.workspace, changes)
    if not renewed:
        return Outcome("done", THERE)
    if renewed != changes:
        run.emit(Notice(_RENEWED))
    async with run.workspace.trial() as trial:
        await trial.apply(renewed)
        inside = run.inside(trial)
        inside.emit(Proposed(summarise(renewed)))
        verdict = await ask_gates(inside, await judges.gates(), renewed, 1)
        if not verdict.ok and hold_back:
            return Outcome("held", f"Held back: {in_a_line(verdict)} --unproven applies it all the same.")
        if not verdict.ok:
            inside.emit(Notice(f"It does not pass: {in_a_line(verdict)}", "warning"))
        decision = await decide(run, trial, judges, renewed, verdict.evidence)
        if decision.unmet:
            return not_adopted(decision)
        if not decision.ok:
            return Outcome("rejected", decision.feedback or WAITS_ON)
        return await adopt(run, trial, judges, renewed, decision, "")  # who sees it applied needs no words
