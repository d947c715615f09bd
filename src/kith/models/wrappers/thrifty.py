"""A model that is asked only where even its dearest answer stays within the limits of money."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kith.core.errors import LimitError
from kith.core.model import Emit, Model, Prompt
from kith.core.numbers import dollars
from kith.core.values import Reply, Usage
from kith.models.wrappers.limited import Budget, Spent
from kith.models.wrappers.priced import Price

_LONGEST = 16_384  # tokens of a reply that names no length; no provider here asks for more
_LEAST_THOUGHTS = 1_024  # of a model that is told to think: beside a reply that is shorter than that
_LEAST_REPLY = 4_096  # one that may be no longer is likely to be cut, and paid for nothing
_ABOVE = 1.1  # how far a prompt may be above its estimate
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Thrifty:
    """`model`, which is priced, within the money of `budget`.

    Before a call its worst case (the whole prompt put into the cache, the longest reply) is held against what
    is left; where only a shorter reply fits, the model is told so. `count` estimates a prompt.
    """

    model: Model
    budget: Budget
    spent: Spent
    price: Price
    count: Callable[[Prompt], int]

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask, if there is money for it. Raises LimitError saying what is spent, and which limit it is."""
        if self.budget.usd is None and self.budget.day_usd is None:
            return await self.model(prompt, emit)
        tokens, wanted = round(_ABOVE * self.count(prompt)), longest_reply(prompt)
        length = min(wanted, self._affordable(tokens, min(wanted, _LEAST_REPLY)))
        if length < wanted:  # thoughts are part of it
            thinks = prompt.sampling.think if length > _LEAST_THOUGHTS else None
            sampling = replace(prompt.sampling, max_tokens=length, think=thinks, think_tokens=None)
            prompt = replace(prompt, sampling=sampling)
        held = self._worst(tokens, length)
        self.spent.purse.held += held
        try:
            return await self.model(prompt, emit)
        finally:
            self.spent.purse.held -= held

    def _affordable(self, tokens: int, least: int) -> int:
        """The longest reply to so many tokens that there is money for. Raises LimitError below `least`."""
        shortest, read = self._worst(tokens, least), self._worst(tokens, 0)
        per_token = self._worst(tokens, _MILLION) - read
        lengths = [_MILLION]
        for limit, paid, whose, setting in self._limits():
            left = limit - paid - self.spent.purse.held
            if shortest > left:
                raise LimitError(
                    f"stopped: the next call may cost {dollars(shortest)}, and of the {dollars(limit)} that "
                    f"{whose} may cost {dollars(paid)} is spent ({setting})"
                )
            lengths.append(int((left - read) * _MILLION / per_token) if per_token else _MILLION)
        return min(lengths)

    def _limits(self) -> Iterator[tuple[float, float, str, str]]:
        """What may be paid, what was paid, whose limit that is, and which setting."""
        if self.budget.usd is not None:
            yield self.budget.usd, self.spent.usd, "a task", "max_task_usd"
        if self.budget.day_usd is not None:
            yield self.budget.day_usd, self.spent.today(), "a day", "max_day_usd"

    def _worst(self, read: int, written: int) -> float:
        """What a call may cost at most, in US dollars. Raises LimitError where nobody knows the price."""
        costs = [self.price(self.name, Usage(read, written, 0, into, into)) for into in (0, read)]
        known = [cost for cost in costs if cost is not None]
        if not known:
            raise LimitError(
                f"stopped: what {self.name} costs is not known, so no limit of money can be kept; write its "
                f'prices into prices.toml beside your config.toml: ["{self.name}"], and below it input = ... '
                "and output = ... in dollars for a million tokens"
            )
        return max(known)


def longest_reply(prompt: Prompt) -> int:
    """The most tokens that a reply to this may have, thoughts included."""
    sampling = prompt.sampling
    thoughts = sampling.think_tokens or 0
    if sampling.think or thoughts:
        thoughts = max(thoughts, _LEAST_THOUGHTS)
    return (sampling.max_tokens or _LONGEST) + thoughts
