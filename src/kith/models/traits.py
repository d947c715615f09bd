"""What words tell of a model: its name, the name of its file, and its chat template."""

import re
from dataclasses import dataclass
from typing import Final

_SIZE: Final = re.compile(r"(?<![\w.])(?:(\d+)x)?(\d+(?:\.\d+)?)\s*([bm])(?![a-z0-9])")


def billions(words: str) -> float | None:
    """The size that a model's name or description tells ("qwen3:4b", "14.8B", "8x7b"), in 1e9 parameters."""
    found = _SIZE.search(words.lower())
    if not found:
        return None
    experts, number, unit = found.groups()
    return int(experts or 1) * float(number) * (1.0 if unit == "b" else 0.001)


# --- file names ----------------------------------------------------------------------------------


_QUANT = re.compile(
    r"(?<![A-Z0-9])(?:UD-)?(?:I?Q[1-8](?:_[A-Z0-9]+)*|TQ[12]_0|MXFP4(?:_MOE)?|BF16|FP?16|FP?32)(?![A-Z0-9])"
)
_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<end>\.gguf)", re.IGNORECASE)
_MOST_PARTS = 999


def part_of(name: str) -> tuple[str, int, int]:
    """What a file is a part of, its number, and how many there are; one that is not split is part 1 of 1."""
    part = _PART.fullmatch(name)
    return (f"{part['stem']}.gguf", int(part["number"]), int(part["count"])) if part else (name, 1, 1)


def parts_of(name: str) -> tuple[str, ...]:
    """The names of all parts of a model, in order, from that of one of them."""
    part = _PART.fullmatch(name)
    if part is None:
        return (name,)
    count = min(int(part["count"]), _MOST_PARTS)
    return tuple(f"{part['stem']}-{at:05}-of-{part['count']}{part['end']}" for at in range(1, count + 1))


def quant_of(path: str) -> str:
    """The quantisation that a file's name tells, or else its folder's; "" when neither does."""
    for name in reversed(path.removesuffix(".gguf").upper().split("/")[-2:]):
        found = list(_QUANT.finditer(name))
        if found:
            return found[-1][0].replace("FP16", "F16").replace("FP32", "F32")
    return ""


# --- chat templates ------------------------------------------------------------------------------


_TOOLS: Final = ("tools", "tool_call")
_THINKS: Final = ("<think>", "enable_thinking", "reasoning", "<|channel|>", "[THINK]")


@dataclass(frozen=True, slots=True)
class Template:
    """What a chat template takes: tools, and thinking."""

    tools: bool = False
    thinking: bool = False


def read_template(text: str) -> Template:
    """What a chat template takes; words in a comment or a string count too."""
    return Template(any(word in text for word in _TOOLS), any(word in text for word in _THINKS))
