"""Choose a file of a repository: its GGUF files as variants, and the one for a quantisation."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from kith.core.errors import NoModelError, UsageError
from kith.core.numbers import size_text
from kith.features.engine.file_names import (
    part_of,
    quant_of,
)

# The best trade of size against quality first; what is not named here is taken only when asked for.
PREFERENCE = (
    *("Q4_K_M", "Q5_K_M", "Q4_K_S", "Q4_K_XL", "Q6_K", "Q8_0", "Q5_K_S", "Q4_K_L", "MXFP4", "MXFP4_MOE"),
    *("IQ4_XS", "IQ4_NL", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q3_K_L", "Q3_K_M", "BF16", "F16", "F32"),
)
_DYNAMIC = "UD-"  # a quantisation that varies by layer, sold under the name of its average
# Projectors for images, adapters, and the statistics of a quantisation: no models.
_BESIDE = re.compile(r"(^|[-_./])(mmproj|lora|adapters?|imatrix)([-_./]|$)", re.IGNORECASE)
_SHOWN = 12  # names in one sentence


class HubFile(Struct, frozen=True):
    """A file of a repository. `size` in bytes; `digest` is a SHA-256, or the git id of a small file."""

    path: str
    size: int
    digest: str


class Variant(Struct, frozen=True):
    """A model in one quantisation ("" when its name does not say): a file, or the parts of one in order."""

    name: str
    quant: str
    files: tuple[HubFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def choose_variant(repo: str, files: Iterable[HubFile], wanted: str = "") -> Variant:
    """The variant that `wanted` names: a quantisation in any case, or a file; "" takes the usual one.

    Raises NoModelError when there is none, UsageError when there are several; both list what there is.
    """
    variants = variants_of(files)
    if not variants:
        raise NoModelError(
            f"{repo} has no GGUF model; such repositories usually have a name ending in -GGUF."
        )
    found = _named(variants, wanted) if wanted else _usual(variants)
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoModelError(f"{repo} has no {wanted}; there is {_listing(variants)}.")
    raise UsageError(f"{repo} has several such files; name one of them as {repo}:FILE: {_listing(found)}.")


def variants_of(files: Iterable[HubFile]) -> tuple[Variant, ...]:
    """The models among the files, by name; split ones only when all their parts are there."""
    groups: dict[tuple[str, int], dict[int, HubFile]] = defaultdict(dict)
    for file in files:
        if not file.path.lower().endswith(".gguf") or _BESIDE.search(file.path):
            continue
        name, number, count = part_of(file.path)
        groups[name, count][number] = file
    return tuple(
        Variant(name, quant_of(name), tuple(parts[number] for number in sorted(parts)))
        for (name, count), parts in sorted(groups.items())
        if sorted(parts) == list(range(1, count + 1))
    )


def _named(variants: Sequence[Variant], wanted: str) -> list[Variant]:
    name = wanted.casefold()
    for variant in variants:
        names = {variant.name, *(file.path for file in variant.files)}
        if name in {each.casefold() for each in names}:
            return [variant]
    by_file = [each for each in variants if each.name.rpartition("/")[2].casefold() in (name, f"{name}.gguf")]
    quant = quant_of(wanted) or wanted.upper()
    plain = [each for each in variants if each.quant == quant]
    return by_file or plain or [each for each in variants if each.quant == _DYNAMIC + quant]


def _usual(variants: Sequence[Variant]) -> list[Variant]:
    for quant in PREFERENCE:
        if found := _named(variants, quant):
            return found
    return list(variants)


def _listing(variants: Sequence[Variant]) -> str:
    quants = [each.quant for each in variants]
    told_apart = all(quants) and len(set(quants)) == len(quants)
    words = [f"{each.quant if told_apart else each.name} ({size_text(each.size)})" for each in variants]
    more = [f"and {len(words) - _SHOWN} more"] if len(words) > _SHOWN else []
    return ", ".join(words[:_SHOWN] + more)
