"""Find what linters say of the lines that a change added, for the model to correct."""

import time
from collections.abc import Sequence
from typing import Final

from kith.agent.linters import project_linters
from kith.core.events import Notice
from kith.core.run import Run
from kith.core.values import Changes, Finding
from kith.core.workspace import ExecLimits
from kith.gates.linters import Linter, allowed_linters, list_findings, new_findings, written
from kith.trees.environment import may_find

AUTHOR: Final = "lint"  # of the message that tells the model
SECONDS: Final = 30.0  # for all linters together: a person waits for the diff


async def find_lint_notes(home: Run, run: Run, changes: Changes) -> tuple[Finding, ...]:
    """Return new findings on the lines of a change; nothing where no linter can run.

    `run` is in the trial that holds the change, `home` on the untouched tree, which is linted too where the
    change has findings. Linters that obey the project's files run only in a sandbox. One that is too slow
    is named.
    """
    linters, _ = allowed_linters(home, await _present_linters(run))
    paths = written(changes)
    fitting = [linter for linter in linters if any(map(linter.understands, paths))]
    if not fitting:
        return ()
    found, late, end = list[Finding](), list[str](), time.monotonic() + SECONDS
    with run.step("linters") as step:
        for linter in fitting:
            limits = ExecLimits(max(1.0, (end - time.monotonic()) / 2))  # it may run twice
            told = await new_findings(step, linter, changes, limits, home, lines_only=True)
            found += told.findings
            late += [linter.name] if told.timed_out else []
        if late:
            step.emit(Notice(f"Linters skipped, too slow: {', '.join(late)}."))
    return tuple(sorted(dict.fromkeys(found), key=lambda each: (each.path, each.line)))


async def harmless_linters(run: Run) -> tuple[Linter, ...]:
    """The project's linters that run nothing of its own, without its type checkers."""
    return tuple(each for each in await _present_linters(run) if each.kind == "lint" and not each.obeys)


async def _present_linters(run: Run) -> tuple[Linter, ...]:
    """The project's linters, without those whose program no command finds: to start one in vain takes long.

    Linters that obey the project's files may have their program there, too.
    """
    root = run.workspace.root
    return tuple(
        each for each in await project_linters(run) if each.obeys or may_find(root, each.program or each.name)
    )


async def find_lint_errors(
    linters: Sequence[Linter], home: Run, run: Run, changes: Changes, seconds: float
) -> tuple[tuple[Finding, ...], frozenset[str]]:
    """Return the new errors that these linters find on the lines of a change, and the absent linters.

    `home` and `run` as in `find_lint_notes`; each linter has half of `seconds`, as it may run twice.
    """
    paths = written(changes)
    fitting = [linter for linter in linters if any(map(linter.understands, paths))]
    limits = ExecLimits(max(1.0, seconds / 2))
    told = [await new_findings(run, each, changes, limits, home, lines_only=True) for each in fitting]
    errors = (each for linted in told for each in linted.findings if each.severity == "error")
    return tuple(dict.fromkeys(errors)), frozenset(each.linter.name for each in told if each.absent)


def word_lint_notes(found: Sequence[Finding]) -> str:
    """The findings as a message to the model, which may leave some."""
    tools = " and ".join(sorted({each.by for each in found}))
    return (
        f"Your change passed its checks. {tools} found this on the lines that you changed:\n"
        f"{list_findings(found)}\n\n"
        "Correct what is right of it. What you leave does not stop your change; you are not asked again."
    )
