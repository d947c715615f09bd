"""Read what the name of a model's file tells: its part of the model and its quantisation."""

import re

_QUANT = re.compile(
    r"(?<![A-Z0-9])(?:UD-)?(?:I?Q[1-8](?:_[A-Z0-9]+)*|TQ[12]_0|MXFP4(?:_MOE)?|BF16|FP?16|FP?32)(?![A-Z0-9])"
)
_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<end>\.gguf)", re.IGNORECASE)
_MOST_PARTS = 999


def part_of(name: str) -> tuple[str, int, int]:
    """Return a file's whole name, its part number and the count; an unsplit file is part 1 of 1."""
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
