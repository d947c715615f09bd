"""plan -> attempt -> gates -> adopt: a change is made on the side, judged, and adopted or thrown away."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kith.core.errors import TreeError
from kith.core.events import Applied, Judged, Notice, Proposed, Status
from kith.core.loop import close_pending, converse
from kith.core.model import Role
from kith.core.run import Gate, Run, Thread, new_id
from kith.core.values import Changes, Question, Verdict, say
from kith.core.workspace import Trial
from kith.edits import EditError, find_edits, make_changes, paths_of, summarise
from kith.workflows.judges import Judges
from kith.workflows.plan import GO, REQUEST, PlanRejected, make_plan
from kith.workflows.roles import as_planner


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended."""

    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a process that died already did of this task."""

    tries_used: int = 0
    planned: bool = False
    has_baseline: bool = False
    edits_landed: bool = False


async def attempt(
    run: Run,
    role: Role,
    thread: Thread,
    task: str,
    judges: Judges,
    *,
    name: str = "",
    plan: Literal["no", "yes", "show"] = "no",
    earlier: Earlier | None = None,
) -> Outcome:
    """Let a role do `task` in a trial called `name` until gates and person agree, then adopt the change.

    With `earlier`, the thread already holds the task and the work goes on where it stopped.
    """
    async with run.workspace.trial(name) as trial:
        inside = run.inside(trial)
        if earlier is None:
            close_pending(inside, thread)
            thread.add(inside, say(task if plan == "no" else f"{task}\n\n{REQUEST}"))
        try:
            if plan != "no" and not (earlier and earlier.planned):
                with inside.step("plan") as step:
                    await make_plan(step, as_planner(role), thread, ask=plan == "show")
            if plan != "no" and all(message.text != GO for message in thread.messages):
                thread.add(inside, say(GO, "kith"))
        except PlanRejected as no:
            return Outcome("rejected", str(no))
        return await _work(run, trial, role, thread, judges, earlier or Earlier())


async def _work(
    run: Run, trial: Trial, role: Role, thread: Thread, judges: Judges, earlier: Earlier
) -> Outcome:
    inside, number, failures = run.inside(trial), earlier.tries_used, earlier.tries_used
    landed, has_baseline = earlier.edits_landed, earlier.has_baseline
    while failures < run.limits.tries:
        number += 1
        with inside.step(f"attempt {number}") as step:
            text = await converse(step, role, thread, number)
            verdict = Verdict(True, by="edits") if landed else await land_edits(step, trial, thread, number)
            landed, changes = False, await trial.changes()
            if verdict.ok and not changes and not judges.must_check:
                return Outcome("done", text)
            step.emit(Proposed(summarise(changes)))
            if verdict.ok:
                verdict = await judge(step, judges, changes, number, baseline=not has_baseline)
                has_baseline = True
        if verdict.ok and not changes:
            return Outcome("done", text)
        if verdict.ok:
            verdict = await judges.person(inside, changes)
            if verdict.ok:
                return await adopt(run, trial, judges, changes, verdict, text)
            if not verdict.feedback:
                return Outcome("rejected", "Nothing was applied.")
            failures = -1  # a person's words are not a failed try
        failures += 1
        if failures < run.limits.tries:
            thread.add(inside, say(verdict.feedback, verdict.by))
    first = verdict.feedback.strip().split("\n")[0]
    return Outcome("failed", f"Nothing was applied after {failures} tries. {first}")


async def land_edits(run: Run, trial: Trial, thread: Thread, attempt: int) -> Verdict:
    """Bring the edits that the last reply holds as text into the trial: all of them or none."""
    words = next((m.text for m in reversed(thread.messages) if m.role == "assistant"), "")
    try:
        edits = find_edits(words, await trial.files())
        if not edits:
            return Verdict(True, by="edits")
        contents = {path: await _read_or_none(trial, path) for path in paths_of(edits)}
        for change in make_changes(edits, contents):
            await trial.write(change.path, change.after)  # which keeps an executable's mode
        verdict = Verdict(True, by="edits")
    except (EditError, TreeError) as error:
        verdict = Verdict(False, str(error), "edits")
    run.emit(Judged("edits", verdict.ok, attempt, verdict.feedback))
    return verdict


async def _read_or_none(trial: Trial, path: str) -> bytes | None:
    return await trial.read(path) if path in set(await trial.files()) else None


async def judge(run: Run, judges: Judges, changes: Changes, attempt: int, *, baseline: bool) -> Verdict:
    """Ask the gates in turn; the first no ends it. With `baseline`, the untouched tree is checked too."""
    before = asyncio.ensure_future(judges.baseline()) if baseline else None
    try:
        if before and not run.workspace.confined:
            await asyncio.wait([before])  # two runs in one unconfined place would get in each other's way
        verdict = await _ask_gates(run, await judges.gates(), changes, attempt)
        for judged in await before if before else ():
            run.emit(judged)
        return verdict
    finally:
        if before and not before.done():
            before.cancel()
            await asyncio.wait([before])


async def _ask_gates(run: Run, gates: Sequence[Gate], changes: Changes, attempt: int) -> Verdict:
    for gate in gates:
        verdict = await gate(run, changes)
        skipped = verdict.ok and bool(verdict.feedback)
        run.emit(Judged(verdict.by, verdict.ok, attempt, verdict.feedback, verdict.ran, skipped=skipped))
        if not verdict.ok:
            return verdict
    return Verdict(True, by="gates")


async def adopt(
    run: Run, trial: Trial, judges: Judges, changes: Changes, verdict: Verdict, text: str
) -> Outcome:
    """Bring the change, or what the person kept of it, into the user's tree."""
    kept = changes if verdict.changes is None else verdict.changes
    if kept != changes and not await _still_good(run, judges, kept):
        return Outcome("rejected", "Nothing was applied.")
    change_id = await run.workspace.apply(kept)
    run.emit(Applied(change_id, summarise(kept)))
    messages = await trial.commits()
    if messages:
        await judges.commit([change.path for change in kept], "\n\n".join(messages))
    return Outcome("done", text)


async def _still_good(run: Run, judges: Judges, kept: Changes) -> bool:
    """Check again what the person kept; if a gate says no to it, the person has the last word."""
    async with run.workspace.trial() as trial:
        await trial.apply(kept)
        inside = run.inside(trial)
        verdict = await _ask_gates(inside, await judges.gates(), kept, attempt=0)
    if verdict.ok:
        return True
    run.emit(Notice("What you kept does not pass the checks.", "warning"))
    text = f"{verdict.by} fails on what you kept. Apply it all the same?"
    answer = await run.ask(Question(new_id(), "change", text, ("all", "none"), kept))
    return answer.choice == "all"


async def adopt_ready(run: Run, changes: Changes, judges: Judges, text: str) -> Outcome:
    """The same gates and the same question for a change that needed no model."""
    async with run.workspace.trial() as trial:
        await trial.apply(changes)
        inside = run.inside(trial)
        inside.emit(Proposed(summarise(changes)))
        verdict = await judge(inside, judges, changes, 1, baseline=True)
        if not verdict.ok:
            first = verdict.feedback.strip().split("\n")[0]
            return Outcome("failed", f"Nothing was applied. {first}")
        verdict = await judges.person(inside, changes)
        if not verdict.ok:
            return Outcome("rejected", "Nothing was applied.")
        return await adopt(run, trial, judges, changes, verdict, text)
