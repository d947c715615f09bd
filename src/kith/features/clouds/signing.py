"""A model whose thoughts carry signatures: asked again without those that its server refuses."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from kith.core.model import Emit, Prompt
from kith.core.values import Reply
from kith.features.clouds.turns import signatures
from kith.models.providers.answers import plain, whole
from kith.models.providers.faults import NoRouteError, SignatureError
from kith.models.providers.wire import Endpoint

About = TypeVar("About")  # what the server's list says of the model


class SigningModel(Struct, Generic[About], frozen=True, eq=False):
    """One model behind `endpoint`. `fields` are added to every request as they are."""

    model: str
    endpoint: Endpoint
    fields: Mapping[str, Any] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    _refused: set[str] = field(default_factory=set)
    _known: list[About] = field(default_factory=list)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises ModelError, and NoModelError when the server does not have the model.

        Signatures that are refused are left out from then on: they were made for another key, or something
        before them changed (compaction, other tools).
        """
        about = await self._about()
        try:
            return await self._ask(prompt, about, emit)
        except SignatureError:
            self._refused.update(signatures(prompt.messages))
            return await self._ask(prompt, about, emit)

    @abstractmethod
    async def _ask(self, prompt: Prompt, about: About, emit: Emit) -> Reply:
        """Ask in the server's own format. Raises SignatureError when it refuses a signature."""

    @abstractmethod
    async def _look_up(self) -> About:
        """Ask the server's list. Raises ModelError, and NoModelError when the model is not in it."""

    async def _about(self) -> About:
        if not self._known:
            self._known.append(await self._look_up())
        return self._known[0]

    async def _counted(self, path: str, body: Mapping[str, Any], key: str) -> int | None:
        """The server's count of a prompt's tokens, under a key; None where it cannot count."""
        try:
            return whole(plain(await self.endpoint.post(path, body)).get(key)) or None
        except (NoRouteError, SignatureError):
            return None

    async def warm(self, prompt: Prompt) -> None:
        """Nothing: reading ahead of time would be paid for."""

    async def close(self) -> None:
        """Close the connections that are open."""
        await self.endpoint.close()
