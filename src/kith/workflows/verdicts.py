"""What the gates say of a change, and of the tree as it was before it."""

import asyncio
from collections.abc import Sequence

from kith.core.events import Judged, Notice
from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.workflows.judges import Judges


async def judge(
    run: Run, judges: Judges, changes: Changes, attempt: int, *, compare: bool
) -> tuple[Verdict, tuple[Judged, ...]]:
    """Ask the gates in turn; the first no ends it. With `compare`, the untouched tree is checked too."""
    if not compare:
        return await ask_gates(run, await judges.gates(), changes, attempt), ()
    if not run.workspace.confined:  # two runs in one unconfined place would get in each other's way
        compared = await check_before(run, judges)
        return await ask_gates(run, await judges.gates(), changes, attempt), compared
    before = asyncio.ensure_future(judges.baseline())
    try:
        verdict = await ask_gates(run, await judges.gates(), changes, attempt)
        compared = tuple(await before)
        for judged in compared:
            run.emit(judged)
        return verdict, compared
    finally:
        before.cancel()
        await asyncio.wait([before])


async def check_before(run: Run, judges: Judges) -> tuple[Judged, ...]:
    """Check the untouched tree, and tell how it stands."""
    compared = tuple(await judges.baseline())
    for judged in compared:
        run.emit(judged)
    return compared


async def ask_gates(
    run: Run, gates: Sequence[Gate], changes: Changes, attempt: int, forgiven: frozenset[str] = frozenset()
) -> Verdict:
    """The first no, or yes. A no of a gate that is `forgiven` is told, and the next gate is asked."""
    for gate in gates:
        verdict = await gate(run, changes)
        skipped = verdict.ok and bool(verdict.feedback)
        run.emit(_judged(verdict, attempt, skipped))
        if not verdict.ok and verdict.by not in forgiven:
            return verdict
        if not verdict.ok:
            run.emit(Notice(f"{verdict.by} fails, as it did before the change.", "warning"))
    return Verdict(True, by="gates")


def _judged(verdict: Verdict, attempt: int, skipped: bool) -> Judged:
    return Judged(
        verdict.by,
        verdict.ok,
        attempt,
        verdict.feedback,
        verdict.ran,
        skipped=skipped,
        figures=dict(verdict.figures),
    )


def in_a_line(refusal: Verdict | None) -> str:
    """A gate's no for the person, in a line; the letter to the model is in the log."""
    if refusal is None:
        return "the checks had said no."
    first = (refusal.feedback.strip() or "it does not say why").splitlines()[0]
    if refusal.ran:
        ran = refusal.ran[-1]
        how = "timed out" if ran.timed_out else f"ends with exit code {ran.code}"
        return f"`{ran.command}` {how} ({first})."
    return f"{refusal.by}: {first}"
