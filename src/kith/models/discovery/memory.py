"""Estimate if a model fits: its memory for a window, the free memory, and the largest window."""

from typing import Final

from msgspec import Struct

from kith.core.numbers import size_text
from kith.models.traits import Header

GIB: Final = 1 << 30
# Windows that are chosen; coarse, so that two starts choose the same though free memory is never the same.
STEPS: Final = (4096, 8192, 12_288, 16_384, 24_576, 32_768, 49_152, 65_536, 98_304, 131_072, 196_608, 262_144)
FLOOR: Final = STEPS[0]
TARGET: Final = 32_768
# Small models lose the thread long before their window is full.
SMALL_PARAMETERS: Final = 14.9e9
SMALL_MOST: Final = 65_536

# Bytes of one number in the cache: blocks of 32 numbers and their scales (`ggml_type_size` of ggml).
CACHE_TYPES: Final = {
    "f32": 4.0,
    "f16": 2.0,
    "bf16": 2.0,
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
    "iq4_nl": 18 / 32,
}
BATCH: Final = 512  # tokens that llama.cpp computes at once (`--ubatch-size`)
PROGRAM: Final = 300 << 20  # the engine itself
SCRATCH: Final = 128 << 20  # intermediate results beside the scores of all words
SNAPSHOTS: Final = 4  # of the state of recurrent layers, kept by the server to go back to
CARD_RESERVE: Final = GIB  # llama.cpp leaves so much of a graphics card free (`--fit-target`)
USABLE: Final = 0.85  # of the memory that is free; the rest is for everything else that runs

CacheType = str | tuple[str, str]  # of keys and values, or of the keys and of the values


class Memory(Struct, frozen=True):
    """The memory of this machine for a model, in bytes; `gpu` is free memory on separate graphics cards.

    `limit` names what holds `available` below the machine's own free memory ("" for none).
    """

    total: int
    available: int
    gpu: int = 0
    limit: str = ""

    @property
    def budget(self) -> int:
        """The memory that a model may take: llama.cpp divides it between processor and cards as needed."""
        return int(self.available * USABLE) + max(0, self.gpu - CARD_RESERVE)


class WindowChoice(Struct, frozen=True):
    """The window to run a model with, in tokens, and whether even that fits.

    `wider` are those that more memory would have allowed, the largest first.
    """

    window: int
    fits: bool = True
    wider: tuple[int, ...] = ()


def cache_bytes(header: Header, window: int, cache_type: CacheType = "f16") -> int:
    """The cache for a window of so many tokens, as llama.cpp allocates it: keys and values of each layer.

    Layers with a sliding window stop growing; recurrent ones have a state of fixed size instead.
    """
    held = min(window, header.sliding_window + BATCH) if header.sliding_window else window
    tokens = (held if slides else window for slides in _sliding(header))
    grown = sum(each * count for each, count in zip(_layers(header, cache_type), tokens, strict=True))
    return int(grown) + 4 * header.state * (1 + SNAPSHOTS)


def memory_needed(header: Header | None, size: int, window: int, cache_type: CacheType = "f16") -> int:
    """Bytes that a model takes with a window: weights, cache, scratch and the engine.

    `size` is that of the file, all parts together. Without a header the cache is guessed from it.
    """
    if header is None:
        return size + size // 10 * window // TARGET + SCRATCH + PROGRAM
    scores = 4 * header.vocabulary * BATCH
    return size + cache_bytes(header, window, cache_type) + scores + SCRATCH + PROGRAM


def choose_window(
    header: Header, size: int, memory: Memory, want: int = TARGET, cache_type: CacheType = "f16"
) -> WindowChoice:
    """The largest window of at most `want` tokens that the model was trained for and the memory carries.

    It never falls below FLOOR (or what the model was trained for, if that is less): where even that does not
    fit, `fits` is False.
    """
    most = want
    if 0 < count_parameters(header, size) <= SMALL_PARAMETERS and most > SMALL_MOST:
        most = SMALL_MOST
    if 0 < header.trained <= most:
        most = header.trained
    windows = (most, *(step for step in reversed(STEPS) if step < most))
    for at, window in enumerate(windows):
        if memory_needed(header, size, window, cache_type) <= memory.budget:
            return WindowChoice(window, wider=windows[:at])
    return WindowChoice(windows[-1], fits=False, wider=windows[:-1])


def fits(
    header: Header | None, size: int, memory: Memory, window: int = FLOOR, cache_type: CacheType = "f16"
) -> tuple[bool, str]:
    """Tell if a model fits with a window, and why in half a sentence."""
    needed, there = memory_needed(header, size, window, cache_type), memory.budget
    if needed > there:
        return (
            False,
            f"needs {size_text(needed)} with a window of {window:,}; there is room for {size_text(there)}",
        )
    if memory.gpu and needed <= memory.gpu - CARD_RESERVE:
        return True, f"needs {size_text(needed)}, all of it on the graphics card"
    tight = ", which is tight" if needed > 0.85 * there else ""
    return True, f"needs {size_text(needed)} of {size_text(there)}{tight}"


def count_parameters(header: Header, size: int) -> int:
    """Count the weights: as the file says, else by its size and quantisation."""
    if header.parameters:
        return header.parameters
    bits = next((int(char) for char in header.quantisation if char.isdecimal()), 4) + 0.8
    return int(size * 8 / bits)


def _layers(header: Header, cache_type: CacheType) -> list[float]:
    """Bytes of one token in the cache of each layer; a type that is not known counts as the usual one."""
    types = (cache_type, cache_type) if isinstance(cache_type, str) else cache_type
    keys, values = (CACHE_TYPES.get(each.lower(), CACHE_TYPES["f16"]) for each in types)
    one = header.key_length * keys + header.value_length * values
    return [heads * one for heads in header.heads_kv]


def _sliding(header: Header) -> tuple[bool, ...]:
    slides = header.sliding if header.sliding_window else ()
    return (*slides, *(False for _ in header.heads_kv[len(slides) :]))[: len(header.heads_kv)]
