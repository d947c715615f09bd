"""The last door before the wire of a model in the cloud: only what was agreed to passes, without secrets."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kith.context.redact import Redactor
from kith.core.errors import NoModelError
from kith.core.events import Notice
from kith.core.model import Emit, Prompt
from kith.core.values import Reply
from kith.models.providers.facts import Facts, Provider
from kith.models.providers.progress import ignore
from kith.models.wrappers.consented import group_of


@dataclass(slots=True)
class Door:
    """What may pass to one model: the groups of purposes that were agreed to, and never the secrets."""

    model: str = ""
    granted: set[str] = field(default_factory=set)
    redactor: Redactor = field(default_factory=Redactor)
    told: bool = False

    def keep_back(self, values: Iterable[str]) -> None:
        """Let none of these values pass, wherever it stands."""
        self.redactor = Redactor(values, self.model)


@dataclass(frozen=True, slots=True)
class Guarded:
    """`provider`, whose every prompt passes the door; it is neither warmed up nor asked to count.

    Counting and warming up would send the prompt too.
    """

    provider: Provider
    door: Door

    @property
    def name(self) -> str:
        return self.provider.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises NoModelError where nobody agreed, and what the provider raises."""
        if group_of(prompt.purpose) not in self.door.granted:
            raise NoModelError(f"{self.name} is in the cloud, and nobody agreed that it gets this.")
        prompt, found = self.door.redactor.redact(prompt)
        if found and not self.door.told:
            self.door.told = True
            what = "one secret was" if found == 1 else f"{found:,} secrets were"
            emit(Notice(f"{what.capitalize()} left out of what {self.name} gets.", "warning"))
        return await self.provider(prompt, emit)

    async def facts(self, emit: Emit = ignore) -> Facts:
        """What the provider says of the model; no prompt is sent."""
        return await self.provider.facts(emit)

    async def count(self, prompt: Prompt) -> int | None:
        """Nobody is asked."""
        return None

    async def warm(self, prompt: Prompt) -> None:
        """Nothing is sent ahead of time."""

    async def close(self) -> None:
        """Let go of connections."""
        await self.provider.close()
