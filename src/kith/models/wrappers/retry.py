"""A model that asks again after a failure that may pass, and only when nothing had been answered yet."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kith.core.errors import ModelError
from kith.core.events import Called, Delta, Event, Notice, Progress
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Reply
from kith.models.providers.faults import BrokenReplyError, GarbledReplyError
from kith.models.providers.progress import ASKED, READING

LONGEST_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Retrying:
    """`model`, asked at most `tries` times within `budget_s` seconds.

    Waits double from `first_s`, each drawn evenly between nothing and its limit ("full jitter",
    https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/); a server's own wish counts
    instead, up to a minute. A request that was accepted (it is being read, or has begun to answer) is not
    sent again, unless its reply broke off: then once, for nobody works on it any more, and what broke off is
    told as a call of its own. `sleep`, `draw`
    (0 to 1) and `clock` are arguments so that tests need no patience.
    """

    model: Model
    tries: int = 5
    budget_s: float = 180.0
    first_s: float = 1.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    draw: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask, and ask again. Raises the last ModelError when it does not pass."""
        began, accepted = self.clock(), False

        def listen(event: Event) -> None:
            nonlocal accepted
            # Waiting for a slot or a load is no sign that the prompt was taken.
            reading = isinstance(event, Progress) and event.what == READING
            accepted = accepted or reading or isinstance(event, Delta)
            emit(event)

        tried = 0
        while True:
            tried, accepted = tried + 1, False
            try:
                return await self.model(prompt, listen)
            except ModelError as error:
                wait = self._wait(error, tried)
                late = self.clock() - began + wait > self.budget_s
                worked_on = accepted and not isinstance(error, BrokenReplyError)
                if worked_on or late or not error.retryable or tried >= self._most(error):
                    raise
                if accepted:  # it may have to be paid for
                    words = str(error)
                    emit(Called(self.name, prompt.purpose, prompt.attempt, stop="error", error=words))
                when = f" in {wait:.2g} s" if wait else ""
                said = str(error).rstrip(".")
                then = " Trying" if said.endswith("?") else "; trying"
                emit(Notice(f"{said}{then} again{when}.", "warning"))
                emit(Progress(ASKED, 0))  # nobody reads meanwhile
                await self.sleep(wait)

    def _most(self, error: ModelError) -> int:
        """How often to ask in all; what garbles its calls or breaks off in a reply tends to do it again."""
        return min(2, self.tries) if isinstance(error, GarbledReplyError | BrokenReplyError) else self.tries

    def _wait(self, error: ModelError, tried: int) -> float:
        if error.after_s is not None:
            return min(error.after_s, LONGEST_WAIT_S)
        return self.draw() * min(self.first_s * 2.0 ** (tried - 1), LONGEST_WAIT_S)
