"""Behaviour stays: a check that fails already must not fail in more tests than before."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kith.core.events import Judged
from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.workflows.judges import Judges


def hold_strictly(judges: Judges, *, forgive: bool = False) -> Judges:
    """The same judges, for whom an old failure is old only where it is seen that no more fails now.

    With `forgive` they let such a one pass, and say so; without it that is left to whoever asks them.
    """
    before: dict[str, Judged] = {}

    async def baseline() -> Sequence[Judged]:
        compared = await judges.baseline()
        before.update({judged.gate: judged for judged in compared})
        return compared

    async def gates() -> Sequence[Gate]:
        return [_compare(gate, before, forgive) for gate in await judges.gates()]

    return replace(judges, baseline=baseline, gates=gates)


def _compare(gate: Gate, before: Mapping[str, Judged], forgive: bool) -> Gate:
    async def judge(run: Run, changes: Changes) -> Verdict:
        verdict = await gate(run, changes)
        was = before.get(verdict.by)
        if verdict.ok or was is None or was.ok:
            return verdict
        if is_counted(was) and not _is_worse(was, verdict):
            failed = f"{was.figures['failed']:g} of {was.figures['tests']:g} tests fail, as before the change"
            return Verdict(True, failed, verdict.by) if forgive else verdict
        # Under another name it is no failure of before, and so none that is forgiven.
        return replace(verdict, by=f"{verdict.by} (more than before)")

    return judge


def is_counted(judged: Judged) -> bool:
    """Whether it is known how many tests failed."""
    return bool(judged.figures.get("tests")) and "failed" in judged.figures


def _is_worse(was: Judged, now: Verdict) -> bool:
    """Whether more tests fail, fewer run, or nobody counted them."""
    tests, failed = now.figures.get("tests", 0.0), now.figures.get("failed", 0.0)
    return tests < was.figures["tests"] or failed > was.figures["failed"]
