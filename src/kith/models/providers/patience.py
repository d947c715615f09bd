"""How long a silent server is waited for: as long as it lives, and not long once it is gone."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


@dataclass(slots=True)
class Vigil:
    """One request that is waited for; times in seconds.

    After `quiet_s` without a byte the server is asked for a sign of life. One that gives none for `stall_s`
    in all is lost; so is one that says nothing for `stall_s` once its answer has `begun`, however alive. A
    prompt that is still being read is waited for without limit.
    """

    stall_s: float
    quiet_s: float
    clock: Clock
    sleep: Sleep
    is_alive: Callable[[], Awaitable[bool]]
    begun: bool = False
    heard: float = field(init=False)  # when the last byte came
    alive: float = field(init=False)  # when the server last gave a sign of life

    def __post_init__(self) -> None:
        self.hear()

    def hear(self) -> None:
        """Note that something arrived."""
        self.heard = self.alive = self.clock()

    async def keep(self, limit: asyncio.Timeout) -> None:
        """Watch until the server counts as lost, then let `limit` expire."""
        while True:
            await self.sleep(self.quiet_s)
            if self.clock() - self.heard < self.quiet_s:
                continue
            if await self.is_alive():
                self.alive = self.clock()
            since = self.heard if self.begun else max(self.heard, self.alive)
            if self.clock() - since >= self.stall_s:
                limit.reschedule(asyncio.get_running_loop().time())
                return
