"""What can be found in a change without a model: by linters, by patterns of secrets, by kith's own rules."""

from collections.abc import Collection, Sequence

from kith.context.secrets import find_secrets
from kith.core.events import Notice
from kith.core.run import Run
from kith.core.values import Changes, Finding
from kith.core.workspace import ExecLimits
from kith.features.review.rules import BY, find_slips
from kith.features.review.sheets import Sheets, Subject
from kith.gates.lint import fresh_findings, project_linters
from kith.gates.linters.linter import Linter
from kith.gates.linters.run import allowed_linters, run_linter


async def find_by_tools(
    run: Run, subject: Subject, sheets: Sheets, limits: ExecLimits
) -> tuple[Finding, ...]:
    """What is wrong on the lines of the change, and elsewhere because of it."""
    async with run.workspace.trial() as trial:
        if subject.overlay:
            await trial.apply(subject.overlay)
        by_linters = await _lint(run.inside(trial), subject.changes, sheets, limits)
    return (*by_linters, *find_by_looking(subject.changes, sheets))


def find_by_looking(changes: Changes, sheets: Sheets) -> tuple[Finding, ...]:
    """What needs no other program: secrets and slips."""
    secrets = (
        Finding(sheet.path, line, "error", "secret", f"{what} in the clear.", BY)
        for sheet in sheets.values()
        for line, what in find_secrets(sheet.after)
        if line in sheet.added
    )
    return (*secrets, *find_slips(changes, sheets))


async def _lint(run: Run, changes: Changes, sheets: Sheets, limits: ExecLimits) -> list[Finding]:
    """What the project's linters say of the new side and did not say of the old one.

    The old side is made in the same trial, and only for linters that find something on lines nobody touched.
    """
    linters = await _allowed(run)
    found, problems = await _ask(run, linters, list(sheets), limits)
    for problem in problems:
        run.emit(Notice(problem))
    touched = [each for each in found if _is_touched(each, sheets)]
    elsewhere = {each.by for each in found if not _is_touched(each, sheets)}
    if not elsewhere:
        return touched
    earlier = [change.path for change in changes if change.before is not None and change.path in sheets]
    await run.workspace.apply(tuple(change.inverse for change in changes))
    before, problems = await _ask(run, [each for each in linters if each.name in elsewhere], earlier, limits)
    if problems:  # what they would have said is not known
        return touched
    new = fresh_findings([each for each in found if each.by in elsewhere], before, touched)
    return [*(each for each in touched if each.by not in elsewhere), *new]


def _is_touched(finding: Finding, sheets: Sheets) -> bool:
    return finding.path in sheets and finding.line in sheets[finding.path].added


async def _allowed(run: Run) -> Sequence[Linter]:
    """The project's linters; without a sandbox, those that run nothing of its own."""
    linters, refused = allowed_linters(run, await project_linters(run))
    for why in refused:
        run.emit(Notice(why))
    return linters


async def _ask(
    run: Run, linters: Sequence[Linter], paths: Collection[str], limits: ExecLimits
) -> tuple[list[Finding], list[str]]:
    """What the linters find in these files, and in others because of them; and why some said nothing."""
    every = [await run_linter(run, linter, sorted(paths), limits) for linter in linters]
    found = dict.fromkeys(finding for linted in every for finding in linted.findings)
    return [*found], [linted.problem for linted in every if linted.problem]
