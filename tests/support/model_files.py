"""Model files for tests: a header as a real converter writes it, and as much weight as is asked for."""

from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFWriter

TEMPLATE = "{% if tools %}<tool_call>{% endif %}{% if enable_thinking %}<think>{% endif %}"


def write_model(
    path: Path, architecture: str = "qwen2", *, words: int = 300, weights: int = 0, **more: Any
) -> Path:
    """A model of 28 layers and 4 key-value heads of 128, unless `more` says otherwise.

    `more` are metadata: `block_count=2` is a key of the architecture's, `general__type="adapter"` a whole
    one. None leaves a key out.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = GGUFWriter(path, architecture)
    values = {
        "context_length": 32_768,
        "embedding_length": 3584,
        "block_count": 28,
        "attention__head_count": 28,
        "attention__head_count_kv": 4,
        "general__name": path.stem,
        "general__file_type": 15,
        "tokenizer__chat_template": TEMPLATE,
    } | more
    for name, value in values.items():
        key = name.replace("__", ".")
        whole = key.startswith(("general.", "tokenizer.", "split."))
        add(writer, key if whole else f"{architecture}.{key}", value)
    if words:
        writer.add_token_list([f"w{number}" for number in range(words)])
        writer.add_token_types([1] * words)
    if weights:
        writer.add_tensor("a.weight", np.zeros(weights // 2, dtype=np.float32))
        writer.add_tensor("b.weight", np.zeros(weights - weights // 2, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add(writer: GGUFWriter, key: str, value: Any) -> None:
    """One piece of metadata in the type that its value has."""
    match value:
        case None:
            return
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case str():
            writer.add_string(key, value)
        case list():
            writer.add_array(key, value)
