"""What was measured, as rows: one for each call, and one for each model's part of a task with its outcome."""

from dataclasses import dataclass, field

from kith.core.values import Timing, Usage


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call as it was measured, with what is known of the model and the machine at that moment.

    `at`: seconds since the epoch at its end. `step` is the path of the run (the role and the attempt are in
    it), `evaluated` the prompt tokens that were computed, and `error` "" for a call that was answered.
    """

    session: str
    at: float
    root: str
    model: str
    purpose: str
    digest: str = ""
    quantisation: str = ""
    parameters: str = ""
    machine: str = ""
    cloud: bool = False
    window: int = 0
    step: str = ""
    attempt: int = 1
    usage: Usage = Usage()
    evaluated: int = 0
    timing: Timing = Timing()
    error: str = ""
    usd: float | None = None
    expected_s: float = 0.0
    slow: str = ""
    busy: float = 0.0
    strategy: str = ""


@dataclass(frozen=True, slots=True)
class LegRow:
    """One model's part of one task, and what became of it.

    `task` counts the session's tasks from 1, `part` names a piece of a build ("" for a plain task), `kind`
    the sort of work. `after` is the model that had given up before ("": this one began). `reward` is 1.0 for
    solved and 0.0 for not, None where nothing speaks for either; `weight` says how much that is worth,
    `reason` what it rests on ("tests", "adopted", "undone", "limit", ...). Of the verdicts None means that
    nobody looked. `cut`: the run was stopped as hopeless. `words` is the task as it was given, `commit` the
    state it began from (both "" where they are not known), `check` the commands that decided.
    """

    session: str
    task: int
    at: float
    root: str
    model: str
    kind: str
    part: str = ""
    digest: str = ""
    machine: str = ""
    cloud: bool = False
    strategy: str = ""
    after: str = ""
    plan: tuple[str, ...] = ()
    propensity: float = 1.0
    reward: float | None = None
    weight: float = 1.0
    reason: str = ""
    parsed: bool | None = None
    applied: bool | None = None
    passed: bool | None = None
    adopted: bool | None = None
    undone: bool = False
    cut: bool = False
    steps: int = 0
    attempts: int = 0
    seconds: float = 0.0
    usd: float | None = None
    usage: Usage = Usage()
    evaluated: int = 0
    words: str = ""
    commit: str = ""
    check: tuple[str, ...] = ()
    failures: dict[str, int] = field(default_factory=dict)

    @property
    def solved(self) -> bool | None:
        """Whether it was solved, as far as anything speaks for that or against it."""
        return None if self.reward is None else self.reward >= 0.5
