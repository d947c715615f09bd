"""Find what linters say of the lines that a change added: notes for the model, once."""

import time
from collections.abc import Sequence
from typing import Final

from kith.core.events import Notice
from kith.core.run import Run
from kith.core.values import Changes, Finding
from kith.core.workspace import ExecLimits
from kith.gates.linters import allowed_linters, list_findings, new_findings, project_linters

AUTHOR: Final = "lint"  # of the message that tells the model
SECONDS: Final = 60.0  # for all linters together


async def find_lint_notes(home: Run, run: Run, changes: Changes) -> tuple[Finding, ...]:
    """Return new findings on the lines of a change; nothing where no linter can run.

    `home` is the run on the untouched tree; it is linted too, where the change has findings. Linters that
    obey the project's files run only in a sandbox. One that is too slow is named.
    """
    linters, _ = allowed_linters(home, await project_linters(run))
    paths = [change.path for change in changes if change.after is not None]
    fitting = [linter for linter in linters if any(map(linter.understands, paths))]
    if not fitting:
        return ()
    found, late, end = list[Finding](), list[str](), time.monotonic() + SECONDS
    with run.step("linters") as step:
        async with home.workspace.trial() as trial:
            await trial.apply(changes)
            for linter in fitting:
                limits = ExecLimits(max(1.0, end - time.monotonic()))
                told = await new_findings(home.inside(trial), linter, changes, limits, home, lines_only=True)
                found += told.findings
                late += [linter.name] if told.problem and time.monotonic() > end else []
        if late:
            step.emit(Notice(f"Linters skipped, too slow: {', '.join(late)}."))
    return tuple(sorted(dict.fromkeys(found), key=lambda each: (each.path, each.line)))


def word_lint_notes(found: Sequence[Finding]) -> str:
    """The findings as a message to the model, which may leave some."""
    tools = " and ".join(sorted({each.by for each in found}))
    return (
        f"Your change passed its checks. {tools} found this on the lines that you changed:\n"
        f"{list_findings(found)}\n\n"
        "Correct what is right of it. What you leave does not stop your change; you are not asked again."
    )
