"""Model files of this machine, run by kith's own engine."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kith.core.errors import NoModelError
from kith.core.events import Notice
from kith.core.model import Emit
from kith.models.engine.options import EngineOptions
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint

if TYPE_CHECKING:
    from kith.models.discovery.memory import Memory
    from kith.models.discovery.stored import Stored
    from kith.models.engine.owned import Owned
    from kith.models.engine.share import EngineAddress

QUICK = 6 << 30  # bytes of weights for each token, above which a processor alone is slow


@dataclass(frozen=True, slots=True)
class OwnEngine:
    """What kith needs to run a model file: where files are, how to run them, and where engines are shared.

    `window` is the person's wish in tokens, 0 for what model and memory allow. `program` is "auto",
    "xllamacpp", "llama-server" or "off".
    """

    state: Path
    cache: Path
    folders: Sequence[Path] = ()
    program: str = "auto"
    options: EngineOptions = EngineOptions()
    window: int = 0
    idle_s: float = 300.0
    stall_s: float = 600.0
    _found: "list[tuple[Stored, ...]]" = field(default_factory=list, init=False, repr=False, compare=False)

    async def stored(self) -> "tuple[Stored, ...]":
        """The model files that can be run, looked for once."""
        from kith.models.discovery.stored import find_stored

        if not self._found:
            found = await asyncio.to_thread(find_stored, self.folders, cache=self.cache)
            self._found.append(tuple(each for each in found if not each.fault))
        return self._found[0]

    async def names(self) -> tuple[str, ...]:
        """What `file/...` may name."""
        return tuple(each.name for each in await self.stored())

    async def pick(self, name: str) -> "Stored":
        """The file of that name, or at that path. Raises NoModelError naming the nearest."""
        from kith.models.discovery.stored import pick_stored

        return pick_stored(name, await self.stored())

    async def find(self, name: str) -> "Stored | None":
        """The file of exactly that name, or None."""
        return next((each for each in await self.stored() if each.name == name), None)

    async def best(self) -> "Stored | None":
        """The file to begin with: one that fits, takes tools and is quick enough, the largest of these."""
        from kith.models.discovery.machine import read_memory
        from kith.models.discovery.memory import fits

        stored = await self.stored()
        if not stored or self._why_not():
            return None
        memory = await asyncio.to_thread(read_memory, cards=True)
        able = [each for each in stored if fits(each.header, each.size, memory)[0]]
        return max(able, key=lambda each: _rank(each, memory), default=None)

    async def open(self, stored: "Stored", emit: Emit) -> "Owned":
        """The engine for a file, found or started. Raises NoModelError, ModelError."""
        from kith.models.discovery.machine import read_memory
        from kith.models.discovery.memory import TARGET, choose_window, fits
        from kith.models.engine.owned import Owned
        from kith.models.engine.share import open_engine

        if why := self._why_not():
            raise NoModelError(why)
        memory = await asyncio.to_thread(read_memory, cards=True)
        kinds = (self.options.cache_type_k or "f16", self.options.cache_type_v or "f16")
        choice = choose_window(stored.header, stored.size, memory, self.window or TARGET, kinds)
        if not choice.fits:
            why = fits(stored.header, stored.size, memory, choice.window, kinds)[1]
            emit(Notice(f"file/{stored.name} {why}: it may be slow, or not load.", "warning"))
        options = replace(self.options, window=choice.window)
        prefer = "" if self.program == "auto" else self.program

        async def start(emit: Emit) -> "EngineAddress":
            return await open_engine(
                stored.path, options, self.state, emit, name=stored.name, prefer=prefer, idle_s=self.idle_s
            )

        def ask(address: "EngineAddress") -> OpenAILike:
            endpoint = Endpoint(address.url, address.key, stall_s=self.stall_s)
            return OpenAILike(address.name, endpoint, "llama-server")

        return Owned(f"file/{stored.name}", start, ask)

    def _why_not(self) -> str:
        """Why no file can be run here, "" when one can."""
        from kith.models.engine.available import find_engine

        if self.program == "off":
            return "kith's own engine is switched off (engine.program)."
        try:
            find_engine("" if self.program == "auto" else self.program)
        except NoModelError as error:
            return str(error)
        return ""


def _rank(stored: "Stored", memory: "Memory") -> tuple[bool, bool, int]:
    header = stored.header
    tools = header.template is None or header.template.tools
    active = stored.size
    if header.experts and header.experts_used:
        active = stored.size * header.experts_used // header.experts
    return tools, active <= QUICK or stored.size < memory.gpu, stored.size
