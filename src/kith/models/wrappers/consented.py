"""A model outside of the person's own network, asked only after they agreed to what it would get."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from kith.core.errors import EXIT_REJECTED, NoModelError
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Reply

Group = Literal["work", "review", "coach", "confer", "measure"]

_GROUPS: Final[dict[str, Group]] = {
    "review": "review",
    "judge": "review",
    "notes": "review",
    "coach": "coach",
    "confer": "confer",
    "probe": "measure",
    "bench": "measure",
}


class RejectedError(NoModelError):
    """The person said no: this model is not there for them, though another one may be."""

    code = EXIT_REJECTED


@dataclass(frozen=True, slots=True)
class Sending:
    """What would leave the machine with the first call: to whom, what for, how much of it, for what money.

    `files` are those whose contents are known to be in it, `usd` the least and the most that this call costs
    (None: nobody knows). `asked_as` is the name by which the model was asked for.
    """

    model: str
    server: str
    group: Group
    messages: int
    files: tuple[str, ...]
    tokens: int
    usd: tuple[float, float] | None
    asked_as: str = ""


# Returns where the person agrees; raises KithError where they do not, or nobody could be asked.
Permit = Callable[[Sending], Awaitable[None]]


def group_of(purpose: str) -> Group:
    """What one yes is good for: several purposes of calls together."""
    return _GROUPS.get(purpose.partition(" ")[0], "work")


@dataclass(frozen=True, slots=True)
class Consented:
    """`model`, asked for each group of purposes only after `permit` let its first call pass.

    `describe` says what a call would send. What was agreed to is noted in `granted`, by which the last door
    before the wire opens.
    """

    model: Model
    permit: Permit
    describe: Callable[[Prompt, Group], Sending]
    granted: set[str]
    _asked: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask the person if need be, then the model. Raises what `permit` raises."""
        group = group_of(prompt.purpose)
        if group not in self._asked:
            await self.permit(self.describe(prompt, group))
            self._asked.add(group)
            self.granted.add(group)
        return await self.model(prompt, emit)
