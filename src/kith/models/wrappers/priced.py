"""A model whose every call is told with what it cost, by a table of prices."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from kith.context.budget import estimate_tokens
from kith.core.events import Called, Delta, Event
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Reply, Usage

# A model's name and the tokens of one call -> US dollars; None where no price is known.
Price = Callable[[str, Usage], float | None]


def free(model: str, usage: Usage) -> float:
    """The price of what runs on the person's own machines."""
    return 0.0


def know_no_price(model: str, usage: Usage) -> None:
    """The price where there is no table."""


@dataclass(frozen=True, slots=True)
class Priced:
    """`model`, which is metered, with the money in its Called events.

    A call that was cancelled, or failed in mid-reply, is priced by estimate: `count` is for the prompt, and
    what arrived was written. One that was refused before a word of an answer costs nothing.
    """

    model: Model
    price: Price
    count: Callable[[Prompt], int]

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises what the model raises."""
        heard = 0

        def listen(event: Event) -> None:
            nonlocal heard
            if isinstance(event, Delta):
                heard += estimate_tokens(event.text)
            elif isinstance(event, Called):
                event, heard = replace(event, usd=self._cost(event, prompt, heard)), 0
            emit(event)

        return await self.model(prompt, listen)

    def _cost(self, called: Called, prompt: Prompt, heard: int) -> float | None:
        if called.stop != "error" or called.usage != Usage():
            return self.price(called.model, called.usage)
        if not heard and called.error != "cancelled":
            return 0.0
        return self.price(called.model, Usage(self.count(prompt), heard))
