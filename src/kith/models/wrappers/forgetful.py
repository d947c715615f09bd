"""A model that is not shown what it thought before: most templates would strip it anyway, and only later."""

from dataclasses import dataclass, replace

from kith.core.model import Emit, Prompt
from kith.core.values import Message, Reply, Thinking
from kith.models.providers.facts import Provider


@dataclass(frozen=True, slots=True)
class Forgetful:
    """`provider`, asked without the thinking of former replies.

    A template that strips thinking once somebody speaks makes the server read all that follows anew; one that
    never gets any leaves the prompt's beginning as it was.
    """

    provider: Provider

    @property
    def name(self) -> str:
        return self.provider.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises what the provider raises."""
        return await self.provider(_without_thoughts(prompt), emit)

    async def count(self, prompt: Prompt) -> int | None:
        """The size in tokens of what would be sent; None when the server cannot say."""
        return await self.provider.count(_without_thoughts(prompt))


def _without_thoughts(prompt: Prompt) -> Prompt:
    return replace(prompt, messages=tuple(map(_spoken, prompt.messages)))


def _spoken(message: Message) -> Message:
    parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
    return message if parts == message.parts else replace(message, parts=parts)
