"""A model on the person's own machine or network: it needs no secret either, and gets none."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kith.context.redact import Redactor
from kith.core.model import Emit, Prompt
from kith.core.values import Reply
from kith.models.providers.facts import Facts, Provider
from kith.models.providers.progress import ignore


@dataclass(slots=True)
class Discretion:
    """What is kept back from one model."""

    redactor: Redactor = field(default_factory=Redactor)

    def keep_back(self, values: Iterable[str]) -> None:
        """Let none of these values pass, wherever it stands."""
        self.redactor = Redactor(values)


@dataclass(frozen=True, slots=True)
class Discreet:
    """`provider`, which sees every prompt as the log holds it.

    So what a session sends does not change when it is gone on with in another process.
    """

    provider: Provider
    discretion: Discretion

    @property
    def name(self) -> str:
        return self.provider.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        return await self.provider(self._shown(prompt), emit)

    async def facts(self, emit: Emit = ignore) -> Facts:
        """What the provider says of the model; no prompt is sent."""
        return await self.provider.facts(emit)

    async def count(self, prompt: Prompt) -> int | None:
        """As the provider counts what it would be sent."""
        return await self.provider.count(self._shown(prompt))

    async def warm(self, prompt: Prompt) -> None:
        """Have the provider read what it will be sent."""
        await self.provider.warm(self._shown(prompt))

    async def close(self) -> None:
        """Let go of connections."""
        await self.provider.close()

    def _shown(self, prompt: Prompt) -> Prompt:
        return self.discretion.redactor.redact(prompt)[0]
