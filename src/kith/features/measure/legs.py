"""One model's part of one task, as it grows event by event until its row can be written."""

from collections import Counter
from typing import Final, NamedTuple

from msgspec import Struct, field

from kith.core.decisions import Routed
from kith.core.events import Called, Engaged, Judged, RunStarted, ToolEnded
from kith.core.evidence import combine
from kith.core.values import Usage
from kith.features.measure.rows import CallRow, LegRow

# What a model's part of a task earns: verified outcomes count, and what the person did counts most.


class Reward(NamedTuple):
    """1.0 for solved, 0.0 for not, None without evidence; its weight; and the reason."""

    reward: float | None = None
    weight: float = 1.0
    reason: str = ""


UNDONE: Final = Reward(0.0, 1.0, "undone")


_EDITS: Final = frozenset({"edit", "write"})  # tools
_GUARDS: Final = frozenset({"untouched", "tests-only"})  # gates against writing where one may not
_STATIC: Final = frozenset({"lint", "types", "secrets", "size", "limits"})  # gates that run no test
_CANCELLED: Final = "cancelled"


class LegDraft(Struct):
    """A part that is being worked on. `changed`: files differ now; `tried`: edits were written at all.

    `verdicts`: what the gates said in its last attempt; `outcome` what a build made of that. `before`: which
    gates say yes to the untouched tree (shared by all parts of a task).
    """

    started: RunStarted
    session: str
    task: int
    model: str
    before: dict[str, bool]
    part: str = ""
    words: str = ""
    kind: str = ""
    routed: Routed | None = None
    engaged: Engaged | None = None
    strategy: str = ""
    at: float = 0.0
    steps: int = 0
    numbers: set[int] = field(default_factory=set)  # of its attempts
    seconds: float = 0.0
    usd: float = 0.0
    unpriced: bool = False  # a call was answered, and nobody knows its price
    usage: Usage = Usage()
    evaluated: int = 0
    replies: int = 0
    unanswered: bool = False  # its last call had no answer, and nobody had cancelled it
    lost: bool = False  # so its part ended
    refused: int = 0  # edits and calls that could not be used
    landed: int = 0
    fits: bool = True  # what was written last could be used
    changed: bool | None = None
    verdicts: dict[str, Judged] = field(default_factory=dict)
    outcome: bool | None = None
    held: bool = False  # all gates said yes once, and that was kept
    locked: bool = False  # its tests were written before, and failed
    failures: Counter[str] = field(default_factory=Counter)
    escalated: bool = False
    stopped: str = ""  # how the work ended: "limit", "hopeless", ...
    over: bool = False
    advises: bool = False  # it was only heard: another one's proposal was taken
    person: bool | None = None  # their decision on the diff, if they looked at it
    adopted: bool | None = None
    changes: tuple[str, ...] = ()  # ids of what was applied

    # --- one more event ----------------------------------------------------------------------

    def call(self, event: Called, row: CallRow, works: bool) -> None:
        """A call of its model; one that `works` is a step of the task, others serve it (a summary)."""
        self.at, self.strategy = row.at, event.strategy or self.strategy
        self.seconds += event.timing.total_s - event.timing.refused_s
        self.evaluated += row.evaluated
        self.usage += event.usage
        if event.usd is not None:
            self.usd += event.usd
        elif not row.error:
            self.unpriced = True
        self.replies += not row.error
        self.unanswered = row.error not in ("", _CANCELLED)
        self.steps += works
        if works and event.attempt:
            self.numbers.add(event.attempt)

    def begin_attempt(self) -> None:
        """Reset the verdicts of the attempt before."""
        self.verdicts, self.outcome, self.stopped = {}, None, ""

    def use(self, event: ToolEnded, began: bool) -> None:
        """A tool answered, or (`began` is false) its call was refused before it ran."""
        self.seconds += event.seconds
        if event.ran and event.ran.timed_out:
            self.failures["timeout"] += 1
        if event.ok:
            if event.name in _EDITS:
                self.landed, self.fits = self.landed + 1, True
            return
        sort = _sort_of(event, began)
        if sort:
            self.failures[sort] += 1
        if sort in ("malformed_edit", "malformed_call", "wrong_file"):
            self.refused += 1
            self.fits = self.fits and event.name not in _EDITS

    def judge(self, event: Judged) -> None:
        """A gate's verdict on its change."""
        self.seconds += sum(ran.seconds for ran in event.ran)
        if event.gate == "edits":
            self.fits = event.ok
            self.landed, self.refused = self.landed + event.ok, self.refused + (not event.ok)
        elif not event.skipped:
            self.verdicts[event.gate] = event
        if not event.ok:
            self.failures[_sort_of_no(event)] += 1

    # --- what it comes to --------------------------------------------------------------------

    @property
    def answered(self) -> bool:
        return self.replies > 0 and not self.lost

    @property
    def parsed(self) -> bool | None:
        """True if all its text for the harness could be used; None when it wrote none."""
        return self.refused == 0 if self.refused or self.landed else None

    @property
    def applied(self) -> bool | None:
        """True if its edits are in the files; None when it wrote none."""
        if self.changed or self.landed:
            return True
        return False if self.refused else None

    @property
    def passed(self) -> bool | None:
        if self.outcome is not None:
            return self.outcome
        if not all(_is_good(verdict) for verdict in self.verdicts.values()):
            return False
        return True if any(verdict.ran for verdict in self.verdicts.values()) else None

    @property
    def fixed(self) -> bool:
        """True if a check that failed before passes now."""
        failed_before = {gate for gate, ok in self.before.items() if not ok}
        return self.locked or any(
            _fixes(self.verdicts[gate]) for gate in failed_before & self.verdicts.keys()
        )

    @property
    def late(self) -> bool:
        """True if a check ran out of time."""
        return any(ran.timed_out for verdict in self.verdicts.values() for ran in verdict.ran)

    @property
    def checks(self) -> tuple[str, ...]:
        """The commands that decided, or would have: those that ran, else those that the person named."""
        ran = dict.fromkeys(ran.command for each in self.verdicts.values() for ran in each.ran[-1:])
        return tuple(ran) or tuple(each for each in self.started.options.check if each != "none")

    def earned(self) -> Reward:
        """Compute the reward, from the strongest evidence.

        A test that failed before and passes now is worth a whole observation. A suite that passed before as
        well only shows that nothing broke, and is worth half of one. A server without an answer proves
        nothing about its model, and passing checks prove nothing without a change.
        """
        if self.person is not None:
            return Reward(float(self.person), 1.0, "accepted" if self.person else "rejected")
        if self.passed and self.applied:
            return Reward(1.0, 1.0, "tests") if self.fixed else Reward(1.0, 0.5, "suite")
        if not self.answered:
            return Reward()
        if self.passed is False:
            return Reward(0.0, 1.0, "timeout" if self.late else "tests")
        if self.stopped:
            return Reward(0.0, 1.0, self.stopped)
        if self.escalated:
            return Reward(0.0, 1.0, "escalated")
        return Reward(0.0, 1.0, "malformed") if self.applied is False else Reward()

    def row(self) -> LegRow:
        """The part as a row; one that is not over yet earns nothing."""
        told, routed, engaged = self.earned() if self.over else Reward(), self.routed, self.engaged
        return LegRow(
            session=self.session,
            task=self.task,
            at=self.at,
            root=self.started.root,
            model=self.model,
            kind=self.kind,
            part=self.part,
            digest=engaged.digest if engaged else "",
            machine=engaged.machine if engaged else "",
            cloud=engaged.cloud if engaged else False,
            strategy=self.strategy,
            after=routed.after if routed else "",
            plan=routed.plan if routed else (),
            propensity=routed.propensity if routed else 1.0,
            reward=told.reward,
            weight=told.weight,
            reason=told.reason,
            parsed=self.parsed,
            applied=self.applied,
            passed=self.passed,
            adopted=self.adopted,
            cut=self.stopped == "hopeless",
            steps=self.steps,
            attempts=len(self.numbers),
            seconds=round(self.seconds, 3),
            usd=None if self.unpriced else self.usd,  # what failed costs nothing
            usage=self.usage,
            evaluated=self.evaluated,
            words=self.words,
            # What came with a task from others is in no row, so such a task cannot be done again.
            commit="" if self.started.options.material else self.started.options.commit,
            check=self.checks,
            failures=dict(self.failures),
        )


def _sort_of(event: ToolEnded, began: bool) -> str:
    """Classify a tool's failure; "" for one that is not the model's fault."""
    if event.fault == "repeated":
        return "loop"
    if event.fault == "denied":
        return ""  # the person said no
    if event.fault == "forbidden":
        return "wrong_file" if event.name in _EDITS else ""
    if not began:
        return "malformed_call"
    if event.name not in _EDITS:
        return ""
    return "wrong_file" if event.fault == "absent" else "malformed_edit"


def _is_good(judged: Judged) -> bool:
    """True if a check passes with enough evidence, not only because no try was left."""
    return judged.ok and not (judged.evidence and combine([judged.evidence]).held_back)


def _fixes(judged: Judged) -> bool:
    """True if a check that failed before the change passes with it, or at least one of its tests."""
    if not judged.ok:
        return False
    return judged.evidence is None or judged.evidence.grade == "proven" or judged.ran[-1].code == 0


def _sort_of_no(event: Judged) -> str:
    """Classify a gate's failure."""
    if event.gate == "edits":
        return "wrong_file" if event.fault == "absent" else "malformed_edit"
    if any(ran.timed_out for ran in event.ran):
        return "timeout"
    if event.gate in _GUARDS:
        return "wrong_file"
    return "gate_fail" if event.gate in _STATIC or not event.ran else "test_fail"
