"""The models that other programs may ask: listed, and kept open between requests."""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Final
from weakref import WeakValueDictionary

from msgspec import Struct, field

from kith.agent.models import list_all
from kith.agent.project import Project
from kith.core.event_loop import LEAVE_S
from kith.core.model import Emit
from kith.memory.log import Log
from kith.models.stack import Opened
from kith.settings import Settings
from kith.settings.values import ROUTE

MOST: Final = 4  # models that stay open while nobody uses them
IDLE_S: Final = 600.0

Key = tuple[str, str]  # a project's root, and a name as after -m


class HeldModel(Struct):
    """An open model, and how many requests have it now; `since`: when the last one gave it back."""

    opened: Opened
    users: int = 0
    since: float = 0.0


class OpenModels(Struct):
    """At most `most` models beside those in use, each for `idle_s` after its last request.

    All of it is used from one event loop.
    """

    most: int = MOST
    idle_s: float = IDLE_S
    clock: Callable[[], float] = time.monotonic
    _held: dict[Key, HeldModel] = field(default_factory=dict)
    _opening: "WeakValueDictionary[Key, asyncio.Lock]" = field(default_factory=WeakValueDictionary)
    _closing: "set[asyncio.Task[None]]" = field(default_factory=set)
    _timer: asyncio.TimerHandle | None = None

    async def take(self, project: Project, name: str, emit: Emit) -> HeldModel:
        """The model called `name`, until it is given back. Raises NoModelError, ModelError.

        Who asks for a model that is being opened waits for it.
        """
        key = str(project.root), name
        opening = self._opening.setdefault(key, asyncio.Lock())
        async with opening:
            if key not in self._held:
                self._held[key] = HeldModel(await project.open_model(emit, name))
            held = self._held[key]
            held.users += 1
            return held

    def give_back(self, held: HeldModel, *, failed: bool = False) -> None:
        """A request is over; where it `failed`, the next one checks the model again."""
        held.users, held.since = held.users - 1, self.clock()
        key = next((key for key, each in self._held.items() if each is held), None)
        if failed and key:
            del self._held[key]
            key = None
        if not key and not held.users:
            self._let_go(held)
        self._sweep()
        if self._timer is None and math.isfinite(self.idle_s):
            self._timer = asyncio.get_running_loop().call_later(self.idle_s, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self._sweep()
        if self._held:
            self._timer = asyncio.get_running_loop().call_later(self.idle_s, self._look_again)

    def _sweep(self) -> None:
        """Let go of models that were idle for long, and of the idlest where there are too many."""
        idle = sorted((held.since, key) for key, held in self._held.items() if not held.users)
        late, surplus = self.clock() - self.idle_s, len(idle) - self.most
        for number, (since, key) in enumerate(idle):
            if number < surplus or since <= late:
                self._let_go(self._held.pop(key))

    def _let_go(self, held: HeldModel) -> None:
        task = asyncio.get_running_loop().create_task(held.opened.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Let go of all of them."""
        if self._timer is not None:
            self._timer.cancel()
        for held in self._held.values():
            self._let_go(held)
        self._held.clear()
        if self._closing:
            await asyncio.wait(self._closing, timeout=LEAVE_S)


# The models that another program may name, in the order in which a person sees them.


class OfferedModel(Struct, frozen=True):
    """A model by the name that a request gives; `window` in tokens, 0 where nobody says."""

    name: str
    owner: str
    window: int = 0


async def list_offered(chosen: Settings, log: Log) -> tuple[OfferedModel, ...]:
    """kith's own choice first, then every model that can be asked."""
    listed = await list_all(chosen, log)
    found = (OfferedModel(row.name, row.source, row.window) for row in listed.rows)
    return (OfferedModel(ROUTE, "kith"), *found)
