"""Another model in the middle of a conversation: what it has to read anew, and what that takes."""

from dataclasses import dataclass

from kith.core.model import Prompt
from kith.core.values import Usage
from kith.memory.past import Past
from kith.models.stack import Opened


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model reads of a conversation that another one has led: tokens, about; None: nobody knows.

    `fits` is whether it holds that in its window, without anything being left out.
    """

    tokens: int
    fits: bool
    seconds: float | None = None
    usd: float | None = None


def read_anew(opened: Opened, past: Past, thread: str) -> Reading | None:
    """What `opened` will read with the next request; None where nothing was said yet."""
    messages = tuple(past.threads.get(thread, ()))
    if not messages:
        return None
    prompt = Prompt("", messages)
    tokens = opened.counter.estimate(prompt)
    forecast = opened.foresight.expect(prompt) if opened.foresight else None
    usd = opened.price(opened.facts.name, Usage(tokens)) if opened.facts.cloud else None
    fits = not opened.window or tokens < opened.window
    return Reading(tokens, fits, forecast.mid_s if forecast else None, usd)
