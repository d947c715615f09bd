"""A model of an engine of kith's own: started when it is first asked, and again when it crashed."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kith.core.errors import ModelError
from kith.core.events import Notice
from kith.core.model import Emit, Prompt
from kith.core.values import Reply
from kith.features.engine.share import EngineAddress, runs
from kith.models.providers.facts import Facts, Provider, ignore

Result = TypeVar("Result")

_LOOKS, _PAUSE_S = 20, 0.05


@dataclass(slots=True)
class Owned:
    """The provider that `make` builds for the engine that `open` finds or starts.

    A call that lost its engine is made once more: of an answer that broke off nothing was stored, and no tool
    has run because of it.
    """

    name: str
    open: Callable[[Emit], Awaitable[EngineAddress]]
    make: Callable[[EngineAddress], Provider]
    _address: EngineAddress | None = field(default=None, init=False, repr=False)
    _provider: Provider | None = field(default=None, init=False, repr=False)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask, with one new start of the engine in between if it takes one. Raises ModelError.

        The reply bears the file's name: an address that changes with each start says nothing to a person.
        """
        reply = await self._ask(lambda provider: provider(prompt, emit), emit)
        message = replace(reply.message, author=self.name)
        return replace(reply, message=message, model=self.name)

    async def facts(self, emit: Emit = ignore) -> Facts:
        """What really runs, with the digest of the file's weights."""
        facts = await self._ask(lambda provider: provider.facts(emit), emit)
        address = await self.start(ignore)
        return replace(
            facts,
            name=self.name,
            digest=address.digest,
            server=address.url,
            window=facts.window or address.window,
        )

    async def count(self, prompt: Prompt) -> int | None:
        """The prompt's exact size in tokens, as the engine counts."""
        return await self._ask(lambda provider: provider.count(prompt), ignore)

    async def warm(self, prompt: Prompt) -> None:
        """Let the engine read a prompt ahead of time."""
        await self._ask(lambda provider: provider.warm(prompt), ignore)

    async def start(self, emit: Emit) -> EngineAddress:
        """Find or start the engine, unless this was done already. Raises what `open` raises."""
        async with self._opening:
            if self._address is None:
                self._address = await self.open(emit)
                self._provider = self.make(self._address)
            return self._address

    async def close(self) -> None:
        """Do without the engine until it is asked again."""
        address, provider = self._address, self._provider
        self._address = self._provider = None
        if provider is not None:
            await provider.close()
        if address is not None:
            address.release()

    async def _ask(self, call: Callable[[Provider], Awaitable[Result]], emit: Emit) -> Result:
        address = await self.start(emit)
        assert self._provider
        try:
            return await call(self._provider)
        except ModelError:
            if await runs(address):
                raise  # the engine is well: the failure is somebody else's to mend
        again = await self._start_again(address, emit)
        why = await _crash_of(address) or "The engine was gone"
        emit(Notice(f"{why}; it was started again.", "warning"))
        try:
            return await call(self._provider)
        except ModelError as error:
            if await runs(again):
                raise
            said = await _crash_of(again) or str(error)
            raise ModelError(f"The engine crashed twice on the same prompt. {said}") from error

    async def _start_again(self, lost: EngineAddress, emit: Emit) -> EngineAddress:
        # Another call may have noticed first, and done it already.
        if self._address is lost:
            self._address = None
        try:
            return await self.start(emit)
        finally:
            lost.release()  # only now: a keeper that nobody needs does not start its engine again


async def _crash_of(address: EngineAddress) -> str:
    """Why the engine ended since it was opened, as its keeper wrote it down; "" if it did not say."""
    for _ in range(_LOOKS):  # the keeper may hear of it a moment after its clients
        record = address.home.read()
        if record is not None and record.crashes > address.crashes:
            return record.crash.rstrip(".")
        if record is None or (record.state == "ready" and record.url != address.url):
            break  # another keeper's engine: nobody was there to see how the former one ended
        await asyncio.sleep(_PAUSE_S)
    return ""
