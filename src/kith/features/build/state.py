"""The state of a build: its steps, which one follows which, and the fold of its log."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal

from msgspec import Struct, field

from kith.core.errors import KithError
from kith.core.events import (
    Advanced,
    Applied,
    Called,
    Event,
    Judged,
    Locked,
    Resumed,
    RunEnded,
    RunStarted,
    Said,
    Stepped,
    Tasked,
    ToolBegan,
    ToolEnded,
)
from kith.core.values import BuildTask, Usage
from kith.features.build.tasks import dependents

# The machine of a build: its steps, and one table that says which step follows what came of another.


class BuildStep(StrEnum):
    """The steps of a build; the last three are its ends."""

    PLAN = "plan"  # the architect cuts the request into tasks
    AGREE = "agree"  # the person reads them, edits them, says yes
    MEASURE = "measure"  # the untouched project's tests run: what passes now must pass at the end
    NEXT = "next"  # the first task whose turn it is
    SPECIFY = "specify"  # the spec author writes the task's tests
    LOCK = "lock"  # they must run, and fail for the right reason; from then on nobody may touch them
    IMPLEMENT = "implement"  # the implementer makes them pass
    CHECK = "check"  # all tests and gates
    REVIEW = "review"  # the reviewer reads the failure and gives one instruction
    ROLL_BACK = "roll_back"  # everything is as it was before the task
    REFINE = "refine"  # the refiner makes the change simpler
    WEIGH = "weigh"  # all tests and gates once more: the simpler version is kept or thrown away
    FINISH = "finish"  # everything on the whole change, and its coverage
    COVER = "cover"  # the spec author adds tests for lines that no test runs
    PROVE = "prove"  # they must pass, and notice faults planted in those lines; then they are locked, too
    APPROVE = "approve"  # the person reads one diff
    APPLY = "apply"  # the user's tree is changed, once
    COMMIT = "commit"  # only where it was asked for
    DONE = "done"
    FAILED = "failed"
    REJECTED = "rejected"


ENDS: Final = frozenset({BuildStep.DONE, BuildStep.FAILED, BuildStep.REJECTED})
# Steps that leave the trial's files other than they found them: a checkpoint follows. Where a guard of the
# tests puts files back, one follows too.
WRITES: Final = frozenset(
    {BuildStep.SPECIFY, BuildStep.IMPLEMENT, BuildStep.REFINE, BuildStep.COVER, BuildStep.APPROVE}
)

TRANSITIONS: Final[Mapping[tuple[BuildStep, str], BuildStep]] = {
    (BuildStep.PLAN, "tasks"): BuildStep.AGREE,
    (BuildStep.PLAN, "faulty"): BuildStep.PLAN,
    (BuildStep.PLAN, "limit"): BuildStep.FAILED,
    (BuildStep.AGREE, "yes"): BuildStep.MEASURE,
    (BuildStep.AGREE, "revise"): BuildStep.PLAN,
    (BuildStep.AGREE, "no"): BuildStep.REJECTED,
    (BuildStep.MEASURE, "measured"): BuildStep.NEXT,
    (BuildStep.MEASURE, "no"): BuildStep.REJECTED,
    (BuildStep.MEASURE, "unmeasured"): BuildStep.FAILED,
    (BuildStep.NEXT, "task"): BuildStep.SPECIFY,
    (BuildStep.NEXT, "finished"): BuildStep.FINISH,
    (BuildStep.NEXT, "nothing"): BuildStep.FAILED,
    (BuildStep.SPECIFY, "written"): BuildStep.LOCK,
    (BuildStep.LOCK, "locked"): BuildStep.IMPLEMENT,
    (BuildStep.LOCK, "wrong"): BuildStep.SPECIFY,
    (BuildStep.LOCK, "limit"): BuildStep.ROLL_BACK,
    (BuildStep.LOCK, "untestable"): BuildStep.FAILED,
    (BuildStep.IMPLEMENT, "written"): BuildStep.CHECK,
    (BuildStep.CHECK, "yes"): BuildStep.REFINE,
    (BuildStep.CHECK, "better"): BuildStep.REVIEW,
    (BuildStep.CHECK, "no"): BuildStep.REVIEW,
    (BuildStep.CHECK, "limit"): BuildStep.ROLL_BACK,
    (BuildStep.REVIEW, "advised"): BuildStep.IMPLEMENT,
    (BuildStep.ROLL_BACK, "rolled back"): BuildStep.NEXT,
    (BuildStep.REFINE, "written"): BuildStep.WEIGH,
    (BuildStep.REFINE, "skipped"): BuildStep.NEXT,
    (BuildStep.WEIGH, "kept"): BuildStep.NEXT,
    (BuildStep.WEIGH, "discarded"): BuildStep.NEXT,
    (BuildStep.WEIGH, "unchanged"): BuildStep.NEXT,
    (BuildStep.FINISH, "yes"): BuildStep.APPROVE,
    (BuildStep.FINISH, "uncovered"): BuildStep.COVER,
    (BuildStep.FINISH, "no"): BuildStep.FAILED,
    (BuildStep.COVER, "written"): BuildStep.PROVE,
    (BuildStep.PROVE, "locked"): BuildStep.FINISH,
    (BuildStep.PROVE, "wrong"): BuildStep.COVER,
    (BuildStep.PROVE, "limit"): BuildStep.FINISH,
    (BuildStep.APPROVE, "yes"): BuildStep.APPLY,
    (BuildStep.APPROVE, "revise"): BuildStep.IMPLEMENT,
    (BuildStep.APPROVE, "no"): BuildStep.REJECTED,
    (BuildStep.APPLY, "applied"): BuildStep.COMMIT,
    (BuildStep.COMMIT, "committed"): BuildStep.DONE,
    (BuildStep.COMMIT, "skipped"): BuildStep.DONE,
    (BuildStep.COMMIT, "refused"): BuildStep.DONE,
}

# Outcomes after which the trial is at an earlier checkpoint.
_WENT_BACK: Final = frozenset({(BuildStep.WEIGH, "discarded"), (BuildStep.PROVE, "limit")})

TaskState = Literal["waiting", "active", "done", "rolled back", "skipped"]

# Who plays in a step that asks a model.
ROLES: Final[Mapping[BuildStep, str]] = {
    BuildStep.PLAN: "architect",
    BuildStep.SPECIFY: "spec-author",
    BuildStep.IMPLEMENT: "implementer",
    BuildStep.REVIEW: "reviewer",
    BuildStep.REFINE: "refiner",
    BuildStep.COVER: "spec-author",
}
# Gates that put files back: nobody but the spec author writes tests, and the spec author nothing else.
GUARDS: Final = frozenset({"untouched", "tests-only"})
# What came of a step tells whether a role's work was good.
_GOOD: Final = {
    (BuildStep.PLAN, "tasks"): ("architect", True),
    (BuildStep.PLAN, "faulty"): ("architect", False),
    (BuildStep.LOCK, "locked"): ("spec-author", True),
    (BuildStep.LOCK, "wrong"): ("spec-author", False),
    (BuildStep.LOCK, "limit"): ("spec-author", False),
    (BuildStep.PROVE, "locked"): ("spec-author", True),
    (BuildStep.PROVE, "wrong"): ("spec-author", False),
    (BuildStep.PROVE, "limit"): ("spec-author", False),
    (BuildStep.CHECK, "yes"): ("implementer", True),
    (BuildStep.CHECK, "better"): ("implementer", False),
    (BuildStep.CHECK, "no"): ("implementer", False),
    (BuildStep.CHECK, "limit"): ("implementer", False),
    (BuildStep.WEIGH, "kept"): ("refiner", True),
    (BuildStep.WEIGH, "discarded"): ("refiner", False),
}


class Played(Struct):
    """The work of a role: its steps, and the number of good and bad results."""

    steps: int = 0
    good: int = 0
    bad: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()


class TaskProgress(Struct):
    """One task of a build, and how far it has come.

    `refusals`: noes that count against the limit. `best`: the most of its tests that ever passed. `kept`: it
    was done once, and a person asked for more. `said`: the last no, shortened for a model with little room.

    Checkpoints of the trial: `base`, which a roll back returns to; `specified`, when the tests were locked;
    `good`, when all gates had said yes.
    """

    task: BuildTask
    state: TaskState = "waiting"
    attempts: int = 0
    corrections: int = 0  # of its tests, before they were locked
    refusals: int = 0
    best: int = -1
    gates: dict[str, Judged] = field(default_factory=dict)
    locked: Locked | None = None
    base: str = ""
    specified: str = ""
    good: str = ""
    kept: bool = False
    said: str = ""
    why: str = ""
    seconds: float = 0.0
    usage: Usage = Usage()

    @property
    def refusal(self) -> str:
        """The feedback of the last gate that refused; before any gate, how the new tests fail."""
        noes = [judged.feedback for judged in self.gates.values() if not judged.ok]
        spec = self.gates.get("spec")
        return noes[-1] if noes else spec.feedback if spec else ""


class Build(Struct):
    """The progress of a build.

    `step` is what comes next, or runs now; `finished` counts the steps that are over.
    `spoken`: somebody spoke to the model in the step that runs now. `landed`: the edits in its last message
    are in the trial. `checkpoint`: the trial's files as this step found them. `put_back`: a guard of tests
    has put files back since. `covers`: tries to test lines that no test ran. `uncovered`: the checkpoint that
    the present one of them began from.
    """

    request: str = ""
    began: float = 0.0  # seconds since the epoch
    ended: RunEnded | None = None
    at: float = 0.0  # when the last event happened
    pieces: dict[str, TaskProgress] = field(default_factory=dict)
    step: BuildStep = BuildStep.PLAN
    task: str = ""
    last: Advanced | None = None
    finished: int = 0
    plans: int = 0  # how often the architect answered since a person last spoke
    checkpoint: str = ""
    covers: int = 0
    uncovered: str = ""
    put_back: bool = False
    spoken: bool = False
    landed: bool = False
    baseline: Locked | None = None  # what passed before anything was changed
    before: Judged | None = None  # how the untouched project's tests ended
    final: dict[str, Judged] = field(default_factory=dict)  # gates on the whole change, by name
    applied: Applied | None = None
    running: str = ""  # the step inside which things happen now, "" between two
    since: float = 0.0
    doing: str = ""  # the tool that runs now
    seconds: float = 0.0
    testing: float = 0.0  # of these, in the project's own build and tests
    tested: float = 0.0  # the same of the step that runs now: both count when it ends
    played: dict[str, Played] = field(default_factory=dict)

    @property
    def tasks(self) -> tuple[BuildTask, ...]:
        return tuple(piece.task for piece in self.pieces.values())

    @property
    def piece(self) -> TaskProgress:
        """The task that is worked on. Raises KeyError where there is none."""
        return self.pieces[self.task]

    @property
    def locks(self) -> tuple[Locked, ...]:
        """The tests that hold now, those of earlier tasks first."""
        return tuple(piece.locked for piece in self.pieces.values() if piece.locked)

    @property
    def locked_files(self) -> dict[str, str]:
        """The SHA-256 of every locked file; where a later task has added to one, it is the later one's."""
        return {path: digest for lock in self.locks for path, digest in lock.files.items()}

    @property
    def upcoming(self) -> str:
        """The id of the next task, "" when none is left."""
        waiting = (id for id, piece in self.pieces.items() if piece.state == "waiting")
        return next(waiting, "")

    @property
    def done(self) -> tuple[TaskProgress, ...]:
        return tuple(piece for piece in self.pieces.values() if piece.state == "done")

    @property
    def complete(self) -> bool:
        """True if every task is done, and committed if that was asked for."""
        refused = self.last is not None and self.last.outcome == "refused"
        return len(self.done) == len(self.pieces) and not refused

    @property
    def attempt(self) -> int:
        """Count the tries of the present step, this one included, where a task may repeat it."""
        if self.step is BuildStep.PLAN:
            return self.plans + 1
        if self.step in (BuildStep.COVER, BuildStep.PROVE):
            return self.covers + 1
        piece = self.pieces.get(self.task)
        if piece is None:
            return 0
        if self.step in (BuildStep.SPECIFY, BuildStep.LOCK):
            return piece.corrections + 1
        return piece.attempts + (self.step in (BuildStep.IMPLEMENT, BuildStep.CHECK))

    # --- one more event ----------------------------------------------------------------------

    def take(self, event: Event, path: tuple[str, ...] = (), at: float = 0.0) -> None:
        """Take one more event in, with the step it happened in and when (seconds since the epoch)."""
        self.at = at
        match event:
            case RunStarted(task):
                self.request, self.began = task, at
            case Resumed():
                self.ended = None
            case RunEnded():
                self.ended, self.running, self.doing = event, "", ""
            case Tasked(tasks):
                self.pieces = {task.id: TaskProgress(task) for task in tasks}
            case Advanced():
                self._advance(event)
            case Locked():
                self._lock(event)
            case Judged():
                self._judge(event)
            case Applied():
                self.applied = event
            case _:
                self._watch(event, path, at)

    def _watch(self, event: Event, path: tuple[str, ...], at: float) -> None:
        """Take an event inside a step."""
        match event:
            case Stepped() if len(path) == 1:
                self._step(event, at)
            case Said(_, message):
                self.landed = False
                self.spoken = self.spoken or (message.role == "user" and message.author != "kith")
            case Called():
                self._call(event.usage)
            case ToolBegan(_, name, effect, target):
                self.doing = f"{'$' if effect == 'exec' else name} {target}".strip()
            case ToolEnded():
                self.doing = ""

    def _step(self, event: Stepped, at: float) -> None:
        if event.state == "began":
            self.running, self.since, self.ended, self.tested = event.name, at, None, 0.0
            if self.step is BuildStep.FAILED:  # taken up again, with the step that had failed
                self.step = BuildStep(event.kind)
            if self.step in ROLES:
                self._player.steps += 1
            self.begin(self.step)
            return
        self.running = self.doing = ""
        self.seconds += event.seconds
        self.testing += min(self.tested, event.seconds)
        if self.step in ROLES:
            self._player.seconds += event.seconds
        if self.task in self.pieces:
            self.piece.seconds += event.seconds

    def begin(self, step: BuildStep) -> None:
        """A step begins: what a gate said of an earlier attempt holds no longer."""
        if step is BuildStep.CHECK:
            self.piece.gates = {name: each for name, each in self.piece.gates.items() if name == "spec"}

    @property
    def _player(self) -> Played:
        return self.played.setdefault(ROLES.get(self.step, "kith"), Played())

    def _call(self, usage: Usage) -> None:
        self._player.usage += usage
        if self.task in self.pieces:
            self.piece.usage += usage

    def _lock(self, event: Locked) -> None:
        if event.task:
            self.pieces[event.task].locked = event
        else:
            self.baseline = event

    def _judge(self, event: Judged) -> None:
        self.tested += sum(ran.seconds for ran in event.ran)
        self.put_back = self.put_back or (event.gate in GUARDS and not event.ok)
        if event.gate == "edits":
            self.landed = event.ok
        elif event.when == "before":
            self.before = event
        elif self.step in (BuildStep.FINISH, BuildStep.APPROVE):
            self.final[event.gate] = event
        elif self.step is not BuildStep.WEIGH and self.task in self.pieces:
            self.piece.gates[event.gate] = event

    # --- a step is over ----------------------------------------------------------------------

    def checkpoint_after(self, step: BuildStep, outcome: str) -> str:
        """The checkpoint that holds the trial's files as a step leaves them, a new one where it wrote."""
        match step, outcome:
            case BuildStep.ROLL_BACK, _:
                return self.piece.base
            case BuildStep.WEIGH, "discarded":
                return self.piece.good
            case BuildStep.PROVE, "limit":
                return self.uncovered
            case _:
                return self.new_checkpoint if self.wrote(step, outcome) else self.checkpoint

    def wrote(self, step: BuildStep, outcome: str) -> bool:
        """True if a step leaves files that no checkpoint holds yet."""
        guarded = self.put_back and (step, outcome) not in _WENT_BACK
        return guarded or (step in WRITES and outcome != "skipped")

    @property
    def new_checkpoint(self) -> str:
        return f"step-{self.finished + 1}"

    def _advance(self, event: Advanced) -> None:
        step, after = _look_up(event)
        self.last, self.spoken, self.landed = event, False, False
        self.checkpoint = self.checkpoint_after(step, event.outcome)
        self.put_back = False
        self._credit(step, event.outcome)
        self.finished += 1
        self.step = after
        match step, event.outcome:
            case (BuildStep.PLAN, _):
                self.plans += 1
            case (BuildStep.AGREE, _):
                self.plans = 0
            case (BuildStep.NEXT, "task"):
                self.task = event.task
                self.piece.state, self.piece.base = "active", self.checkpoint
            case (BuildStep.PROVE, _) | (BuildStep.FINISH, "uncovered"):
                self._cover(step)
            case (BuildStep.NEXT | BuildStep.FINISH, _):
                self.task = ""
            case (BuildStep.LOCK, outcome):
                self._looked_at(outcome, event.text)
            case (BuildStep.CHECK, outcome):
                self._checked(outcome, event.text)
            case (BuildStep.ROLL_BACK, _):
                self._roll_back(event.text)
            case (BuildStep.APPROVE, "revise"):
                self._revise()
        if self.step is BuildStep.NEXT and self.task and self.piece.state == "active":
            self.piece.state = "done"
        if self.step is BuildStep.FINISH:
            self.final = {}

    def _credit(self, step: BuildStep, outcome: str) -> None:
        """Count what came of it for the role whose work was judged, and for the reviewer who had advised."""
        if (step, outcome) not in _GOOD:
            return
        role, good = _GOOD[step, outcome]
        advised = role == "implementer" and self.piece.attempts > 0
        for name in (role, "reviewer") if advised else (role,):
            played = self.played.setdefault(name, Played())
            played.good, played.bad = played.good + good, played.bad + (not good)

    def _looked_at(self, outcome: str, text: str) -> None:
        if outcome != "locked":
            self.piece.corrections += 1
            return
        self.piece.specified, self.piece.said = self.checkpoint, text
        self.piece.best = int(self.piece.gates["spec"].figures.get("reached", 0))

    def _checked(self, outcome: str, text: str) -> None:
        piece = self.piece
        piece.attempts, piece.said = piece.attempts + 1, text
        tests = piece.gates.get("tests")
        if tests:
            piece.best = max(piece.best, int(tests.figures.get("reached", -1)))
        if outcome == "yes":
            piece.good = self.checkpoint
        elif outcome != "better":
            piece.refusals += 1

    def _roll_back(self, why: str) -> None:
        piece = self.piece
        if piece.kept:  # what a person wanted besides did not work out: the task is as it was
            piece.state, piece.refusals = "done", 0
            return
        piece.state, piece.locked, piece.why = "rolled back", None, why
        for id in dependents(self.tasks, self.task):
            if self.pieces[id].state == "waiting":
                self.pieces[id].state = "skipped"
                self.pieces[id].why = f"it depends on task {self.task}"

    def _cover(self, step: BuildStep) -> None:
        """The tests of uncovered lines are added to those of the last task."""
        if step is BuildStep.PROVE:
            self.covers += 1
        else:
            self.task, self.uncovered = self.done[-1].task.id, self.checkpoint

    def _revise(self) -> None:
        """The person's words go to who did the last task."""
        self.task = self.done[-1].task.id
        piece = self.piece
        piece.state, piece.base, piece.kept = "active", self.checkpoint, True
        piece.refusals = 0


def _look_up(event: Advanced) -> tuple[BuildStep, BuildStep]:
    """The step that is over and the one that follows. Raises KithError for what another kith has told."""
    try:
        step = BuildStep(event.step)
        return step, TRANSITIONS[step, event.outcome]
    except (ValueError, KeyError) as error:
        told = f"{event.step} {event.outcome}".strip()
        raise KithError(f"Another version of kith made this build: it has a step {told!r}.") from error
