"""An account of tokens, seconds and money: what a task may use of models, and what it has used."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import LimitError
from kith.core.model import Prompt
from kith.core.numbers import dollars
from kith.core.values import Charge, Usage

_LONGEST = 16_384  # tokens of a reply that names no length; no provider here asks for more
_LEAST_THOUGHTS = 1_024  # of a model that is told to think: beside a reply that is shorter than that
_LEAST_REPLY = 4_096  # one that may be no longer is likely to be cut, and paid for nothing
_ABOVE = 1.1  # how far a prompt may be above its estimate
_MILLION = 1_000_000

# A model's name and the tokens of one call -> US dollars; None where no price is known.
Price = Callable[[str, Usage], float | None]


def free(model: str, usage: Usage) -> float:
    """The price of what runs on the person's own machines."""
    return 0.0


def know_no_price(model: str, usage: Usage) -> None:
    """The price where there is no table."""


class Budget(Struct, frozen=True):
    """The limits of one task; None is no limit. Tokens are those computed: new prompt text, and replies.

    `usd` is the limit of the task, `day_usd` of all tasks of a day.
    """

    tokens: int | None = None
    seconds: float | None = None
    usd: float | None = None
    day_usd: float | None = None


class Account:
    """The limits of a task or step, and its use of all models so far.

    `paid`: dollars that the task has paid before. `today` returns the dollars paid today by all tasks;
    without it, those of this task. A step pays from the money of its `task`.
    """

    def __init__(
        self,
        budget: Budget = Budget(),
        *,
        paid: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], float] | None = None,
        task: "Account | None" = None,
    ) -> None:
        self.budget = budget
        self.clock = clock
        self.tokens = 0
        self._task = task or self
        self._today = today or (lambda: self.usd)
        self._paid, self._held = paid, 0.0  # US dollars: paid, and what running calls may cost at most
        self._model_s, self._began = 0.0, clock()

    def step(self, budget: Budget) -> "Account":
        """A step with tokens and seconds of its own, within the money of the task."""
        limits = replace(budget, usd=self.budget.usd, day_usd=self.budget.day_usd)
        return Account(limits, clock=self.clock, today=self._today, task=self._task)

    @property
    def usd(self) -> float:
        """US dollars that the task has paid."""
        return self._task._paid

    @property
    def held(self) -> float:
        """US dollars that calls which run now may cost at most."""
        return self._task._held

    @property
    def seconds(self) -> float:
        """Seconds since the beginning, or of all calls together where several ran at once."""
        return max(self.clock() - self._began, self._model_s)

    @property
    def seconds_left(self) -> float | None:
        """Seconds that a call may take; None where there is no limit."""
        return None if self.budget.seconds is None else self.budget.seconds - self.seconds

    @property
    def is_spent(self) -> bool:
        """True if the tokens, the time or the money of the task are spent."""
        limits = self.budget
        pairs = ((limits.tokens, self.tokens), (limits.seconds, self.seconds), (limits.usd, self.usd))
        return any(limit is not None and used >= limit for limit, used in pairs)

    def check(self) -> None:
        """Raise LimitError where no tokens or seconds are left."""
        tokens, left = self.budget.tokens, self.seconds_left
        if tokens is not None and self.tokens >= tokens:
            raise LimitError(
                f"stopped after {self.tokens:,} tokens; a task may use {tokens:,} (max_task_tokens)"
            )
        if left is not None and left <= 0:
            raise self.out_of_time()

    def out_of_time(self) -> LimitError:
        """The error where the time of the task is over."""
        return LimitError(f"stopped after {self.budget.seconds:,g} s, the time of a task (max_task_seconds)")

    def afford(
        self, model: str, price: Price, prompt: Prompt, count: Callable[[Prompt], int]
    ) -> tuple[Prompt, float]:
        """The prompt with as long a reply as there is money for, and what that may cost at most.

        The worst case (all of it put into the cache, the longest reply) is held against what is left; `count`
        estimates the prompt's tokens. Raises LimitError saying what is spent, and which limit it is.
        """
        if self.budget.usd is None and self.budget.day_usd is None:
            return prompt, 0.0
        tokens, wanted = round(_ABOVE * count(prompt)), longest_reply(prompt)
        least = min(wanted, _LEAST_REPLY)
        shortest, read = _worst(model, price, tokens, least), _worst(model, price, tokens, 0)
        per_million = _worst(model, price, tokens, _MILLION) - read
        length = wanted
        for limit, paid, whose, setting in self._money():
            left = limit - paid - self.held
            if shortest > left:
                raise LimitError(
                    f"stopped: the next call may cost {dollars(shortest)}, but {dollars(paid)} of "
                    f"{dollars(limit)} for {whose} is spent ({setting})"
                )
            if per_million:
                length = min(length, int((left - read) * _MILLION / per_million))
        if length < wanted:  # thoughts are part of it
            thinks = prompt.sampling.think if length > _LEAST_THOUGHTS else None
            sampling = replace(prompt.sampling, max_tokens=length, think=thinks, think_tokens=None)
            prompt = replace(prompt, sampling=sampling)
        return prompt, _worst(model, price, tokens, length)

    @contextmanager
    def running(self, worst: float = 0.0) -> Iterator[None]:
        """Count the seconds of a call, and hold the money that it may cost until it is over."""
        began = self.clock()
        self._task._held += worst
        try:
            yield
        finally:
            self._task._held -= worst
            self._model_s += self.clock() - began

    def take(self, charge: Charge) -> None:
        """Count one call, whatever became of it."""
        self.tokens += charge.computed
        self._task._paid += charge.usd or 0.0

    def _money(self) -> Iterator[tuple[float, float, str, str]]:
        """Yield each money limit: the limit, the amount paid, its scope and its setting."""
        if self.budget.usd is not None:
            yield self.budget.usd, self.usd, "a task", "max_task_usd"
        if self.budget.day_usd is not None:
            yield self.budget.day_usd, self._today(), "a day", "max_day_usd"


def longest_reply(prompt: Prompt) -> int:
    """The most tokens that a reply to this may have, thoughts included."""
    sampling = prompt.sampling
    thoughts = sampling.think_tokens or 0
    if sampling.think or thoughts:
        thoughts = max(thoughts, _LEAST_THOUGHTS)
    return (sampling.max_tokens or _LONGEST) + thoughts


def _worst(model: str, price: Price, read: int, written: int) -> float:
    """Return the highest possible cost of a call in US dollars. Raises LimitError without a known price."""
    costs = [price(model, Usage(read, written, 0, into, into)) for into in (0, read)]
    known = [cost for cost in costs if cost is not None]
    if not known:
        raise LimitError(
            f"stopped: the price of {model} is not known, so no money limit can be kept; add "
            f'it to prices.toml: ["{model}"], then input = ... and output = ... (dollars per '
            "million tokens)"
        )
    return max(known)
