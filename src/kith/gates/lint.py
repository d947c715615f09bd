"""The gates for what linters and type checkers say: a change must not add findings."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from kith.core.run import Gate, Run
from kith.core.values import SYMLINK, Changes, Finding, Verdict
from kith.core.workspace import ExecLimits
from kith.edits.rows import changed_lines
from kith.gates.known_linters import Kind, Linter
from kith.gates.linters import Linted, run_linter

_TOLD: Final = 40  # findings in one letter


def lint_gate(linters: Sequence[Linter], limits: ExecLimits, untouched: Run | None = None) -> Gate:
    """Refuses a change with findings of linters that were not there before it.

    `untouched`: a run on the tree without the change. When a linter finds anything, it is asked about that
    tree too, and only what there is more of counts, on whatever line. Without it, findings on lines that the
    change added or changed count.
    """
    return findings_gate("lint", linters, limits, untouched)


def findings_gate(kind: Kind, linters: Sequence[Linter], limits: ExecLimits, untouched: Run | None) -> Gate:
    """The gate of this name that asks the linters of this kind. Skipped where none of them can run."""
    asked = [linter for linter in linters if linter.kind == kind]

    async def judge(run: Run, changes: Changes) -> Verdict:
        every = [await _new_of(run, linter, changes, limits, untouched) for linter in asked]
        found = [finding for linted in every for finding in linted.findings]
        figures = {"findings": float(len(found))}
        if found:
            return Verdict(False, _letter(found), kind, figures=figures)
        problems = [linted.problem for linted in every if linted.problem]
        if problems and len(problems) == len(every):
            return Verdict(True, " ".join(problems), kind)
        return Verdict(True, "", kind, figures=figures)

    return judge


async def _new_of(
    run: Run, linter: Linter, changes: Changes, limits: ExecLimits, untouched: Run | None
) -> Linted:
    """Return one linter's findings that the change introduced."""
    written = [change.path for change in changes if change.after is not None and change.mode != SYMLINK]
    linted = await run_linter(run, linter, written, limits)
    if not linted.findings:
        return linted
    lines = {change.path: changed_lines(change) for change in changes}
    touched = [each for each in linted.findings if each.line in lines.get(each.path, ())]
    if untouched is None:
        return Linted(linter, tuple(touched))
    earlier = [change.path for change in changes if change.before is not None]
    async with untouched.workspace.trial() as trial:
        before = await run_linter(untouched.inside(trial), linter, earlier, limits)
    if before.problem:  # what it would have said is not known
        return Linted(linter, tuple(touched))
    return Linted(linter, fresh_findings(linted.findings, before.findings, touched))


def fresh_findings(
    found: Sequence[Finding], before: Sequence[Finding], touched: Sequence[Finding]
) -> tuple[Finding, ...]:
    """Return the findings that are new. Lines move, so line numbers are not compared."""
    known = Counter(map(_sameness, before))
    fresh = []
    # Where one of two equal findings is old, it is the one on a line that nobody touched.
    for finding in sorted(found, key=lambda each: (each in touched, each.path, each.line)):
        if known[_sameness(finding)]:
            known[_sameness(finding)] -= 1
        else:
            fresh.append(finding)
    return tuple(sorted(fresh, key=lambda each: (each.path, each.line)))


def _sameness(finding: Finding) -> tuple[str, str, str]:
    return finding.path, finding.rule, re.sub(r"\d+", "#", finding.text)


def _letter(found: Sequence[Finding]) -> str:
    """The findings as a message to the model."""
    lines = [f"{each.path}:{each.line}: {each.text} ({each.rule})" for each in found[:_TOLD]]
    if len(found) > _TOLD:
        lines.append(f"and {len(found) - _TOLD} more")
    tools = " and ".join(sorted({each.by for each in found}))
    which = "a finding that was" if len(found) == 1 else f"{len(found)} findings that were"
    told = "\n".join(lines)
    return f"Your change brings {which} not there before, by {tools}: {told}\n\nCorrect this."


def types_gate(linters: Sequence[Linter], limits: ExecLimits, untouched: Run | None = None) -> Gate:
    """Like `lint_gate`, for the type checkers among `linters`.

    With `untouched`, a caller elsewhere that no longer fits counts too, where the checker looks at it.
    """
    return findings_gate("types", linters, limits, untouched)
