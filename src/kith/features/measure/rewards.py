"""What a model's part of a task earns: verified outcomes count, and what the person did counts most."""

from typing import Final, NamedTuple, Protocol


class Reward(NamedTuple):
    """1.0 for solved, 0.0 for not, None where nothing speaks for either; how much it is worth; and why."""

    reward: float | None = None
    weight: float = 1.0
    reason: str = ""


UNDONE: Final = Reward(0.0, 1.0, "undone")


class Outcome(Protocol):
    """What is known of a part that is over.

    `person`: what they said to the diff, if they looked at it. `mended`: a check that had failed before
    passes now. `late`: a check ran out of time. `stopped`: what ended the work ("limit", "hopeless"), or "".
    """

    @property
    def person(self) -> bool | None: ...
    @property
    def passed(self) -> bool | None: ...
    @property
    def applied(self) -> bool | None: ...
    @property
    def mended(self) -> bool: ...
    @property
    def late(self) -> bool: ...
    @property
    def stopped(self) -> str: ...
    @property
    def escalated(self) -> bool: ...
    @property
    def answered(self) -> bool: ...


def weigh(part: Outcome) -> Reward:
    """The reward of one part, the strongest evidence first.

    A test that failed before and passes now is worth a whole observation; a suite that passed before as well
    says only that nothing broke, and is worth half of one. A server that did not answer says nothing of its
    model, and passing checks say nothing where nothing was changed.
    """
    if part.person is not None:
        return Reward(float(part.person), 1.0, "accepted" if part.person else "rejected")
    if part.passed and part.applied:
        return Reward(1.0, 1.0, "tests") if part.mended else Reward(1.0, 0.5, "suite")
    if not part.answered:
        return Reward()
    if part.passed is False:
        return Reward(0.0, 1.0, "timeout" if part.late else "tests")
    if part.stopped:
        return Reward(0.0, 1.0, part.stopped)
    if part.escalated:
        return Reward(0.0, 1.0, "escalated")
    if part.applied is False:
        return Reward(0.0, 1.0, "malformed")
    return Reward()
