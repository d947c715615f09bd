"""How far a build has come: a fold of its log, which the driver, `kith status` and a resumed build read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

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
from kith.features.build.machine import TRANSITIONS, WRITES, Step
from kith.features.build.tasks import dependents

TaskState = Literal["waiting", "active", "done", "rolled back", "skipped"]

# Who plays in a step that asks a model.
ROLES: Final[Mapping[Step, str]] = {
    Step.PLAN: "architect",
    Step.SPECIFY: "spec-author",
    Step.IMPLEMENT: "implementer",
    Step.REVIEW: "reviewer",
    Step.REFINE: "refiner",
}
# Gates that put files back: nobody but the spec author writes tests, and the spec author nothing else.
GUARDS: Final = frozenset({"untouched", "tests-only"})
# What came of a step tells whether a role's work was good.
_GOOD: Final = {
    (Step.PLAN, "tasks"): ("architect", True),
    (Step.PLAN, "faulty"): ("architect", False),
    (Step.LOCK, "locked"): ("spec-author", True),
    (Step.LOCK, "wrong"): ("spec-author", False),
    (Step.LOCK, "limit"): ("spec-author", False),
    (Step.CHECK, "yes"): ("implementer", True),
    (Step.CHECK, "better"): ("implementer", False),
    (Step.CHECK, "no"): ("implementer", False),
    (Step.CHECK, "limit"): ("implementer", False),
    (Step.WEIGH, "kept"): ("refiner", True),
    (Step.WEIGH, "discarded"): ("refiner", False),
}


@dataclass(slots=True)
class Played:
    """What a role has done: in how many steps it was asked, and how often its work was good or not."""

    steps: int = 0
    good: int = 0
    bad: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()


@dataclass(slots=True)
class Piece:
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
        """What the last gate that said no had to say; how the new tests fail, while no gate was asked."""
        noes = [judged.feedback for judged in self.gates.values() if not judged.ok]
        spec = self.gates.get("spec")
        return noes[-1] if noes else spec.feedback if spec else ""


@dataclass(slots=True)
class Build:
    """The fold. `step` is what comes next, or runs now; `finished` counts the steps that are over.

    `spoken`: somebody spoke to the model in the step that runs now. `landed`: the edits in its last message
    are in the trial. `checkpoint`: the trial's files as this step found them. `put_back`: a guard of tests
    has put files back since.
    """

    request: str = ""
    began: float = 0.0  # seconds since the epoch
    ended: RunEnded | None = None
    at: float = 0.0  # when the last event happened
    pieces: dict[str, Piece] = field(default_factory=dict)
    step: Step = Step.PLAN
    task: str = ""
    last: Advanced | None = None
    finished: int = 0
    plans: int = 0  # how often the architect answered since a person last spoke
    checkpoint: str = ""
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
    played: dict[str, Played] = field(default_factory=dict)

    @property
    def tasks(self) -> tuple[BuildTask, ...]:
        return tuple(piece.task for piece in self.pieces.values())

    @property
    def piece(self) -> Piece:
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
        """The id of the task whose turn is next, "" when none is left."""
        waiting = (id for id, piece in self.pieces.items() if piece.state == "waiting")
        return next(waiting, "")

    @property
    def done(self) -> tuple[Piece, ...]:
        return tuple(piece for piece in self.pieces.values() if piece.state == "done")

    @property
    def attempt(self) -> int:
        """How often the present step has come, this time included, where it may come again for a task."""
        if self.step is Step.PLAN:
            return self.plans + 1
        piece = self.pieces.get(self.task)
        if piece is None:
            return 0
        if self.step in (Step.SPECIFY, Step.LOCK):
            return piece.corrections + 1
        return piece.attempts + (self.step in (Step.IMPLEMENT, Step.CHECK))

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
                self.pieces = {task.id: Piece(task) for task in tasks}
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
        """What happens inside a step."""
        match event:
            case Stepped() if len(path) == 1:
                self._step(event, at)
            case Said(_, message):
                self.landed = False
                self.spoken = self.spoken or (message.role == "user" and message.author != "kith")
            case Called():
                self._call(event.usage)
            case ToolBegan(_, name, _, target):
                self.doing = f"{name} {target}".strip()
            case ToolEnded():
                self.doing = ""

    def _step(self, event: Stepped, at: float) -> None:
        if event.state == "began":
            self.running, self.since, self.ended = event.name, at, None
            if self.step is Step.FAILED:  # taken up again, with the step that had failed
                self.step = Step(event.kind)
            if self.step in ROLES:
                self._player.steps += 1
            if self.step is Step.CHECK:  # what a gate said of an earlier attempt holds no longer
                self.piece.gates = {name: each for name, each in self.piece.gates.items() if name == "spec"}
            return
        self.running = self.doing = ""
        self.seconds += event.seconds
        if self.step in ROLES:
            self._player.seconds += event.seconds
        if self.task in self.pieces:
            self.piece.seconds += event.seconds

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
        self.testing += sum(ran.seconds for ran in event.ran)
        self.put_back = self.put_back or (event.gate in GUARDS and not event.ok)
        if event.gate == "edits":
            self.landed = event.ok
        elif event.when == "before":
            self.before = event
        elif self.step in (Step.FINISH, Step.APPROVE):
            self.final[event.gate] = event
        elif self.step is not Step.WEIGH and self.task in self.pieces:
            self.piece.gates[event.gate] = event

    # --- a step is over ----------------------------------------------------------------------

    def checkpoint_after(self, step: Step, outcome: str) -> str:
        """The checkpoint that holds the trial's files as a step leaves them, a new one where it wrote."""
        match step, outcome:
            case Step.ROLL_BACK, _:
                return self.piece.base
            case Step.WEIGH, "discarded":
                return self.piece.good
            case _:
                return self.new_checkpoint if self.wrote(step, outcome) else self.checkpoint

    def wrote(self, step: Step, outcome: str) -> bool:
        """Whether a step leaves files that no checkpoint holds yet."""
        guarded = self.put_back and outcome != "discarded"
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
            case (Step.PLAN, _):
                self.plans += 1
            case (Step.AGREE, _):
                self.plans = 0
            case (Step.NEXT, "task"):
                self.task = event.task
                self.piece.state, self.piece.base = "active", self.checkpoint
            case (Step.NEXT | Step.FINISH, _):
                self.task = ""
            case (Step.LOCK, outcome):
                self._looked_at(outcome, event.text)
            case (Step.CHECK, outcome):
                self._checked(outcome, event.text)
            case (Step.ROLL_BACK, _):
                self._roll_back(event.text)
            case (Step.APPROVE, "revise"):
                self._revise()
        if self.step is Step.NEXT and self.task and self.piece.state == "active":
            self.piece.state = "done"
        if self.step is Step.FINISH:
            self.final = {}

    def _credit(self, step: Step, outcome: str) -> None:
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

    def _revise(self) -> None:
        """The person's words go to who did the last task."""
        self.task = self.done[-1].task.id
        piece = self.piece
        piece.state, piece.base, piece.kept = "active", self.checkpoint, True
        piece.refusals = 0


def _look_up(event: Advanced) -> tuple[Step, Step]:
    """The step that is over and the one that follows. Raises KithError for what another kith has told."""
    try:
        step = Step(event.step)
        return step, TRANSITIONS[step, event.outcome]
    except (ValueError, KeyError) as error:
        told = f"{event.step} {event.outcome}".strip()
        raise KithError(f"This build is of another version of kith: it tells of a step {told!r}.") from error
