"""Convert engine settings to flags of llama-server."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from kith.models.discovery.machine import total_memory, usable_cores


class EngineSettings(Struct, frozen=True):
    """The settings of kith's own engine; None and "" leave the choice to kith or to the engine."""

    program: Literal["auto", "xllamacpp", "llama-server", "off"] = "auto"
    ngl: Annotated[int | None, Meta(ge=0)] = None  # layers on the GPU
    flash_attn: Literal["auto", "on", "off"] = "auto"
    threads: Annotated[int | None, Meta(ge=1)] = None
    cache_type_k: str = ""
    cache_type_v: str = ""
    parallel: Annotated[int | None, Meta(ge=1, le=64)] = None  # answers at the same time
    speculation: Literal["auto", "off", "ngram-mod", "ngram-map-k", "draft-mtp", "draft-simple"] = "auto"
    draft: str = ""  # the file of a small model with the same vocabulary
    swa_full: Literal["auto", "on", "off"] = "auto"
    args: tuple[str, ...] = ()  # handed to llama-server as they are
    idle: Annotated[float, Meta(ge=1)] = 300.0  # seconds without anybody before it stops


_SLEEP_S = 900  # an engine that nobody asks gives its memory back, and loads again when it is asked
_SIBLINGS = "cpu*/topology/thread_siblings_list"

# What kith decides itself: where the engine listens, what it runs, and who may ask it.
OURS: Final = re.compile(
    r"-m|--model|--host|--port|--reuse-port|--api-key|--api-key-file|--path|--api-prefix|--models-.*|--tools"
    r"|-hfr?|--hf-repo|-hff|--hf-file|-mu|--model-url|-dr|--docker-repo"
)


class EngineOptions(Struct, frozen=True):
    """The options of running a model; kith or the engine chooses the defaults.

    `window` is in tokens (0: the trained window, as far as memory allows). `ngl` counts the layers on a
    graphics card, `threads` 0 means all physical cores but one. `cache_type_k` and `cache_type_v` are the
    number types of the key-value cache (f16, q8_0, q4_0 ...). `slots` answers are written at the same time,
    each in a window of its own. `swa_full` keeps all of a sliding window's layers, `cache_ram` is the memory
    for prompts that left their slot, in MiB (0: the engine's default). `speculation` names how tokens are
    guessed ahead, `draft` the file of the model that guesses. `extra` are more flags of llama-server, passed
    on unchanged.
    """

    window: int = 0
    ngl: int | None = None
    flash_attn: Literal["auto", "on", "off"] = "auto"
    threads: int = 0
    cache_type_k: str = ""
    cache_type_v: str = ""
    slots: int = 1
    swa_full: bool = False
    cache_ram: int = 0
    speculation: str = ""
    draft: str = ""
    extra: tuple[str, ...] = ()


def flags_of(options: EngineOptions) -> tuple[str, ...]:
    """The options as llama-server's command line; the person's own flags come last, and so win."""
    threads = options.threads or physical_cores_but_one()
    chosen: Mapping[str, object] = {
        "--ctx-size": options.window * options.slots or None,
        "--parallel": options.slots,
        "--threads": threads,
        "--gpu-layers": options.ngl,
        "--flash-attn": None if options.flash_attn == "auto" else options.flash_attn,
        "--cache-type-k": options.cache_type_k or None,
        "--cache-type-v": options.cache_type_v or None,
        "--cache-ram": options.cache_ram or None,
        "--spec-type": options.speculation or None,
        "--spec-draft-model": options.draft or None,
        "--spec-draft-threads": threads if options.draft else None,
    }
    pairs = [(name, str(value)) for name, value in chosen.items() if value is not None]
    switches = ("--swa-full",) if options.swa_full else ()
    return (*(word for pair in pairs for word in pair), *switches, *options.extra)


def names_flag(words: Sequence[str], *names: str) -> bool:
    """True if the words of a command line hold one of these flags; a name may end in `*`."""
    given = [word.partition("=")[0] for word in words if word.startswith("-")]
    return any(fnmatchcase(word, name) for word in given for name in names)


def standing_flags() -> tuple[tuple[str, ...], ...]:
    """Return the flags that kith always sets; older builds of llama-server do not know all of these."""
    return (
        ("--offline",),
        ("--no-webui",),
        ("--jinja",),
        # Without a size of its own: at most llama-server's default, and a quarter of the memory.
        ("--cache-ram", str(min(8192, (total_memory() >> 20) // 4))),
        ("--sleep-idle-seconds", str(_SLEEP_S)),
    )


def physical_cores_but_one() -> int:
    """Threads for an engine, at least one.

    More than there are real cores makes llama.cpp slower, not faster: its threads wait for each other by
    spinning. The one left out is for everybody else.
    """
    return max(1, _physical_cores() - 1)


def _physical_cores() -> int:
    usable = usable_cores()
    cores = {file.read_text() for file in Path("/sys/devices/system/cpu").glob(_SIBLINGS)}
    return min(usable, len(cores)) if cores else usable
