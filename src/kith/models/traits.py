"""Traits of a model, read from its name, its file's header and its chat template."""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

_SIZE: Final = re.compile(r"(?<![\w.])(?:(\d+)x)?(\d+(?:\.\d+)?)\s*([bm])(?![a-z0-9])")


def billions(words: str) -> float | None:
    """The size that a model's name or description tells ("qwen3:4b", "14.8B", "8x7b"), in 1e9 parameters."""
    found = _SIZE.search(words.lower())
    if not found:
        return None
    experts, number, unit = found.groups()
    return int(experts or 1) * float(number) * (1.0 if unit == "b" else 0.001)


# --- file names ----------------------------------------------------------------------------------


# --- chat templates ------------------------------------------------------------------------------


_TOOLS: Final = ("tools", "tool_call")
_THINKS: Final = ("<think>", "enable_thinking", "reasoning", "<|channel|>", "[THINK]")


class Template(Struct, frozen=True):
    """The features of a chat template: tools, and thinking."""

    tools: bool = False
    thinking: bool = False


def read_template(text: str) -> Template:
    """Read a chat template's features; words in a comment or a string count too."""
    return Template(any(word in text for word in _TOOLS), any(word in text for word in _THINKS))


# What a model file says of itself: the architecture, its sizes, its window, what its template can do.

# `llama_ftype` of llama.cpp: how most of the weights are stored.
QUANTISATIONS: Final = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4",
    39: "NVFP4",
}
# Of each group of so many layers all but the last look at a sliding window only (`set_swa_pattern` of
# llama.cpp); newer files say it themselves.
_SLIDING: Final = {"gemma2": 2, "gemma3": 6, "gemma3n": 5, "gpt-oss": 2, "cohere2": 4}
_RECURRENT_INTERVAL: Final = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4}
_MOST_LAYERS: Final = 1024
_VECTORS: Final = re.compile(r"bert|embed|t5encoder|^clip$|wavtokenizer", re.IGNORECASE)


class Header(Struct, frozen=True):
    """A model as its metadata describes it; 0, "" and () where unknown.

    `trained` is the window in tokens. `heads_kv` has one number for each layer, 0 for one without attention.
    `sliding` marks the layers that look only at the last `sliding_window` tokens. `state` is the size of all
    recurrent layers, in numbers of four bytes. `predicts` counts the layers that guess the tokens after the
    next one (multi-token prediction). `digest` names the weights, as `read_header` says.
    """

    architecture: str
    name: str = ""
    size_label: str = ""
    quantisation: str = ""
    kind: str = "model"
    parameters: int = 0
    trained: int = 0
    blocks: int = 0
    heads_kv: tuple[int, ...] = ()
    key_length: int = 0
    value_length: int = 0
    sliding_window: int = 0
    sliding: tuple[bool, ...] = ()
    state: int = 0
    experts: int = 0
    experts_used: int = 0
    vocabulary: int = 0
    predicts: int = 0
    template: Template | None = None
    pooled: bool = False
    parts: int = 1
    digest: str = ""

    @property
    def talks(self) -> bool:
        """True if the model answers in words: no adapter, projector, embedding or image model."""
        if self.kind != "model" or self.pooled or _VECTORS.search(self.architecture):
            return False
        return self.blocks > 0 and self.vocabulary > 0


def describe(values: Mapping[str, Any], digest: str = "") -> Header:
    """The header that metadata amount to: those of a file, or `model_info` of Ollama's /api/show.

    Keys are those of the GGUF specification (docs/gguf.md of ggml); values of a wrong type count as missing.
    A long array may be given as its length.
    """
    architecture = _text(values, "general.architecture")

    def own(key: str) -> Any:
        return values.get(f"{architecture}.{key}")

    blocks = min(_count(own("block_count")), _MOST_LAYERS)
    heads = max(_each(own("attention.head_count"), 1), default=0)
    head = _count(own("embedding_length")) // heads if heads else 0
    key_length = _count(own("attention.key_length")) or head
    attends = _attends(own, architecture, blocks)
    heads_kv = _each(own("attention.head_count_kv"), blocks) or (heads,) * blocks
    heads_kv = tuple(number * yes for number, yes in zip(heads_kv, attends, strict=False))
    return Header(
        architecture=architecture,
        name=_text(values, "general.name"),
        size_label=_text(values, "general.size_label"),
        quantisation=_quantisation(values.get("general.file_type")),
        kind=_text(values, "general.type") or "model",
        parameters=_count(values.get("general.parameter_count")),
        trained=_count(own("context_length")),
        blocks=blocks,
        heads_kv=heads_kv,
        key_length=key_length,
        value_length=_count(own("attention.value_length")) or head,
        sliding_window=_count(own("attention.sliding_window")),
        sliding=_slides(own, architecture, blocks),
        state=_state(own) * heads_kv.count(0),
        experts=_count(own("expert_count")),
        experts_used=_count(own("expert_used_count")),
        vocabulary=_length(values.get("tokenizer.ggml.tokens")) or _count(own("vocab_size")),
        predicts=_count(own("nextn_predict_layers")),
        template=_template(values),
        pooled=_count(own("pooling_type")) > 0,
        parts=max(1, _count(values.get("split.count"))),
        digest=digest,
    )


def _template(values: Mapping[str, Any]) -> Template | None:
    texts = [
        text
        for key, text in values.items()
        if key.startswith("tokenizer.chat_template") and isinstance(text, str) and text
    ]
    return read_template("\n".join(texts)) if texts else None


def _attends(own: Any, architecture: str, blocks: int) -> list[bool]:
    """Mark the layers with attention; with an interval only the last of each group, the others recur."""
    every = _count(own("full_attention_interval")) or _RECURRENT_INTERVAL.get(architecture, 1)
    return [(layer + 1) % every == 0 for layer in range(blocks)]


def _slides(own: Any, architecture: str, blocks: int) -> tuple[bool, ...]:
    """Mark the layers with a sliding window; none where unknown (the cautious reading)."""
    pattern = own("attention.sliding_window_pattern")
    if isinstance(pattern, list | tuple) and len(pattern) == blocks:
        return tuple(bool(each) for each in pattern)
    group = _count(pattern) or _SLIDING.get(architecture, 0)
    return tuple(layer % group < group - 1 for layer in range(blocks)) if group > 1 else (False,) * blocks


def _state(own: Any) -> int:
    """Numbers that one recurrent layer remembers: `n_embd_r` and `n_embd_s` of llama.cpp's hparams."""
    inner, state = _count(own("ssm.inner_size")), _count(own("ssm.state_size"))
    convolved = max(0, _count(own("ssm.conv_kernel")) - 1) * (
        inner + 2 * _count(own("ssm.group_count")) * state
    )
    return convolved + inner * state


def _quantisation(value: Any) -> str:
    # The flag 1024 means that the kind was guessed.
    return QUANTISATIONS.get(value & ~1024, "") if isinstance(value, int) else ""


def _text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    """A number as it was given; 0 for anything else, and for what no model can have."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if number and 0 < value < 1 << 50 else 0


def _each(value: Any, blocks: int) -> tuple[int, ...]:
    """One number for each layer, from a number for all or from a list."""
    if isinstance(value, list | tuple):
        return tuple(_count(each) for each in value[:_MOST_LAYERS])
    return (_count(value),) * blocks if _count(value) else ()


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list | tuple) else _count(value)
