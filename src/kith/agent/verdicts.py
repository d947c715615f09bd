"""What the gates say of a change, and of the tree as it was before it."""

from collections.abc import Iterable, Sequence

from kith.agent.judges import Judges
from kith.core.events import Judged
from kith.core.evidence import CheckEvidence, Tries, combine
from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict


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
    """Ask the gates in turn; the first no ends it. With `compare`, the untouched tree is told of first."""
    compared = await check_before(run, judges) if compare else ()
    return await ask_gates(run, await judges.gates(claimed, tries), changes, attempt), compared


async def check_before(run: Run, judges: Judges) -> tuple[Judged, ...]:
    """Check the untouched tree, and tell how it stands."""
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
    """A gate's no for the person, in a line; the letter to the model is in the log."""
    if refusal is None:
        return "the checks had said no."
    first = (refusal.feedback.strip() or "it does not say why").splitlines()[0]
    ran = refusal.ran[-1] if refusal.ran else None
    if ran and (ran.code or ran.timed_out):  # what ends well was refused for what it did not run
        how = "timed out" if ran.timed_out else f"ends with exit code {ran.code}"
        return f"`{ran.command}` {how} ({first})."
    return f"{refusal.by}: {first if first.endswith(('.', '!', '?')) else f'{first}.'}"
