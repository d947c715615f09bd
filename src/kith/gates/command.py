"""The gate that matters most: a command of the project, whose exit code decides."""

from kith.core.events import Judged
from kith.core.run import Gate, Run
from kith.core.values import Changes, Ran, Verdict
from kith.core.workspace import Command, ExecLimits, Trial
from kith.gates.find import Check

FEEDBACK_CHARS = 6_000


def command_gate(check: Check, limits: ExecLimits, found: bool = False) -> Gate:
    """A gate that runs `check` in the trial.

    A check that kith found by itself (`found`) and that cannot run here (its tool is not installed, it has
    no tests) is skipped and said; one that a person named must run.
    """

    async def judge(run: Run, changes: Changes) -> Verdict:
        ran = await run_check(run, check, limits)
        reason = why_not_run(ran) if found else ""
        if reason:
            return Verdict(True, reason, check.name, ())
        return Verdict(ran.code == 0, "" if ran.code == 0 else explain(ran), check.name, (ran,))

    return judge


def not_allowed(check: Check) -> Gate:
    """In place of a check that the person did not let run: nothing is judged, and the receipt says so."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        return Verdict(True, f"`{check.command}` was not allowed to run without a sandbox", check.name)

    return judge


async def run_check(run: Run, check: Check, limits: ExecLimits) -> Ran:
    """Run a check in the trial; what it leaves behind (caches, reports) is not part of the change."""
    if not isinstance(run.workspace, Trial):
        raise TypeError("checks run in a trial only")
    return await run.workspace.check(Command(check.command), limits)


async def check_before(run: Run, check: Check, limits: ExecLimits, found: bool) -> Judged:
    """How the check ends on the untouched tree, in a trial of its own."""
    async with run.workspace.trial() as trial:
        ran = await run_check(run.inside(trial), check, limits)
    reason = why_not_run(ran) if found else ""
    if reason:
        return Judged(check.name, True, 0, reason, when="before", skipped=True)
    return Judged(check.name, ran.code == 0, 0, ran=(ran,), when="before")


def why_not_run(ran: Ran) -> str:
    """Why a found check says nothing about the change; "" when it really ran."""
    if ran.code == 127:
        return f"`{ran.command}` is not installed here, so it was not run"
    if "No module named pytest" in ran.output or "no module named pytest" in ran.output:
        return f"`{ran.command}` could not run: pytest is not installed for this Python"
    if "pytest" in ran.command and ran.code == 5:
        return f"`{ran.command}` found no tests"
    if "unittest" in ran.command and ("Ran 0 tests" in ran.output or ran.code == 5):
        return f"`{ran.command}` found no tests"
    return ""


def explain(ran: Ran) -> str:
    """A failed check as a letter to the model."""
    from kith.gates.distil import distil  # its many patterns are compiled only when something failed

    how = f"timed out after {ran.seconds:.0f} s" if ran.timed_out else f"failed with exit code {ran.code}"
    told = distil(ran.output, ran.command, FEEDBACK_CHARS).strip() or "It printed nothing."
    return (
        f"Your change was checked and is not accepted yet: `{ran.command}` {how}.\n\n{told}\n\n"
        "Find the cause and correct it. The check runs again when you are done."
    )
