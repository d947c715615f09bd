"""Make a tiny language model that a real llama.cpp engine runs: own tokenizer, random weights, under 1 MB.

    python tools/make_tiny_gguf.py OUT.gguf [--size tiny|small|medium]

The weights are noise, so what it says is noise too, unless a grammar tells it what to say. What is real is
everything around it: tokenizer, chat template with tools, key-value cache, sampler, streaming, counts and
timings. The same version of this script and of numpy writes the same bytes every time. The larger sizes
(5 and 12 MB) take long enough over a prompt for their times to be measured.
"""

import argparse
import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType

TRAINED_WINDOW = 32_768  # tokens
MERGES = 400
SEED = 20


@dataclass(frozen=True)
class Size:
    """How large a model is: numbers in an embedding and in a hidden layer, layers, heads of attention."""

    width: int
    hidden: int
    layers: int
    heads: int


SIZES = {
    "tiny": Size(64, 128, 2, 2),
    "small": Size(192, 512, 4, 3),
    "medium": Size(320, 1024, 4, 5),
}

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
PADDING, END_OF_TURN = SPECIAL[0], SPECIAL[2]

# ChatML; a tool call is one JSON object between <tool_call> tags, as the Hermes and Qwen models write it.
CHAT_TEMPLATE = """\
{%- if messages[0].role == "system" %}{% set system = messages[0].content %}{% endif %}
{%- if system or tools %}
    {{- "<|im_start|>system\\n" + (system or "You are a helpful assistant.") }}
    {%- if tools %}
        {{- "\\n\\n# Tools\\n\\nYou may call these functions, within <tools></tools>:\\n<tools>" }}
        {%- for tool in tools %}{{- "\\n" + (tool | tojson) }}{% endfor %}
        {{- "\\n</tools>\\n\\nFor each call return a JSON object with its name and arguments:\\n" }}
        {{- '<tool_call>\\n{"name": <name>, "arguments": <arguments object>}\\n</tool_call>' }}
    {%- endif %}
    {{- "<|im_end|>\\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "user" or message.role == "assistant" %}
        {{- "<|im_start|>" + message.role + "\\n" + (message.content or "") }}
        {%- for call in message.tool_calls or [] %}
            {{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
            {{- (call.function.arguments | tojson) + "}\\n</tool_call>" }}
        {%- endfor %}
        {{- "<|im_end|>\\n" }}
    {%- elif message.role == "tool" %}
        {{- "<|im_start|>user\\n<tool_response>\\n" + message.content + "\\n</tool_response><|im_end|>\\n" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|im_start|>assistant\\n" }}{% endif %}
"""


def byte_letters() -> list[str]:
    """The printable letter that stands for each byte, in the way of GPT-2's tokenizer.

    Printable Latin-1 bytes stand for themselves, the others for the letters from U+0100 on.
    """
    visible = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    hidden = [byte for byte in range(256) if byte not in visible]
    return [chr(byte if byte in visible else 256 + hidden.index(byte)) for byte in range(256)]


def learn_merges(text: str, count: int) -> list[tuple[str, str]]:
    """The `count` most useful pairs to join, in order: byte-pair encoding (Sennrich et al. 2016).

    Ties go to the pair that sorts first, so that the result depends on the text alone.
    """
    letters = byte_letters()
    words = Counter(re.findall(r" ?[A-Za-z]+|\s+|[^A-Za-z\s]+", text))
    spelled = {word: [letters[byte] for byte in word.encode()] for word in words}
    merges = []
    for _ in range(count):
        pairs: Counter[tuple[str, str]] = Counter()
        for word, pieces in spelled.items():
            for pair in pairwise(pieces):
                pairs[pair] += words[word]
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        spelled = {word: join(pieces, best) for word, pieces in spelled.items()}
    return merges


def join(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    """The pieces with every neighbouring `pair` made one."""
    joined: list[str] = []
    for piece in pieces:
        if joined and (joined[-1], piece) == pair:
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def write_tokenizer(writer: GGUFWriter) -> int:
    """A byte-level tokenizer learned from this very file; returns how many tokens it has."""
    merges = learn_merges(Path(__file__).read_text("utf-8"), MERGES)
    plain = [*byte_letters(), *dict.fromkeys(left + right for left, right in merges)]
    tokens = [*plain, *SPECIAL]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.NORMAL] * len(plain) + [TokenType.CONTROL] * len(SPECIAL))
    writer.add_token_merges([f"{left} {right}" for left, right in merges])
    writer.add_bos_token_id(tokens.index(PADDING))
    writer.add_eos_token_id(tokens.index(END_OF_TURN))
    writer.add_pad_token_id(tokens.index(PADDING))
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)
    return len(tokens)


def write_weights(writer: GGUFWriter, vocabulary: int, size: Size) -> None:
    """Random matrices in 16-bit floats; the embedding is the output matrix too."""
    width, hidden = size.width, size.hidden
    random = np.random.default_rng(SEED)

    def add_matrix(name: str, rows: int, columns: int, scale: float) -> None:
        numbers = (random.random((rows, columns), dtype=np.float32) - 0.5) * scale * math.sqrt(12)
        writer.add_tensor(f"{name}.weight", numbers.astype(np.float16))

    def add_norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(width, dtype=np.float32))

    add_matrix("token_embd", vocabulary, width, scale=width**-0.5)
    add_norm("output_norm")
    for layer in range(size.layers):
        block = f"blk.{layer}"
        add_norm(f"{block}.attn_norm")
        add_norm(f"{block}.ffn_norm")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add_matrix(f"{block}.{part}", width, width, scale=width**-0.5)
        for part in ("ffn_gate", "ffn_up"):
            add_matrix(f"{block}.{part}", hidden, width, scale=width**-0.5)
        add_matrix(f"{block}.ffn_down", width, hidden, scale=hidden**-0.5)


def make_model(path: Path, name: str = "tiny") -> None:
    """Write the model file, in the size of that name."""
    size = SIZES[name]
    writer = GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_context_length(TRAINED_WINDOW)
    writer.add_embedding_length(size.width)
    writer.add_block_count(size.layers)
    writer.add_feed_forward_length(size.hidden)
    writer.add_head_count(size.heads)
    writer.add_rope_dimension_count(size.width // size.heads)
    writer.add_layer_norm_rms_eps(1e-6)
    write_weights(writer, write_tokenizer(writer), size)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--size", choices=tuple(SIZES), default="tiny")
    chosen = parser.parse_args()
    make_model(chosen.out, chosen.size)
    print(f"{chosen.out}: {chosen.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
