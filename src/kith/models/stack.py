"""A model that was found, looked at once, and wrapped for each task: a prompt's whole way to the wire."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kith.core.events import Compacted, Notice
from kith.core.model import Emit, Model, Prompt
from kith.models.providers.facts import Facts, Provider
from kith.models.wrappers.counter import Counter
from kith.models.wrappers.fitted import Fitted
from kith.models.wrappers.ladder import Ladder
from kith.models.wrappers.limited import Budget, Limited, Spent
from kith.models.wrappers.meter import Meter
from kith.models.wrappers.metered import Metered
from kith.models.wrappers.patient import Patient
from kith.models.wrappers.queued import Queued
from kith.models.wrappers.retry import Retrying
from kith.models.wrappers.verified import Verified
from kith.models.wrappers.watched import Watched

_CARDED = ("tokens_per_estimate", "read_rate")  # facts of a card that a new process begins with


@dataclass(frozen=True, slots=True)
class Opened:
    """A model as it was found to be: its facts, what is known of it by now, and what this process counts."""

    provider: Provider
    facts: Facts
    card_of: Callable[[str], Mapping[str, Any]]
    counter: Counter
    meter: Meter

    @property
    def window(self) -> int:
        """Tokens that a prompt and its reply may have together; 0 when nobody knows."""
        return self.counter.window

    async def count(self, prompt: Prompt) -> int:
        """A prompt's tokens: by the server where it can, else by estimate."""
        exact = await self.provider.count(prompt)
        return exact if exact is not None else self.counter.estimate(prompt)

    def metered(self) -> Model:
        """The model with patience and measurement: each call goes to the wire as it is asked."""
        facts = self.facts
        queued = Queued(self.provider, facts.server or facts.name, facts.slots)
        patient = Patient(Retrying(queued), self.counter.estimate, self.meter.read_rate)
        # Without a server (a script) there is nobody who could cut anything off.
        verified = Verified(patient, self.counter, not facts.verified) if facts.server else patient
        return Metered(verified, window=self.window, meter=self.meter)

    def wrap(self, budget: Budget, earlier: Sequence[Compacted] = ()) -> Model:
        """The model of one task: within its budget, on the rung that works, and never over its window.

        `earlier` are the session's compactions so far: what was sent once is sent again.
        """
        watched = Watched(Limited(self.metered(), budget, Spent()))
        digest, card = self.facts.digest, self.card_of(self.facts.digest)
        ladder = Ladder(watched, card, digest, "text" if self.facts.tools is False else None)
        by_thread = {each.thread: [e for e in earlier if e.thread == each.thread] for each in earlier}
        return Fitted(ladder, self.counter, by_thread)


async def look(
    provider: Provider, card_of: Callable[[str], Mapping[str, Any]], wish: int, emit: Emit
) -> Opened:
    """Load the model if need be, and see what really runs.

    `card_of` gives what is known of a model by its digest; `wish` is the window that the person set, which
    counts where the server does not tell its own, and where it is smaller. Raises ModelError, NoModelError.
    """
    facts = await provider.facts(emit)
    window = min(filter(None, (facts.window, wish)), default=0)
    if facts.window and wish > facts.window:
        emit(
            Notice(
                f"The server runs {facts.name} with a window of {facts.window:,} tokens, not {wish:,}.",
                "warning",
            )
        )
    card = card_of(facts.digest)
    ratio, rate = (float(card.get(key) or 0.0) for key in _CARDED)
    counter = Counter(window, provider.count, ratio)
    return Opened(provider, facts, card_of, counter, Meter(facts.counts_cache, rate))
