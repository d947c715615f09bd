"""The engine inside: llama.cpp's server from the wheel `xllamacpp`, and the flags that it takes."""

import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from kith.core.errors import UsageError
from kith.features.engine.options import OURS
from kith.features.engine.processes import WHEEL


class FlagChoice(Struct, frozen=True):
    """A word for a member of one of xllamacpp's enumerations, named `prefix` and the word."""

    enum: str
    prefix: str
    words: Mapping[str, str]


class FlagChoices(FlagChoice, frozen=True):
    """Several words, separated by commas; they become a list."""


Kind = type[int] | type[float] | type[str] | type[Path] | bool | FlagChoice

_SWITCH = {"on": "ENABLED", "off": "DISABLED", "auto": "AUTO"}
_NUMBERS = {
    name: name.upper() for name in ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
}
_ROPE = {name: name.upper() for name in ("none", "linear", "yarn")}
_SPLIT = {name: name.upper() for name in ("none", "layer", "row")}
_SPECULATION = {
    name: name.upper().replace("-", "_")
    for name in (
        *("none", "draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash", "draft-dspark"),
        *("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"),
    )
}
_LOAD = FlagChoice("llama_load_mode", "LLAMA_LOAD_MODE_", {"none": "NONE", "mlock": "MMAP_MLOCK"})

# Names of a flag: fields of CommonParams, and what they hold. A switch (True, False) takes no value; a flag
# with a member of a Choice after the dot is a switch as well.
_TABLE: Mapping[str, tuple[str, Kind]] = {
    "-c --ctx-size": ("n_ctx", int),
    "-np --parallel": ("n_parallel", int),
    "-t --threads": ("cpuparams.n_threads cpuparams_batch.n_threads", int),
    "-tb --threads-batch": ("cpuparams_batch.n_threads", int),
    "--threads-http": ("n_threads_http", int),
    "--poll": ("cpuparams.poll", int),
    "-ngl --gpu-layers --n-gpu-layers": ("n_gpu_layers", int),
    "-mg --main-gpu": ("main_gpu", int),
    "-sm --split-mode": ("split_mode", FlagChoice("llama_split_mode", "LLAMA_SPLIT_MODE_", _SPLIT)),
    "-fa --flash-attn": (
        "flash_attn_type",
        FlagChoice("llama_flash_attn_type", "LLAMA_FLASH_ATTN_TYPE_", _SWITCH),
    ),
    "-ctk --cache-type-k": ("cache_type_k", FlagChoice("ggml_type", "GGML_TYPE_", _NUMBERS)),
    "-ctv --cache-type-v": ("cache_type_v", FlagChoice("ggml_type", "GGML_TYPE_", _NUMBERS)),
    "-b --batch-size": ("n_batch", int),
    "-ub --ubatch-size": ("n_ubatch", int),
    "-cram --cache-ram": ("cache_ram_mib", int),
    "--cache-reuse": ("n_cache_reuse", int),
    "-ctxcp --ctx-checkpoints": ("n_ctx_checkpoints", int),
    "-kvu --kv-unified": ("kv_unified", True),
    "-nkvo --no-kv-offload": ("no_kv_offload", True),
    "-ot --override-tensor": ("tensor_buft_overrides", str),
    "--swa-full": ("swa_full", True),
    "--no-mmap": ("load_mode.none", _LOAD),
    "--mlock": ("load_mode.mlock", _LOAD),
    "--no-warmup": ("warmup", False),
    "--spec-type": (
        "speculative.types",
        FlagChoices("common_speculative_type", "COMMON_SPECULATIVE_TYPE_", _SPECULATION),
    ),
    "-md --model-draft --spec-draft-model": ("speculative.draft.mparams.path", str),
    "-td --threads-draft --spec-draft-threads": (
        "speculative.draft.cpuparams.n_threads speculative.draft.cpuparams_batch.n_threads",
        int,
    ),
    "-ngld --spec-draft-ngl": ("speculative.draft.n_gpu_layers", int),
    "--spec-draft-n-max": ("speculative.draft.n_max", int),
    "--spec-draft-n-min": ("speculative.draft.n_min", int),
    "--spec-draft-p-min": ("speculative.draft.p_min", float),
    "--spec-ngram-mod-n-match": ("speculative.ngram_mod.n_match", int),
    "--spec-ngram-mod-n-min": ("speculative.ngram_mod.n_min", int),
    "--spec-ngram-mod-n-max": ("speculative.ngram_mod.n_max", int),
    "--spec-ngram-simple-size-n": ("speculative.ngram_simple.size_n", int),
    "--spec-ngram-simple-size-m": ("speculative.ngram_simple.size_m", int),
    "--spec-ngram-map-k-size-n": ("speculative.ngram_map_k.size_n", int),
    "--spec-ngram-map-k-size-m": ("speculative.ngram_map_k.size_m", int),
    "--rope-scaling": (
        "rope_scaling_type",
        FlagChoice("llama_rope_scaling_type", "LLAMA_ROPE_SCALING_TYPE_", _ROPE),
    ),
    "--rope-freq-base": ("rope_freq_base", float),
    "--rope-freq-scale": ("rope_freq_scale", float),
    "--yarn-orig-ctx": ("yarn_orig_ctx", int),
    "--chat-template": ("chat_template", str),
    "--chat-template-file": ("chat_template", Path),
    "-mm --mmproj": ("mmproj.path", str),
    "--jinja": ("use_jinja", True),
    "--no-jinja": ("use_jinja", False),
    "--offline": ("offline", True),
    "--no-webui --no-ui": ("ui", False),
    "--metrics": ("endpoint_metrics", True),
    "--slot-save-path": ("slot_save_path", str),
    "--sleep-idle-seconds": ("sleep_idle_seconds", int),
    "-lv --verbosity": ("verbosity", int),
}
FLAGS: Mapping[str, tuple[str, Kind]] = {
    name: meaning for names, meaning in _TABLE.items() for name in names.split()
}


def check_flags(words: Sequence[str], *, known: bool) -> None:
    """Raise UsageError for a flag that kith sets itself and, when only `known` ones go, for any other."""
    taken = next((word for word in words if OURS.fullmatch(word.partition("=")[0])), "")
    if taken:
        raise UsageError(f"kith chooses {taken} of its own engine itself; leave it out.")
    if known:
        for _ in _read(words):
            pass


def set_flags(engine: Any, params: Any, words: Sequence[str]) -> None:
    """Set what the flags say. `engine` is the module xllamacpp, `params` its CommonParams."""
    for places, kind, word in _read(words):
        if isinstance(kind, FlagChoices):
            value: Any = [_member(engine, kind, each) for each in word.split(",")]
        elif isinstance(kind, FlagChoice):
            value = _member(engine, kind, word)
        else:
            value = _value(kind, word)
        for place in places.split():
            *path, name = place.split(".")
            target = params
            for step in path:
                target = getattr(target, step)
            setattr(target, name, value)
        if places == "speculative.types":  # llama-server loads these layers for the same reason
            params.load_mtp = "draft-mtp" in word.split(",")


def _member(engine: Any, kind: FlagChoice, word: str) -> Any:
    return getattr(getattr(engine, kind.enum), kind.prefix + kind.words[word])


def _read(words: Sequence[str]) -> Iterator[tuple[str, Kind, str]]:
    """Each flag as its fields, its kind and its word, checked. Raises UsageError."""
    rest = iter(words)
    for name in rest:
        if name not in FLAGS:
            raise UsageError(
                f"The engine inside (xllamacpp) does not know {name!r}; with a llama-server on the PATH, "
                "named as the engine to use, every flag is passed on."
            )
        places, kind = FLAGS[name]
        if isinstance(kind, FlagChoice) and places.rpartition(".")[2] in kind.words:
            places, _, word = places.rpartition(".")
        else:
            word = "" if isinstance(kind, bool) else next(rest, "")
        _check(name, kind, word)
        yield places, kind, word


def _check(name: str, kind: Kind, word: str) -> None:
    """Raise UsageError for a word that is not of its kind."""
    if isinstance(kind, FlagChoice):
        given = word.split(",") if isinstance(kind, FlagChoices) else [word]
        wrong = [each for each in given if each not in kind.words]
        if wrong:
            raise UsageError(f"{name} takes one of {', '.join(kind.words)}, not {wrong[0]!r}.")
        return
    try:
        _value(kind, word)
    except ValueError:
        raise UsageError(f"{name} takes a number, not {word!r}.") from None
    except OSError as error:
        raise UsageError(f"{name}: {word!r} cannot be read ({error.strerror}).") from error


def _value(kind: type[int] | type[float] | type[str] | type[Path] | bool, word: str) -> Any:
    if isinstance(kind, bool):
        return kind
    return kind(word).read_text("utf-8") if issubclass(kind, Path) else kind(word)


_HTTP_THREADS = 4  # one answers, the others are asked how it goes


def run_engine(words: Sequence[str]) -> None:
    """Load a model and serve it until standard input ends. `words` are as for llama-server."""
    # Loaded by name: the wheel is an extra, and without types.
    xllamacpp = importlib.import_module(WHEEL)
    # kith's own settings are four pairs at the beginning
    place, flags = dict(zip(words[:8:2], words[1:8:2], strict=True)), words[8:]
    params = xllamacpp.CommonParams()
    params.model.path = place["--model"]
    params.hostnames, params.port = [place["--host"]], int(place["--port"])
    params.api_keys = [Path(place["--api-key-file"]).read_text("utf-8").strip()]
    params.n_threads_http = _HTTP_THREADS
    try:
        set_flags(xllamacpp, params, flags)
        server = xllamacpp.Server(params)
    except (RuntimeError, ValueError, UsageError) as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)
    sys.stdin.buffer.read()
    del server
    os._exit(0)  # nothing is worth waiting for: the keeper is gone, and with it everybody who asked
