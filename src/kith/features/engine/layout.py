"""Choose how a model lies in memory: its window, its slots, all of a sliding window, and the prompt cache."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.features.engine.options import EngineOptions, names_flag
from kith.models.discovery.memory import (
    STEPS,
    TARGET,
    USABLE,
    CacheType,
    Memory,
    WindowChoice,
    cache_bytes,
    choose_window,
    memory_needed,
)
from kith.models.traits import Header

HELD: Final = 8  # conversations beside those in the slots: of other roles, of tries, of a second window
_LEAST_CACHE: Final = 256  # MiB for prompts that left their slot
_PARALLEL: Final = ("-np", "--parallel")


class Wanted(Struct, frozen=True):
    """The layout that is asked for.

    `slots`: as many as memory allows, at most so many; with `all_slots`, exactly so many. `swa_full` None is
    "where memory suffices". `beside` are bytes of another model in the same engine.
    """

    window: int = TARGET
    slots: int = 1
    all_slots: bool = False
    swa_full: bool | None = None
    beside: int = 0


class Layout(Struct, frozen=True):
    """The memory of an engine: `window` tokens for each slot, `cache_ram` in MiB.

    `needed` are the bytes that it takes without the prompt cache.
    """

    window: int
    slots: int
    swa_full: bool
    cache_ram: int
    needed: int


def choose_layout(
    header: Header, size: int, memory: Memory, wanted: Wanted, kinds: CacheType = "f16"
) -> tuple[WindowChoice, list[Layout]]:
    """The window, and the layouts that will do: the first is to be started.

    The window comes first: neither slots nor a whole sliding window make it smaller, unless they are asked
    for. The other layouts need more memory than is free. An engine that already runs with one of these is
    taken all the same, for its own memory was free when it was started.
    """
    choice = choose_window(header, size + wanted.beside, memory, wanted.window, kinds)
    windows: tuple[int, ...] = (choice.window,)
    if wanted.all_slots or wanted.swa_full:  # asked for: the window gives way
        windows = (*windows, *(step for step in reversed(STEPS) if step < choice.window))
    total = memory.total

    def lay(window: int) -> Iterator[Layout]:
        return _layouts(header, size, total, window, wanted, kinds)

    fitting = (each for window in windows for each in lay(window) if each.needed <= memory.budget)
    first = next(fitting, None)
    if first is None:
        *_, first = lay(windows[-1])
    better = (each for window in (*choice.wider, *windows) for each in lay(window))
    return replace(choice, window=first.window), [first, *(each for each in better if each != first)]


def _layouts(
    header: Header, size: int, total: int, window: int, wanted: Wanted, kinds: CacheType
) -> Iterator[Layout]:
    """Yield the layouts with a window, the one that needs most memory first."""
    whole = [wanted.swa_full] if wanted.swa_full is not None else [True, False]
    for swa_full in whole if slides(header) else [False]:
        shape = replace(header, sliding_window=0) if swa_full else header
        one = cache_bytes(shape, window, kinds)
        for slots in range(wanted.slots, wanted.slots - 1 if wanted.all_slots else 0, -1):
            needed = memory_needed(shape, size + wanted.beside, window, kinds) + (slots - 1) * one
            yield Layout(window, slots, bool(swa_full), _cache_ram(one, slots, total, needed), needed)


def slides(header: Header) -> bool:
    """True if layers of a model see only a sliding window."""
    return bool(header.sliding_window) and any(header.sliding)


def _cache_ram(one: int, slots: int, total: int, needed: int) -> int:
    """MiB for the conversations that are held beside the slots, within what the model leaves of a machine.

    It depends on all memory and not on what is free: two starts must choose the same engine.
    """
    room = min(total // 4, int(total * USABLE) - needed)
    return max(_LEAST_CACHE, min((HELD + slots - 1) * one, room) >> 20)


def lay_out(options: EngineOptions, layout: Layout) -> EngineOptions:
    """Options with a layout; what a person's own flags say is left to these."""
    window, slots = layout.window, layout.slots
    if names_flag(options.extra, *_PARALLEL):
        # Their slots share the window that kith chose, as llama-server divides it.
        slots = 1
    own_cache = names_flag(options.extra, "-cram", "--cache-ram")
    return replace(
        options,
        window=window,
        slots=slots,
        swa_full=layout.swa_full and not names_flag(options.extra, "--swa-full"),
        cache_ram=0 if own_cache else layout.cache_ram,
    )


def options_for(options: EngineOptions, layouts: Sequence[Layout]) -> tuple[EngineOptions, ...]:
    """The options of each layout, without repeats."""
    return tuple(dict.fromkeys(lay_out(options, layout) for layout in layouts))
