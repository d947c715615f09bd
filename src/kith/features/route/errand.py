"""One errand: a model that was given a small task does it in the giver's trial, and a command looks at it."""

import asyncio
import time
from dataclasses import dataclass, replace

from kith.agent.attempt import land_edits
from kith.agent.roles import Player
from kith.core.decisions import Delegated
from kith.core.errors import LimitError, ModelError, NoModelError, TreeError
from kith.core.loop import begin_turn, converse
from kith.core.model import Billed, Role
from kith.core.run import Run, Thread, new_id, nobody_speaks
from kith.core.values import Changes, Charge, Ran, Usage, say
from kith.core.workspace import Command, ExecLimits, Trial
from kith.edits import summarise
from kith.features.route.delegate_tool import Errand, Returned

TRIES = 2  # the check's no is told once
NO_SANDBOX = "Commands cannot be confined here: leave check out, and look at the result yourself."
_WORDS = 2_000  # characters of an answer that go back to the giver
_OUTPUT = 1_500  # of a failing check's


@dataclass(slots=True)
class _Bill:
    """What the calls of one errand took."""

    usage: Usage = Usage()
    usd: float | None = 0.0

    def take(self, charge: Charge) -> None:
        self.usage += charge.usage
        self.usd = None if self.usd is None or charge.usd is None else self.usd + charge.usd


async def do_errand(run: Run, by: str, errand: Errand, player: Player, limits: ExecLimits) -> Returned:
    """Let `player` do the errand of the model `by` in the trial that `run.workspace` is.

    A change that the errand's own check refuses twice is taken back; one without a check stays, and is said
    to be unverified. Whatever the player is unable to do comes back in words.
    """
    trial = run.workspace
    if not isinstance(trial, Trial):
        return Returned(False, "There is no trial here: nothing can be handed over.", "no trial")
    if errand.check and not trial.confined:  # nobody would be asked about it, as about every other command
        return Returned(False, NO_SANDBOX, "no sandbox for its check")
    name, bill, began, mark = player.role.model.name, _Bill(), time.monotonic(), f"errand {new_id()}"
    with run.step("delegate") as step:
        deaf = replace(step, hear=nobody_speaks)  # what a person says is meant for who delegates
        role = replace(player.role, model=Billed(player.role.model, bill.take))
        before = await trial.checkpoint(mark)
        try:
            words, ran = await _work(deaf, trial, errand, role, limits)
            failed = ran is not None and ran.code != 0
        except (ModelError, NoModelError, LimitError, TreeError) as error:
            words, ran, failed = str(error), None, True
        except asyncio.CancelledError:
            await trial.go_back(mark)
            raise
        if failed:
            await trial.go_back(mark)
        changed = _difference(before, await trial.changes())
        verified, seconds = _verification(ran), time.monotonic() - began
        deaf.emit(Delegated(by, name, errand.task, not failed, verified, bill.usage, bill.usd, seconds))
    return _answer(name, words, changed, ran, failed, verified)


async def _work(
    run: Run, trial: Trial, errand: Errand, role: Role, limits: ExecLimits
) -> tuple[str, Ran | None]:
    """The last words of who plays the role, and the check's last run if there is a check."""
    thread, ran = Thread(f"delegate/{new_id()}"), None
    begin_turn(run, thread, say(_letter(errand), "delegation"))
    for number in range(1, TRIES + 1):
        words = await converse(run, role, thread, number)
        landed = await land_edits(run, trial, thread, number)
        if not landed.ok:
            ran = None
            refusal, by = landed.feedback, "edits"
        else:
            ran = await trial.check(Command(errand.check), limits) if errand.check else None
            if ran is None or ran.code == 0:
                return words, ran
            refusal, by = f"`{errand.check}` ends with {ran.code}:\n{ran.output[-_OUTPUT:]}", "check"
        if number < TRIES:
            begin_turn(run, thread, say(refusal, by))
    if ran is None:
        raise ModelError(f"its edits did not apply: {refusal}")
    return words, ran


def _letter(errand: Errand) -> str:
    parts = [errand.task]
    if errand.context:
        parts.append(f"What you need to know:\n{errand.context}")
    if errand.check:
        parts.append(f"It is done when `{errand.check}` succeeds.")
    return "\n\n".join(parts)


def _difference(before: Changes, after: Changes) -> Changes:
    """What the errand changed, beside what had been changed already."""
    known = {change.path: change.after for change in before}
    return tuple(each for each in after if each.path not in known or known[each.path] != each.after)


def _verification(ran: Ran | None) -> str:
    if ran is None:
        return "nobody"
    return f"`{ran.command}` ends with exit code {ran.code} after {ran.seconds:.1f} s"


def _answer(
    name: str, words: str, changed: Changes, ran: Ran | None, failed: bool, verified: str
) -> Returned:
    said = words.strip()[:_WORDS] or "(it said nothing)"
    if failed:
        why = f"{verified}:\n{ran.output[-_OUTPUT:]}" if ran else said
        text = f"{name} did not do it, and its change was taken back. {why}"
        return Returned(False, text, f"{name} did not do it")
    files = ", ".join(f"{each.path} +{each.added} -{each.removed}" for each in summarise(changed))
    rows = [f"{name} says: {said}", f"Changed: {files or 'nothing'}.", f"Verified by: {verified}."]
    line = f"{name}: {files or 'an answer'}; verified by {verified}"
    return Returned(True, "\n".join(rows), line)
