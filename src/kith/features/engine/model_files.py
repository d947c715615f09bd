"""Model files of this machine, run by kith's own engine: started when asked, and again when it crashed."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.errors import ModelError, NoModelError, UsageError
from kith.core.events import Notice
from kith.core.model import Emit, Prompt
from kith.core.values import Reply
from kith.features.engine.home import real_path
from kith.features.engine.layout import Wanted, choose_layout, options_for
from kith.features.engine.options import EngineOptions, EngineSettings
from kith.features.engine.processes import find_engine
from kith.features.engine.running import EngineAddress, make_room, open_engine, running_engines, runs
from kith.features.engine.stored import find_stored, pick_stored
from kith.features.engine.tuning import DRAFT, find_tuning, tuned, with_small_cache
from kith.models.discovery.machine import read_memory
from kith.models.discovery.memory import TARGET, Memory, fits
from kith.models.discovery.stored import Stored
from kith.models.providers.facts import Facts, Provider, ignore
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint, load_http
from kith.settings import Settings

_NAMED = 3  # files in a sentence
QUICK = 6 << 30  # bytes of weights for each token, above which a processor alone is slow


Result = TypeVar("Result")

_LOOKS, _PAUSE_S = 20, 0.05


class EngineModel(Struct):
    """The provider that `make` builds for the engine that `open` finds or starts.

    A call that lost its engine is repeated once: nothing of a broken answer was stored, and no tool ran
    because of it.
    """

    name: str
    open: Callable[[Emit], Awaitable[EngineAddress]]
    make: Callable[[EngineAddress], Provider]
    _address: EngineAddress | None = None
    _provider: Provider | None = None
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask, with one new start of the engine in between if it takes one. Raises ModelError.

        The reply bears the file's name: an address that changes with each start says nothing to a person.
        """
        reply = await self._ask(lambda provider: provider(prompt, emit), emit)
        message = replace(reply.message, author=self.name)
        return replace(reply, message=message, model=self.name)

    async def facts(self, emit: Emit = ignore) -> Facts:
        """Return the running model's facts, with the digest of the file's weights."""
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
    """Explain why the engine ended since it was opened, from its keeper's record; "" if unknown."""
    for _ in range(_LOOKS):  # the keeper may hear of it a moment after its clients
        record = address.home.read()
        if record is not None and record.crashes > address.crashes:
            return record.crash.rstrip(".")
        if record is None or (record.state == "ready" and record.url != address.url):
            break  # another keeper's engine: nobody was there to see how the former one ended
        await asyncio.sleep(_PAUSE_S)
    return ""


class OwnEngine(Struct, frozen=True, eq=False):
    """The resources to run a model file: folders of files, the engine and its options, and shared state.

    `window` is the person's choice in tokens, 0 for what model and memory allow. `program` is "auto",
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
    parallel: int | None = None
    speculation: str = "auto"
    draft: str = ""
    swa_full: bool | None = None
    _found: list[tuple[Stored, ...]] = field(default_factory=list)

    async def stored(self) -> tuple[Stored, ...]:
        """The model files that there are, looked for once; a broken one has a fault."""
        if not self._found:
            self._found.append(await asyncio.to_thread(find_stored, self.folders, cache=self.cache))
        return self._found[0]

    async def best(self) -> str:
        """The file to begin with: one that runs already, else the largest that fits and is able and quick.

        "" where there is none, or no engine for it: `excuse` says why.
        """
        stored = [each for each in await self.stored() if not each.fault]
        if not stored or self.no_engine():
            return ""
        memory = await asyncio.to_thread(read_memory, cards=True)
        running = {engine.model for engine in running_engines(self.state)}
        able = [each for each in stored if real_path(each.path) in running]
        able = able or [each for each in stored if fits(each.header, each.size, memory)[0]]
        best = max(able, key=lambda each: rank(each, memory), default=None)
        return best.name if best else ""

    async def excuse(self) -> str:
        """Explain why no existing file can be run; "" when there are none."""
        stored = await self.stored()
        if not stored:
            return ""
        more = f" and {len(stored) - _NAMED} more" if len(stored) > _NAMED else ""
        names = f"{', '.join(f'file/{each.name}' for each in stored[:_NAMED])}{more}"
        why = self.no_engine() or "Each is damaged, or needs more memory than there is; see `kith models`."
        return f"No model server runs here, and no model file on this disk ({names}) can be run. {why}"

    async def open(self, model: str, emit: Emit) -> EngineModel:
        """The engine for a file, found or started. Raises NoModelError, ModelError."""
        await load_http()
        stored = pick_stored(model, await self.stored())
        self.engine()
        options, *others = await self.options_of(stored, emit)
        prefer = "" if self.program == "auto" else self.program

        async def start(emit: Emit) -> EngineAddress:
            return await open_engine(
                stored.path,
                options,
                self.state,
                emit,
                name=stored.name,
                prefer=prefer,
                idle_s=self.idle_s,
                others=others,
            )

        def ask(address: EngineAddress) -> OpenAILike:
            endpoint = Endpoint(address.url, address.key, stall_s=self.stall_s, look_s=self.stall_s)
            return OpenAILike(address.name, endpoint, "llama-server")

        return EngineModel(f"file/{stored.name}", start, ask)

    async def options_of(self, stored: Stored, emit: Emit) -> tuple[EngineOptions, ...]:
        """The options that memory allows, once the idle engines of other files have given theirs back.

        The first are those to start with; an engine that runs with any of the others will do, too.
        """
        path = real_path(stored.path)
        same = [engine.home for engine in running_engines(self.state) if engine.model == path]
        await make_room(self.state, emit, spare=same)
        memory = await asyncio.to_thread(read_memory, cards=True)
        tuning = find_tuning(self.state, stored.header.digest, self.engine())
        options = self._with_speculation(tuned(self.options, tuning))
        slots = self.parallel or (tuning.slots if tuning else 1)
        wanted = Wanted(
            self.window or TARGET,
            slots,
            self.parallel is not None,
            self.swa_full,
            Path(options.draft).stat().st_size if options.draft else 0,
        )
        choice, layouts = choose_layout(stored.header, stored.size, memory, wanted, kinds_of(options))
        able = options_for(options, layouts)
        smaller = with_small_cache(options, tuning)
        if choice.wider and smaller != options:
            small, layouts = choose_layout(stored.header, stored.size, memory, wanted, kinds_of(smaller))
            more = options_for(smaller, layouts)
            gains = small.window > choice.window
            choice, able = (small, (*more, *able)) if gains else (choice, (*able, *more))
        if not choice.fits and not same:
            why = fits(stored.header, stored.size, memory, choice.window, kinds_of(able[0]))[1]
            emit(Notice(f"file/{stored.name} {why}: it may be slow, or not load.", "warning"))
        return able

    def _with_speculation(self, options: EngineOptions) -> EngineOptions:
        """Options with the way to guess ahead that the person chose. Raises UsageError."""
        if self.speculation == "off":
            return replace(options, speculation="", draft="")
        named = "" if self.speculation == "auto" else self.speculation
        if not self.draft:
            draft = options.draft if named in ("", DRAFT) else ""
            return replace(options, speculation=named or options.speculation, draft=draft)
        path = real_path(Path(self.draft))
        if not path.is_file():
            raise UsageError(f"engine.draft: there is no file {self.draft}.")
        return replace(options, speculation=named or DRAFT, draft=str(path))

    def engine(self) -> str:
        """Return the engine for a file: "xllamacpp", or the path of a llama-server. Raises NoModelError."""
        if self.program == "off":
            raise NoModelError("kith's own engine is switched off (engine.program).")
        return find_engine("" if self.program == "auto" else self.program)

    def no_engine(self) -> str:
        """Explain why no file can be run here, "" when one can."""
        try:
            self.engine()
        except NoModelError as error:
            return str(error)
        return ""


def engine_of(chosen: Settings) -> OwnEngine:
    """kith's own engine, as the settings want it."""
    own = chosen.section(EngineSettings)
    options = EngineOptions(
        ngl=own.ngl,
        flash_attn=own.flash_attn,
        threads=own.threads or 0,
        cache_type_k=own.cache_type_k,
        cache_type_v=own.cache_type_v,
        extra=own.args,
    )
    folders = tuple(Path(each).expanduser() for each in chosen.model_folders)
    state, cache = chosen.state, chosen.cache
    return OwnEngine(
        state,
        cache,
        folders,
        own.program,
        options,
        chosen.window,
        own.idle,
        chosen.stall,
        own.parallel,
        own.speculation,
        own.draft,
        None if own.swa_full == "auto" else own.swa_full == "on",
    )


def kinds_of(options: EngineOptions) -> tuple[str, str]:
    """The number types of the cached keys and values."""
    return options.cache_type_k or "f16", options.cache_type_v or "f16"


def rank(stored: Stored, memory: Memory) -> tuple[bool, bool, int]:
    """Rank a file as the first choice: it takes tools, is fast enough, and as large as possible."""
    header = stored.header
    tools = header.template is None or header.template.tools
    active = stored.size
    if header.experts and header.experts_used:
        active = stored.size * header.experts_used // header.experts
    return tools, active <= QUICK or stored.size < memory.gpu, stored.size
