"""Tokens as a real tokenizer counts them."""

import base64
import importlib.metadata
from functools import cache
from typing import Any

import pytest

# The pattern that splits text before Qwen's byte pair encoding, from its tokenizer.json.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


def count_tokens(text: str) -> int:
    """Tokens of Qwen's vocabulary."""
    return len(_encoding().encode(text, allowed_special="all"))


@cache
def _encoding() -> Any:
    tiktoken = pytest.importorskip("tiktoken")
    files = importlib.metadata.files("dashscope") or []
    vocabulary = next(file for file in files if file.name == "qwen.tiktoken")
    lines = vocabulary.read_text().splitlines()
    ranks = {base64.b64decode(word): int(rank) for word, rank in (line.split() for line in lines if line)}
    special = {"<|endoftext|>": len(ranks), "<|im_start|>": len(ranks) + 1, "<|im_end|>": len(ranks) + 2}
    return tiktoken.Encoding("qwen", pat_str=SPLIT, mergeable_ranks=ranks, special_tokens=special)
