"""Advise a person without a model: the places searched, models that fit, and how to get one."""

import sys
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from kith.core.numbers import size_text
from kith.models.discovery.machine import read_memory
from kith.models.discovery.memory import CARD_RESERVE, Memory, choose_window, fits, memory_needed
from kith.models.discovery.servers import Places, Server, ollama_url
from kith.models.providers.wire import Endpoint, is_loopback
from kith.models.traits import Header

SHARE: Final = 0.8  # of all memory, once other programs are closed
GOOD_WINDOW, LEAST_WINDOW = 16_384, 8_192
SHOWN: Final = 3
SLOW_PARAMETERS: Final = 9e9  # weights that every token passes through, on a processor alone


class _Offer(Struct, frozen=True):
    """A model that is worth having: its file on Hugging Face, and its name in Ollama's library."""

    name: str
    repo: str
    quantisation: str
    ollama: str
    size: int
    active: float  # weights that each token passes through
    header: Header
    why: str


class Recommendation(Struct, frozen=True):
    """A model for this machine. `size` in bytes, `window` in tokens; `tight` says what is, if anything."""

    name: str
    size: int
    window: int
    why: str
    tight: str
    command: str
    ollama_command: str


def _shape(
    blocks: int, heads_kv: int, head: int, trained: int, parameters: float, words: int = 151_936
) -> Header:
    return Header(
        "",
        parameters=int(parameters),
        trained=trained,
        blocks=blocks,
        heads_kv=(heads_kv,) * blocks,
        key_length=head,
        value_length=head,
        vocabulary=words,
    )


# The best first, as of November 2026: sizes of the files on Hugging Face, shapes from their headers.
OFFERS: Final = (
    _Offer(
        "Qwen3-Coder 30B-A3B",
        "unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF",
        "Q4_K_M",
        "qwen3-coder:30b",
        18_600_000_000,
        3.3e9,
        _shape(48, 4, 128, 262_144, 30.5e9),
        "made for agents; as quick as a small model, since only 3B of it work at a time",
    ),
    _Offer(
        "gpt-oss 20B",
        "ggml-org/gpt-oss-20b-GGUF",
        "MXFP4",
        "gpt-oss:20b",
        12_100_000_000,
        3.6e9,
        _shape(24, 4, 64, 131_072, 20.9e9, 201_088),  # every other layer sees 128 tokens only
        "thinks before it acts; quick, and its window costs little memory",
    ),
    _Offer(
        "Devstral Small 24B",
        "unsloth/Devstral-Small-2507-GGUF",
        "Q4_K_M",
        "devstral:24b",
        14_300_000_000,
        23.6e9,
        _shape(40, 8, 128, 131_072, 23.6e9, 131_072),
        "made for agents that edit code",
    ),
    _Offer(
        "Qwen2.5-Coder 14B",
        "bartowski/Qwen2.5-Coder-14B-Instruct-GGUF",
        "Q4_K_M",
        "qwen2.5-coder:14b",
        8_990_000_000,
        14.8e9,
        _shape(48, 8, 128, 32_768, 14.8e9),
        "writes and edits code well",
    ),
    _Offer(
        "Qwen3 8B",
        "Qwen/Qwen3-8B-GGUF",
        "Q4_K_M",
        "qwen3:8b",
        5_030_000_000,
        8.2e9,
        _shape(36, 8, 128, 40_960, 8.2e9),
        "calls tools reliably, and thinks when asked to",
    ),
    _Offer(
        "Qwen2.5-Coder 7B",
        "bartowski/Qwen2.5-Coder-7B-Instruct-GGUF",
        "Q4_K_M",
        "qwen2.5-coder:7b",
        4_680_000_000,
        7.6e9,
        _shape(28, 4, 128, 32_768, 7.6e9),
        "edits code; its window costs little memory",
    ),
    _Offer(
        "Qwen3 4B",
        "unsloth/Qwen3-4B-Instruct-2507-GGUF",
        "Q4_K_M",
        "qwen3:4b",
        2_500_000_000,
        4.0e9,
        _shape(36, 8, 128, 262_144, 4.0e9),
        "the smallest that completes a task alone",
    ),
    _Offer(
        "Qwen2.5-Coder 3B",
        "bartowski/Qwen2.5-Coder-3B-Instruct-GGUF",
        "Q4_K_M",
        "qwen2.5-coder:3b",
        1_930_000_000,
        3.1e9,
        _shape(36, 2, 128, 32_768, 3.1e9),
        "small edits on small machines",
    ),
)


def recommend(memory: Memory) -> tuple[Recommendation, ...]:
    """Two or three models for this machine's memory, the best first; the smallest where none really fits.

    What counts is all of the memory, since other programs can be closed; what is short now is said.
    """
    roomy = Memory(memory.total, min(int(memory.total * SHARE), _cap(memory)), memory.gpu)
    found = [(_is_slow(offer, memory), at) for at, offer in enumerate(OFFERS) if _window(offer, roomy)]
    # Quick models are taken first; among those that are shown, the best is.
    chosen = sorted(at for _, at in sorted(found)[:SHOWN]) or [len(OFFERS) - 1]
    return tuple(_recommendation(OFFERS[at], memory, roomy) for at in chosen)


def advise(places: Places, servers: Sequence[Server] = (), memory: Memory | None = None) -> str:
    """Sentences and commands for a machine without a model; `servers` answer, but have none."""
    memory = memory or read_memory(cards=True)
    offers = recommend(memory)
    first = offers[0]
    repo = first.command.split()[-1]
    cards = f" and {size_text(memory.gpu)} on graphics cards" if memory.gpu else ""
    return "\n".join(
        [
            "No model was found. kith looked for:",
            *(f"  {line}" for line in _looked(places, servers)),
            "",
            f"This machine has {size_text(memory.total)} of memory{cards}. What fits, the best first:",
            *(f"  {each.command}\n    {size_text(each.size)}: {each.why}" for each in offers),
            *([f"Mind that {first.name} {first.tight}."] if first.tight else []),
            "",
            "The same through Ollama or llama.cpp, if you have them:",
            f"  {first.ollama_command}",
            f"  llama-server -hf {repo} -c {first.window}",
            "",
            "To see kith work without a model:",
            "  kith demo",
        ]
    )


def _looked(places: Places, servers: Sequence[Server]) -> Iterator[str]:
    """List the places that were searched for models, and what was found there."""
    looked = [("Ollama", Endpoint(ollama_url(places.ollama_host)).url)]
    looked += [(name, Endpoint(each.url).url) for name, each in places.named.items() if each.url]
    if places.openai_base_url:
        looked.append(("OPENAI_BASE_URL", Endpoint(places.openai_base_url).url))
    state = {
        server.url: ", which still loads its model" if server.loading else ", which runs but has no model"
        for server in servers
    }
    for name, url in looked:
        if not places.offline or is_loopback(url):
            yield f"{name} at {url}{state.pop(url, '')}"
    if places.usual:
        ports = ", ".join(url.rpartition(":")[2] for url in places.usual)
        yield f"other model servers on this machine, at the ports {ports}"
    yield from (f"  {url}{words}" for url, words in state.items())
    yield "model files that Hugging Face, llama.cpp, Ollama, LM Studio, GPT4All and Jan keep, and in ~/models"


def _recommendation(offer: _Offer, memory: Memory, roomy: Memory) -> Recommendation:
    window = _window(offer, roomy)
    fits_now, why = fits(offer.header, offer.size, memory, window or LEAST_WINDOW)
    tight = []
    if not window:
        tight.append("leaves too little memory for anything else")
    elif not fits_now:
        tight.append(f"{why} now: close other programs first")
    if 0 < window < GOOD_WINDOW:
        tight.append(f"has room for a window of {window:,} only")
    if _is_slow(offer, memory):
        tight.append("is slow without a graphics card")
    window = window or LEAST_WINDOW
    return Recommendation(
        offer.name,
        offer.size,
        window,
        offer.why,
        ", and ".join(tight),
        f"kith models pull {offer.repo}:{offer.quantisation}",
        f"ollama pull {offer.ollama}",
    )


def _window(offer: _Offer, memory: Memory) -> int:
    """The window that there is room for; 0 where a model does not fit with one that is of use."""
    choice = choose_window(offer.header, offer.size, memory)
    return choice.window if choice.fits and choice.window >= LEAST_WINDOW else 0


def _is_slow(offer: _Offer, memory: Memory) -> bool:
    """True if every token takes long; Apple's processors have the graphics card's share built in."""
    if sys.platform == "darwin" or offer.active <= SLOW_PARAMETERS:
        return False
    return memory_needed(offer.header, offer.size, GOOD_WINDOW) > memory.gpu - CARD_RESERVE


def _cap(memory: Memory) -> int:
    """A container's limit cannot be closed away."""
    return memory.available if memory.limit else memory.total
