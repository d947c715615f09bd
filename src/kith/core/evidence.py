"""The evidence for a change from what was run: a grade, its reason, and the tests by name."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct

Grade = Literal["proven", "held", "unproven"]
# Why a check says no more than it does (or why it says so much).
Reason = Literal[
    "fixed",  # a test that existed before, or that the task names, went from red to green
    "reached",  # tests that reach the change ran, and none was lost
    "not_reached",  # nothing that ran reaches the change
    "failing",  # what reaches the change fails, before it, too
    "no_tests",  # the project has no tests that kith could find
    "blocked",  # the tests cannot run here, before the change either
    "same_failure",  # an exit code only, red before and after with the same output
    "out_of_time",  # the budget was spent before the tests that reach the change had run
    "not_allowed",  # the person did not let the check run
    "disputed",  # refused again, and the model stands by it
    "uninstalled",  # the change needs a package that the project requires and nobody installed here
    "settings",  # the change alters how the tests are run
    "broken",  # something that passed before does not pass now
    "unmet",  # the goal is not reached
    "unchecked",  # nobody asked for a check
]
# What a machine may lack that tests need.
Missing = Literal["runner", "tool", "import", "service", "network", "data", "build"]
_LACKING: Final[Mapping[Missing, str]] = {
    "runner": "{} is not installed",
    "tool": "{} is not installed",
    "import": "{} is not installed",
    "service": "{} does not answer",
    "network": "{} cannot be reached from here",
    "data": "{} is not there",
    "build": "{}, this project itself, is not built or installed here",
}
# Whether a model will try again after a no.
Tries = Literal["more", "none"]
GRADES: Final[tuple[Grade, ...]] = ("unproven", "held", "proven")
# Reasons that need a person's yes: something that could have spoken against the change did not get to speak.
_HELD_BACK: Final = frozenset({"same_failure", "out_of_time", "disputed", "settings", "unmet", "uninstalled"})
NAMED: Final = 50  # test names that the log keeps of one kind; counts are whole


class Names(Struct, frozen=True):
    """Tests by name: how many there are, and the first of them."""

    count: int = 0
    first: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str]) -> "Names":
        known = sorted(set(names))
        return cls(len(known), tuple(known[:NAMED]))

    def __bool__(self) -> bool:
        return self.count > 0


class Standing(Struct, frozen=True):
    """The result of a check on one tree. `counted`: there are results per test, not only an exit code."""

    code: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    counted: bool = False
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        return self.code == 0 and not self.failed


class Blocked(Struct, frozen=True):
    """Something is missing on this machine, so tests cannot run: on the untouched tree just the same.

    `what` is a runner or its plugin, a tool, a module, a service, data. `install` is a command that installs
    it, "" where none is known; `hosts` is whom that would reach.
    """

    kind: Missing
    what: str
    install: str = ""
    hosts: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """`pytest is not installed`."""
        return _LACKING[self.kind].format(self.what)


class CheckEvidence(Struct, frozen=True):
    """The evidence of one check: the untouched tree (`before`) against the change alone (`after`).

    `fixed` were red and are green, `failing` are red in both, `broken` were green and are red. `added` came
    with the change. `adapted` are older tests that the change edited and that fail unedited. `not_run` were
    left out for lack of time. `claimed` are the model's words about tests that it had to change.
    """

    check: str
    grade: Grade
    reason: Reason
    before: Standing | None = None
    after: Standing | None = None
    fixed: Names = Names()
    failing: Names = Names()
    broken: Names = Names()
    flaky: Names = Names()
    added: Names = Names()
    adapted: Names = Names()
    blocked: Names = Names()
    not_run: Names = Names()
    missing: tuple[Blocked, ...] = ()
    reaching: int = 0  # tests that ran and reach the change
    claimed: tuple[str, ...] = ()


class Evidence(Struct, frozen=True):
    """The evidence of all checks together."""

    grade: Grade
    reason: Reason
    checks: tuple[CheckEvidence, ...] = ()

    @property
    def held_back(self) -> bool:
        """True if a person has to approve the change, unless settings ask for less."""
        return self.grade == "unproven" and self.reason in _HELD_BACK


class Standard(Struct, frozen=True):
    """The evidence required where nobody looks at the change: at least `require`, or also `unproven`."""

    require: Grade = "unproven"
    unproven: bool = False

    def meets(self, evidence: Evidence) -> bool:
        if GRADES.index(evidence.grade) < GRADES.index(self.require):
            return False
        return self.unproven or not evidence.held_back


UNCHECKED: Final = Evidence("unproven", "unchecked")


def combine(checks: Iterable[CheckEvidence]) -> Evidence:
    """The best grade that any check gives, unless one lost something or had no chance to speak.

    A command without results per test that fails as before says nothing where another check has such results.
    """
    found = tuple(checks)
    if not found:
        return UNCHECKED
    counted = any(each.after and each.after.counted for each in found)
    silent = [each for each in found if each.grade == "unproven" and each.reason in _HELD_BACK]
    silent = [each for each in silent if each.reason != "same_failure" or not counted]
    lost = [each for each in found if each.reason in ("broken", "unmet")]
    best = next(iter([*lost, *silent]), None) or max(found, key=lambda each: GRADES.index(each.grade))
    return Evidence(best.grade, best.reason, found)
