"""A model that answers only while the task's budget of tokens and seconds lasts."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from kith.context.budget import estimate_tokens
from kith.core.errors import LimitError
from kith.core.events import Called, Delta, Event
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Reply


@dataclass(frozen=True, slots=True)
class Budget:
    """What one task may use; None is no limit. Tokens are what was computed: new prompt text, and replies.

    `usd` is what the task may cost, `day_usd` what all tasks of a day may.
    """

    tokens: int | None = None
    seconds: float | None = None
    usd: float | None = None
    day_usd: float | None = None


@dataclass(slots=True)
class Purse:
    """US dollars: what was paid, and what the calls that run now may cost at most."""

    paid: float = 0.0
    held: float = 0.0


class Spent:
    """What a task, or a step of one, has used so far, in all the models that it asks.

    Steps have tokens and seconds of their own, and share the `purse` of the task. `today` asks what was paid
    today, by whomever; without one it is what this task paid. `reset` when the next task begins.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], float] | None = None,
        purse: Purse | None = None,
    ) -> None:
        self.clock = clock
        self.purse = purse or Purse()
        self.today = today or (lambda: self.usd)
        self._begin()

    @property
    def usd(self) -> float:
        """US dollars that the task has paid."""
        return self.purse.paid

    def reset(self) -> None:
        """Nothing is spent, and the task begins now."""
        self.purse.paid = self.purse.held = 0.0
        self._begin()

    def _begin(self) -> None:
        self.tokens = 0
        self.model_s = 0.0
        self._began = self.clock()

    @property
    def seconds(self) -> float:
        """Seconds since the beginning, or of all calls together where several ran at once."""
        return max(self.clock() - self._began, self.model_s)


@dataclass(frozen=True, slots=True)
class Limited:
    """`model`, within a budget that it shares with all who hold the same `spent`.

    `model` must be metered: its Called events tell what was computed. Of a call that failed or was cancelled
    the words that arrived are counted, by estimate.
    """

    model: Model
    budget: Budget
    spent: Spent

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask, if there is anything left. Raises LimitError before a call, or when time runs out in one."""
        self._check()
        seconds, began, heard = self.budget.seconds, self.spent.clock(), 0

        def listen(event: Event) -> None:
            nonlocal heard
            if isinstance(event, Delta):
                heard += estimate_tokens(event.text)
            elif isinstance(event, Called):
                self.spent.tokens += heard if event.stop == "error" else event.computed
                self.spent.purse.paid += event.usd or 0.0
                heard = 0
            emit(event)

        try:
            async with asyncio.timeout(None if seconds is None else seconds - self.spent.seconds) as limit:
                return await self.model(prompt, listen)
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._out_of_time() from None
        finally:
            self.spent.model_s += self.spent.clock() - began

    def _check(self) -> None:
        """Raise LimitError when nothing is left."""
        tokens, seconds = self.budget.tokens, self.budget.seconds
        if tokens is not None and self.spent.tokens >= tokens:
            raise LimitError(
                f"stopped after {self.spent.tokens:,} tokens; a task may use {tokens:,} (max_task_tokens)"
            )
        if seconds is not None and self.spent.seconds >= seconds:
            raise self._out_of_time()

    def _out_of_time(self) -> LimitError:
        return LimitError(f"stopped after {self.budget.seconds:,g} s, the time of a task (max_task_seconds)")
