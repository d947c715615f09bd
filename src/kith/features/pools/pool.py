"""Several servers that run the same model, as one: each prompt goes where it waits least."""

import asyncio
import time
from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kith.context.budget import estimate_tokens
from kith.core.errors import ModelError, NoModelError
from kith.core.events import Delta, Event, Notice, Progress
from kith.core.model import Emit, Prompt
from kith.core.values import Reply
from kith.models.providers.facts import ASKED, Facts, Provider, ignore
from kith.models.wrappers.retry import Queue

_RESTS = 30.0  # seconds that a server is left alone after it failed
_FADES = 0.7  # of what was measured, when the next call is
_THREADS = 64  # conversations whose server is remembered


class Member(Struct):
    """One server of a pool, and what this process saw of it. Rates in tokens a second, 0.0: not seen yet."""

    provider: Provider
    facts: Facts = field(default_factory=lambda: Facts(""))
    asked: int = 0  # calls that are under way
    call_s: float = 0.0
    read_rate: float = 0.0
    rests_until: float = 0.0

    def take(self, reply: Reply, seconds: float) -> None:
        """Learn from a call how long one takes here."""
        self.call_s = _fade(self.call_s, seconds)
        new, took = reply.usage.new, reply.timing.prefill_s
        if new > 0 and took > 0:
            self.read_rate = _fade(self.read_rate, new / took)


def _fade(known: float, seen: float) -> float:
    return _FADES * known + (1 - _FADES) * seen if known else seen


class Pool(Struct):
    """The members that answer under one `name`. A Provider, so a caller sees one model.

    The window is the smallest of all, for any of them may get the next prompt. A conversation stays with the
    server that has its beginning in the cache, unless the wait there is longer than reading it again.
    """

    name: str
    members: Sequence[Member]
    clock: Callable[[], float] = time.monotonic
    _homes: dict[str, Member] = field(default_factory=dict)

    async def facts(self, emit: Emit = ignore) -> Facts:
        """Return the members' common facts. Members that do not answer, or forward to a cloud, are left out.

        Raises NoModelError when none answers.
        """
        looks = (each.provider.facts(emit) for each in self.members)
        found = await asyncio.gather(*looks, return_exceptions=True)
        present: list[Member] = []
        for member, facts in zip(self.members, found, strict=True):
            if isinstance(facts, Facts) and facts.cloud:
                words = f"{facts.name} at {facts.server} is outside of your own network"
                emit(Notice(f"{words}. The pool {self.name} goes on without it.", "warning"))
            elif isinstance(facts, Facts):
                member.facts = facts
                present.append(member)
            elif isinstance(facts, ModelError | NoModelError):
                emit(Notice(f"{str(facts).rstrip('.')}. The pool {self.name} goes on without it.", "warning"))
            else:
                raise facts
        if not present:
            raise NoModelError(f"No server of the pool {self.name} answers.")
        self.members = present
        if len({each.facts.digest for each in present}) > 1:
            emit(Notice(f"The servers of {self.name} do not run the same weights.", "warning"))
        return _common(self.name, [each.facts for each in present])

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask where the wait is least; where a server fails before it says anything, ask the next one."""
        tried: list[Member] = []
        while True:
            member = self._choose(prompt, tried)
            heard = False

            def listen(event: Event) -> None:
                nonlocal heard
                heard = heard or isinstance(event, Delta)
                emit(event)

            try:
                return await self._ask(member, prompt, listen)
            except ModelError as error:
                tried.append(member)
                if heard or error.overflow or not error.retryable or len(tried) == len(self.members):
                    raise
                member.rests_until = self.clock() + _RESTS
                emit(Notice(f"{str(error).rstrip('.')}; asking another server of {self.name}.", "warning"))
                emit(Progress(ASKED, 0))  # nobody reads it any more

    async def _ask(self, member: Member, prompt: Prompt, emit: Emit) -> Reply:
        began, member.asked = self.clock(), member.asked + 1
        try:
            queue = Queue(member.facts.server, member.facts.slots, self.clock)
            reply = await queue.ask(member.provider, prompt, emit)
        finally:
            member.asked -= 1
        member.take(reply, self.clock() - began - reply.timing.queue_s)
        self._homes.pop(prompt.thread, None)
        self._homes[prompt.thread] = member  # the newest last
        for old in list(self._homes)[:-_THREADS]:
            del self._homes[old]
        # One model to whoever asks: a signature or a count must not look foreign on the next server.
        return replace(reply, model=self.name, message=replace(reply.message, author=self.name))

    def _choose(self, prompt: Prompt, tried: Sequence[Member]) -> Member:
        left = [each for each in self.members if each not in tried]
        awake = [each for each in left if each.rests_until <= self.clock()]
        return min(awake or left, key=lambda each: self._wait(each, prompt))

    def _wait(self, member: Member, prompt: Prompt) -> float:
        """Seconds until a member would begin to answer: those before it, then what it has to read."""
        slots = max(member.facts.slots, 1)
        known = [each.call_s for each in self.members if each.call_s]
        usual = member.call_s or (sum(known) / len(known) if known else 1.0)
        queue = max(0, member.asked - slots + 1) / slots * usual
        rates = [each.read_rate for each in self.members if each.read_rate]
        rate = member.read_rate or (sum(rates) / len(rates) if rates else 1_000.0)
        new = prompt.messages[-1:] if self._homes.get(prompt.thread) is member else prompt.messages
        # A slot that is taken makes even a free one slower: the machine is the same.
        return queue + sum(estimate_tokens(message.text) for message in new) / rate + 1e-3 * member.asked

    async def count(self, prompt: Prompt) -> int | None:
        """The prompt's exact size, by the first member that can say."""
        for member in self.members:
            try:
                return await member.provider.count(prompt)
            except ModelError:
                continue
        return None

    async def warm(self, prompt: Prompt) -> None:
        """Let every member read the prompt ahead of time."""
        await asyncio.gather(*(each.provider.warm(prompt) for each in self.members), return_exceptions=True)

    async def close(self) -> None:
        """Let go of all connections."""
        for member in self.members:
            await member.provider.close()


def _common(name: str, all_facts: Sequence[Facts]) -> Facts:
    """Combine the facts that hold for every member."""
    first = all_facts[0]
    same_weights = len({each.digest for each in all_facts}) == 1
    return replace(
        first,
        name=name,
        server=f"pool {name}",
        digest=first.digest if same_weights else "",
        window=min((each.window for each in all_facts if each.window), default=0),
        trained=min((each.trained for each in all_facts if each.trained), default=0),
        slots=sum(each.slots for each in all_facts),
        sees=first.sees if len({each.sees for each in all_facts}) == 1 else None,
        tools=first.tools if len({each.tools for each in all_facts}) == 1 else None,
        keeps_thinking=all(each.keeps_thinking for each in all_facts),
        counts_cache=all(each.counts_cache for each in all_facts),
        verified=all(each.verified for each in all_facts),
    )


def join(name: str, providers: Sequence[Provider]) -> Provider:
    """The model of a pool, called `name`."""
    return Pool(name, [Member(each) for each in providers])
