"""Map sampling parameters to each server's names, and tell which ones it ignores."""

from collections.abc import Iterable, Mapping
from typing import Any

from kith.core.events import Notice
from kith.core.model import Emit
from kith.core.values import Sampling, ServerKind

# A server without a limit writes until its window is full, so a limit is always sent.
MAX_TOKENS = 4096

_COMMON = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "seed": "seed",
    "stop": "stop",
}
_TOP_K, _MIN_P = {"top_k": "top_k"}, {"min_p": "min_p"}
_MIROSTAT = {name: name for name in ("mirostat", "mirostat_tau", "mirostat_eta")}

TAKEN: Mapping[ServerKind, Mapping[str, str]] = {
    "ollama": _COMMON | _TOP_K | _MIN_P | {"max_tokens": "num_predict"},
    "llama-server": _COMMON | _TOP_K | _MIN_P | _MIROSTAT,
    "lmstudio": _COMMON | _TOP_K,
    "vllm": _COMMON | _TOP_K | _MIN_P,
    "openai": _COMMON,
    # Since its version 2026-10-21 the Messages API refuses temperature, top_p and top_k.
    "anthropic": {"max_tokens": "max_tokens", "stop": "stop_sequences"},
    "gemini": {
        "temperature": "temperature",
        "top_p": "topP",
        "top_k": "topK",
        "max_tokens": "maxOutputTokens",
        "seed": "seed",
        "stop": "stopSequences",
    },
}
TITLES: Mapping[ServerKind, str] = {
    "ollama": "Ollama",
    "llama-server": "llama-server",
    "lmstudio": "LM Studio",
    "vllm": "vLLM",
    "openai": "This server",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
}


def sampling_fields(
    kind: ServerKind, sampling: Sampling, longest: int = MAX_TOKENS
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The set parameters under the server's own names, and a sentence for each that it does not have.

    `longest`: the limit of a reply, in tokens, where none is set. Thinking is not among them: its switch has
    another shape on each server, and its budget is watched here where the server has none.
    """
    taken, left_out = TAKEN[kind], []
    sent: dict[str, Any] = {taken["max_tokens"]: longest}
    for name in sampling.__struct_fields__:
        value = getattr(sampling, name)
        if value is None or value == () or name in ("think", "think_tokens"):
            continue
        if name in taken:
            sent[taken[name]] = list(value) if isinstance(value, tuple) else value
        else:
            left_out.append(f"{TITLES[kind]} has no {name}; the setting is not used.")
    return sent, tuple(left_out)


def tell_once(sentences: Iterable[str], told: set[str], emit: Emit) -> None:
    """A Notice for each sentence that `told` does not hold yet."""
    for sentence in sentences:
        if sentence not in told:
            told.add(sentence)
            emit(Notice(sentence, "warning"))
