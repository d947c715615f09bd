"""plan -> attempt -> gates -> adopt: a change is made on the side, judged, and adopted or thrown away."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.judges import Judges
from kith.agent.kept_trial import kept_trial, renew
from kith.agent.lint_notes import AUTHOR, word_lint_notes
from kith.agent.plan import PlanRejected, agree_on_plan, with_request
from kith.agent.relay import GIVING_UP, Abandoned, GivenUp, Leg, Relief, hand_over, nobody
from kith.agent.roles import as_planner
from kith.agent.verdicts import decide, in_a_line, judge
from kith.core.errors import AbsentError, NoModelError, TreeError
from kith.core.events import Applied, Committed, Judged, Notice, Proposed, Reviewed, Status
from kith.core.evidence import Evidence
from kith.core.loop import begin_turn, converse
from kith.core.model import Role
from kith.core.run import Gate, Run, Thread
from kith.core.values import Changes, Finding, Message, Plan, Text, Verdict, say
from kith.core.workspace import Trial
from kith.edits import EditError, find_edits, summarise
from kith.settings.features import find_part
from kith.tools.patch import apply_edits


def claimed_tests(thread: Thread) -> tuple[str, ...]:
    """The tests (ids or files) that the last `done` names since a person spoke; none where it names none.

    The model's own report does not count: a judge decides, or the person is asked.
    """
    for message in reversed(thread.messages):
        if message.role == "user" and message.author == "person":
            break
        for result in message.results:
            if result.detail.get("final"):
                return tuple(map(str, result.detail.get("tests", ())))
    return ()


Planning = Literal["no", "yes", "show"]
# Tells what stands out in a change, with what linters found; with a role, its model is asked as well.
TellNotes = Callable[[Run, Changes, Sequence[Finding], Role | None, Thread], Awaitable[None]]

BESIDE = (
    "Nothing was changed: your edits stood beside tool calls, and only edits in a reply without tool calls "
    "are taken. Send them again, in a reply of their own or as calls of the edit tool."
)


RENEWED = "Your tree was edited meanwhile, so nothing was applied. This is the change on what is there now:"
HOOKS = "hooks"  # who says no where the model may not end its work
STOPPED = "The model was stopped before it said so, but all checks pass now."
TO_CORRECT = "Linter findings go back to the model."
ROLLED_BACK = "No correction passed; the change is as it was before."
FILES_BACK = "Your correction does not pass, so it was rolled back: the files are as before these findings."


class Outcome(Struct, frozen=True):
    """The end of a task; what checks said of the tree `before`, and last of the change (None: nothing).

    `answer` is the JSON value that the person's schema asks for.
    """

    status: Status
    text: str
    before: tuple[Judged, ...] = ()
    evidence: Evidence | None = None
    answer: Any = None


class TaskProgress(Struct, frozen=True):
    """The progress of a task; a resumed task begins with that of its log.

    `refusals`: noes of gates since a person last spoke, or another model took over. `refusal`: the last one,
    while the model has not been told of it. `compared`: the checks have run on the untouched tree, as
    `before` tells; `evidence` is what they said of the last change. `landed`: the edits in the last message
    are in the trial. `given_up`: who worked on it before, while the present model has not been told of that.
    `linted`: the model was told what linters found in a change that passed. `late`: it was told that a
    check did not end in its time, which costs no try once. `plan`: what was agreed on.
    """

    attempts: int = 0
    refusals: int = 0
    refusal: Verdict | None = None
    compared: bool = False
    before: tuple[Judged, ...] = ()
    landed: bool = False
    given_up: GivenUp | None = None
    evidence: Evidence | None = None
    linted: bool = False
    late: bool = False
    plan: Plan | None = None


class Tried(Struct, frozen=True):
    """The result of an attempt: the change, its verdict, and the checks of the tree before, if asked for."""

    changes: Changes
    verdict: Verdict
    before: tuple[Judged, ...] = ()

    def after(self, progress: TaskProgress) -> TaskProgress:
        """Return the progress after this attempt."""
        no = None if self.verdict.ok else self.verdict
        late = bool(no and no.evidence and no.evidence.reason == "out_of_time")
        return replace(
            progress,
            refusals=progress.refusals + bool(no and (progress.late or not late)),
            late=progress.late or late,
            refusal=no,
            compared=progress.compared or self.verdict.by not in ("edits", HOOKS),
            before=progress.before or self.before,
            evidence=self.verdict.evidence,
            landed=False,
        )


async def attempt(
    run: Run,
    leg: Leg,
    task: Message,
    judges: Judges,
    *,
    plan: Planning = "no",
    earlier: TaskProgress | None = None,
    relief: Relief = nobody,
) -> Outcome:
    """Let a role do `task` in the run's trial until gates and person agree, then adopt the change.

    With `earlier`, the work goes on where it stopped. `relief` is asked for another model where one has used
    its tries or cannot go on. A change that was not adopted waits in its trial.
    """
    async with kept_trial(run.workspace, run.trial_name) as held:
        if earlier:
            await held.trial.withdraw()
        outcome = await _in_trial(run, held.trial, leg, task, judges, plan, earlier, relief)
        held.adopted = outcome.status == "done"
    return outcome


async def _in_trial(
    run: Run,
    trial: Trial,
    leg: Leg,
    task: Message,
    judges: Judges,
    plan: Planning,
    earlier: TaskProgress | None,
    relief: Relief,
) -> Outcome:
    if earlier is None:
        words = task.text if plan == "no" else with_request(task.text)
        begin_turn(run.inside(trial), leg.thread, say(words, images=task.images))
    progress = earlier or TaskProgress()
    before: GivenUp | None = None
    try:
        while True:
            ended, progress = await _run_leg(run, trial, leg, judges, progress, plan)
            if isinstance(ended, Outcome):
                return replace(ended, before=progress.before, evidence=progress.evidence)
            following = await relief(ended)
            if following is None:
                return _nobody_left(ended, before, progress)
            before, leg = ended, following
            progress = replace(progress, refusals=0, landed=False, given_up=ended)
    except PlanRejected as no:
        return Outcome("rejected", str(no))
    except TreeError as error:
        # The trial no longer fits the tree (or the disk): the model cannot go on, and the change waits.
        return Outcome("failed", str(error))


def _nobody_left(ended: GivenUp, before: GivenUp | None, progress: TaskProgress) -> Outcome:
    """The end of a task that no model has done. Raises what stopped the last one, if anything did.

    One that could not be asked at all is no reason of its own where another one has tried `before`.
    """
    if before and isinstance(ended.error, NoModelError):
        return Outcome("failed", _not_applied(f"{before.why} {ended.why}", progress.refusal))
    if ended.error:
        raise ended.error
    return Outcome("failed", _not_applied(ended.why, progress.refusal))


def _not_applied(why: str, refusal: Verdict | None) -> str:
    """For the person; where a command decided, also how to name another one."""
    other = " For another check: --check CMD, or /config check CMD in a conversation. `none` runs no tests."
    hint = other if refusal and refusal.ran else ""
    return f"Nothing was applied: {why}{hint}"


async def _run_leg(
    run: Run, trial: Trial, leg: Leg, judges: Judges, progress: TaskProgress, plan: Planning
) -> tuple[Outcome | GivenUp, TaskProgress]:
    """Attempt after attempt of one model; every no, a gate's or the person's, is the next message."""
    inside = run.inside(trial)
    if progress.given_up:
        progress = await _take_over(inside, trial, leg, progress.given_up, progress, plan)
    while progress.refusals < run.limits.tries:
        if progress.refusal:
            begin_turn(inside, leg.thread, say(progress.refusal.feedback, progress.refusal.by))
        try:
            if plan != "no" and not progress.attempts:
                agreed = await agree_on_plan(inside, as_planner(leg.role), leg.thread, ask=plan == "show")
                progress = replace(progress, plan=agreed or progress.plan)
            progress = replace(progress, attempts=progress.attempts + 1, refusal=None)
            tried = await _try(inside, trial, leg, judges, progress)
            progress = tried.after(progress)
        except GIVING_UP as error:
            tried = await _judge_rest(inside, trial, leg, judges, progress)
            progress = tried.after(progress)
            if not _fixes(tried):
                return GivenUp(leg.role.model.name, str(error), error), progress
        if tried.verdict.ok and tried.changes:
            tried, progress = await _look_again(inside, trial, leg, judges, tried, progress)
        if not tried.verdict.ok:
            continue
        if not tried.changes:
            return Outcome("done", leg.thread.last_words), progress
        bound = replace(run, plan=progress.plan)
        decision = await decide(bound, trial, judges, tried.changes, tried.verdict.evidence)
        if decision.ok:
            text = leg.thread.last_words or STOPPED
            return await adopt(bound, trial, judges, tried.changes, decision, text), progress
        if decision.unmet or not decision.feedback:
            return not_adopted(decision), progress
        progress = replace(progress, refusal=decision, refusals=0)
    tries = f"{progress.refusals} tries" if progress.refusals > 1 else "one try"
    return GivenUp(leg.role.model.name, f"after {tries}, {in_a_line(progress.refusal)}"), progress


async def _take_over(
    run: Run, trial: Trial, leg: Leg, given_up: GivenUp, progress: TaskProgress, plan: Planning
) -> TaskProgress:
    """Tell a model where the one before it left the task; it plans first if nobody has."""
    words = await hand_over(run, trial, leg, given_up, Abandoned(progress.refusal, progress.before))
    planned = plan == "no" or progress.attempts > 0
    begin_turn(run, leg.thread, say(words if planned else with_request(words), "kith"))
    return replace(progress, given_up=None, refusal=None)


async def _judge_rest(run: Run, trial: Trial, leg: Leg, judges: Judges, progress: TaskProgress) -> Tried:
    """Judge the change of a stopped model before another one takes over; it may be good already."""
    changes = () if leg.last else await trial.changes()
    if not changes:
        return Tried((), Verdict(True, by="edits"))
    run.emit(Proposed(summarise(changes)))
    compare = not progress.compared
    return Tried(
        changes, *await judge(run, judges, changes, progress.attempts, tries="more", compare=compare)
    )


async def _look_again(
    run: Run, trial: Trial, leg: Leg, judges: Judges, passed: Tried, progress: TaskProgress
) -> tuple[Tried, TaskProgress]:
    """Look once more at a change that passed the gates; its model may correct what linters find."""
    tried, found = passed, await judges.lint(run, passed.changes)
    if found and not progress.linted:
        progress = replace(progress, attempts=progress.attempts + 1, linted=True)
        tried, found = await _correct(run, trial, leg, judges, passed, found, progress)
        progress = tried.after(progress)
    if tried.verdict.ok:
        if judges.audit:
            await judges.audit(run, tried.changes)
        await _tell_notes(run, tried.changes, found, leg.role if judges.review else None, leg.thread)
    return tried, progress


async def _correct(
    run: Run,
    trial: Trial,
    leg: Leg,
    judges: Judges,
    passed: Tried,
    found: Sequence[Finding],
    progress: TaskProgress,
) -> tuple[Tried, Sequence[Finding]]:
    """Let the model correct what linters found, once; also return what they find then.

    A correction that does not pass costs nothing: the change is what it was, and is judged once more.
    """
    words = leg.thread.last_words or STOPPED
    run.emit(Notice(TO_CORRECT))
    begin_turn(run, leg.thread, say(word_lint_notes(found), AUTHOR))
    try:
        tried = await _try(run, trial, leg, judges, progress)
    except GIVING_UP as error:
        tried = Tried((), Verdict(False, str(error), "edits"))
    if tried.verdict.ok and tried.changes:
        same = tried.changes == passed.changes
        return tried, found if same else await judges.lint(run, tried.changes)
    run.emit(Notice(ROLLED_BACK, "warning"))
    begin_turn(run, leg.thread, say(FILES_BACK, AUTHOR))
    leg.thread.add(run, Message("assistant", (Text(words),), "kith"))
    await trial.go_back("")
    await trial.apply(passed.changes)
    await trial.remember(passed.changes)
    run.emit(Proposed(summarise(passed.changes)))
    judged = await judge(run, judges, passed.changes, progress.attempts, tries="more", compare=False)
    return Tried(passed.changes, *judged), found


def _fixes(tried: Tried) -> bool:
    """True if a test that failed without the change passes with it, and none is lost."""
    evidence = tried.verdict.evidence
    return bool(tried.changes) and tried.verdict.ok and evidence is not None and evidence.grade == "proven"


async def _tell_notes(
    run: Run, changes: Changes, found: Sequence[Finding], role: Role | None, thread: Thread
) -> None:
    """Show findings, and a reviewer's notes, beside the diff."""
    tell: TellNotes | None = find_part(lambda feature: feature.notes)
    if tell:
        await tell(run, changes, found, role, thread)
    elif found:
        run.emit(Reviewed(tuple(found)))


async def _try(run: Run, trial: Trial, leg: Leg, judges: Judges, progress: TaskProgress) -> Tried:
    """One attempt of the model, and what the gates say of it."""
    number, thread = progress.attempts, leg.thread
    with run.step(f"attempt {number}", kind="attempt", attempt=number) as step:
        async with trial.turn():
            await converse(step, leg.role, thread, number)
        verdict = Verdict(True, by="edits")
        if not progress.landed:
            verdict = await land_edits(step, trial, thread, number)
        changes = await trial.remember(await trial.changes())
        step.emit(Proposed(summarise(changes)))
        if verdict.ok and not changes and _edits_beside_calls(thread):
            verdict = Verdict(False, BESIDE, "edits")
            step.emit(Judged("edits", False, number, BESIDE))
        if verdict.ok and judges.ending:
            verdict = await may_end(step, judges.ending, changes, number)
        if verdict.ok and (changes or judges.must_check):
            judged = await judge(
                step,
                judges,
                changes,
                number,
                claimed=claimed_tests(thread),
                tries="none" if leg.last and progress.refusals + 1 >= run.limits.tries else "more",
                compare=not progress.compared,
            )
            return Tried(changes, *judged)
    return Tried(changes, verdict)


async def may_end(run: Run, ending: Gate, changes: Changes, attempt: int) -> Verdict:
    """Ask the hooks if the model may end its work here; logged like any gate."""
    verdict = await ending(run, changes)
    run.emit(Judged(HOOKS, verdict.ok, attempt, verdict.feedback))
    return Verdict(True, by="edits") if verdict.ok else replace(verdict, by=HOOKS)


async def land_edits(run: Run, trial: Trial, thread: Thread, attempt: int) -> Verdict:
    """Apply the edits in the last reply's text to the trial: all of them or none.

    Where an earlier reply of the turn was cut in its edits, these are only the other half, and refused.
    """
    replies = thread.replies
    try:
        known = frozenset(await trial.files())
        last = replies[-1] if replies else Message("assistant", ())
        edits = find_edits(last.text, known, "stop" if last.complete else "length")
        if not edits:
            return Verdict(True, by="edits")
        for reply in replies[:-1]:
            if not reply.complete:
                find_edits(reply.text, known, "length")
        await apply_edits(trial, edits, known)
    except (EditError, TreeError) as error:
        absent = isinstance(error, AbsentError) or (isinstance(error, EditError) and error.absent)
        run.emit(Judged("edits", False, attempt, str(error), fault="absent" if absent else ""))
        return Verdict(False, str(error), "edits")
    run.emit(Judged("edits", True, attempt))
    return Verdict(True, by="edits")


def _edits_beside_calls(thread: Thread) -> bool:
    """True if the model wrote edits in a message with tool calls, since the last message to it."""
    for message in reversed(thread.messages):
        if message.role == "user":
            return False
        try:
            if message.calls and find_edits(message.text):
                return True
        except EditError:
            return True
    return False


async def adopt(
    run: Run, trial: Trial, judges: Judges, changes: Changes, decision: Verdict, text: str
) -> Outcome:
    """Apply the change, or the part that the person kept, to the user's tree.

    What was edited there since it was shown is never written over: the change is made again on that, checked
    again and asked about again.
    """
    kept = changes if decision.changes is None else decision.changes
    messages = await trial.commits()
    try:
        change_id = await run.workspace.apply(kept)
    except TreeError:
        renewed = await renew(run.workspace, kept)
        if renewed in ((), kept):
            raise
        run.emit(Notice(RENEWED, "warning"))
        return await adopt_ready(replace(run, trial_name=""), renewed, judges, text)  # `trial` keeps it
    run.emit(Applied(change_id, summarise(kept)))
    if messages and kept == changes:
        if commit := await judges.commit([change.path for change in kept], "\n\n".join(messages)):
            run.emit(Committed(change_id, commit))
    elif messages:
        run.emit(Notice("Not committed, since only a part was kept.", "warning"))
    return Outcome("done", text)


async def adopt_ready(run: Run, changes: Changes, judges: Judges, text: str) -> Outcome:
    """The same gates and the same question for a change that needed no model; refused, it waits."""
    async with kept_trial(run.workspace, run.trial_name) as held:
        await held.trial.go_back("")  # a crash may have left something
        await held.trial.apply(changes)
        await held.trial.remember(changes)
        outcome = await _judge_ready(run, held.trial, changes, judges, text)
        held.adopted = outcome.status == "done"
    return outcome


async def _judge_ready(run: Run, trial: Trial, changes: Changes, judges: Judges, text: str) -> Outcome:
    inside = run.inside(trial)
    inside.emit(Proposed(summarise(changes)))
    verdict, _ = await judge(inside, judges, changes, 1, compare=True)
    if not verdict.ok:
        return Outcome("failed", _not_applied(in_a_line(verdict), verdict))
    decision = await decide(run, trial, judges, changes, verdict.evidence)
    if not decision.ok:
        return not_adopted(decision)
    return await adopt(run, trial, judges, changes, decision, text)


def not_adopted(decision: Verdict) -> Outcome:
    """The end of a change to which nobody said yes: a person refused it, or it waits for one."""
    if decision.unmet:
        return Outcome("held", decision.feedback)
    return Outcome("rejected", "Nothing was applied.")
