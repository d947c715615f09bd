"""Measurements of a model on this machine, the choices that follow from these, and the file of both."""

import importlib.metadata
import json
import statistics
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.core.codec import decode, encode
from kith.core.replace_file import put_private
from kith.features.engine.options import EngineOptions, names_flag
from kith.features.engine.processes import WHEEL
from kith.models.discovery.machine import machine_name

_FORMAT: Final = 1  # of the file; to be raised when Tuning changes
_FILE: Final = "engine-tuning.json"
_MOST: Final = 100  # models that are remembered

PLAIN: Final = "plain"
DRAFT: Final = "draft-simple"  # llama-server's word for a small model that guesses
_CACHE_TYPES: Final = ("-ctk", "-ctv", "--cache-type-k", "--cache-type-v")
Text = Literal["edit", "new"]
# A gain below is not worth another way to run; a loss beyond is not worth any gain.
GAIN: Final = 1.10
LOSS: Final = 0.95
SLOTS_GAIN: Final = 1.25  # tokens/s of all slots together, for each doubling of the slots
SMALL_CACHE_SPEED: Final = 0.90  # of the plain speed that a smaller cache must keep to be used for a window


class Speed(Struct, frozen=True):
    """The speed of one way on one text: tokens/s (median), and its median ratio to plain in the same round.

    `read` is the ratio for the prompt. `same`: the reply was the plain one, token for token, in each round.
    `loops`: the plain reply repeats itself, so that guessing ahead is too easy to tell anything.
    """

    text: Text
    tokens_s: float
    ratio: float
    read: float
    same: bool
    accepted: float = 0.0  # of the tokens that were guessed ahead
    loops: bool = False


class Way(Struct, frozen=True):
    """One way to run the model: its name, the options that make it, its speeds, and why it failed."""

    name: str
    speeds: tuple[Speed, ...] = ()
    speculation: str = ""
    draft: str = ""
    flash_attn: Literal["auto", "on", "off"] = "auto"
    cache_type: str = ""
    trouble: str = ""

    @property
    def telling(self) -> tuple[Speed, ...]:
        """The speeds that can decide."""
        return tuple(each for each in self.speeds if not each.loops)


class SlotSpeed(Struct, frozen=True):
    """Tokens/s of so many answers at the same time, all together, over those of one alone."""

    slots: int
    ratio: float


class Tuning(Struct, frozen=True):
    """The measurement of a model (`digest`), on a machine, with one version of the engine.

    `at` is in seconds since 1970. `by`: other programs do not stretch processor time as they stretch the
    clock's. The choices follow from `ways` and `slot_speeds`.
    """

    name: str
    model: str
    digest: str
    machine: str
    engine: str
    at: float
    rounds: int
    by: Literal["clock", "processor"]
    ways: tuple[Way, ...]
    slot_speeds: tuple[SlotSpeed, ...] = ()

    @property
    def speculation(self) -> Way | None:
        """The way to guess ahead that pays, None where none does."""
        able = [way for way in self.ways if way.speculation and pays(way)]
        return max(able, key=_gain, default=None)

    @property
    def flash_attn(self) -> Literal["auto", "off"]:
        """Off where it is quicker without it, reading included; else the engine's own choice."""
        off = next((way for way in self.ways if way.flash_attn == "off"), None)
        quicker = off is not None and bool(off.speeds) and all(
            min(each.ratio, each.read) >= LOSS and max(each.ratio, each.read) >= GAIN for each in off.speeds
        )  # fmt: skip
        return "off" if quicker else "auto"

    @property
    def small_cache(self) -> str:
        """The smaller type of the cache that is quick enough to make room for a window; "" for none."""
        for way in self.ways:
            slowest = min((min(each.ratio, each.read) for each in way.speeds), default=0.0)
            if way.cache_type and slowest >= SMALL_CACHE_SPEED:
                return way.cache_type
        return ""

    @property
    def slots(self) -> int:
        """Answers at the same time, as long as each doubling pays."""
        best, reached = 1, 1.0
        for each in sorted(self.slot_speeds, key=lambda each: each.slots):
            if each.ratio < reached * SLOTS_GAIN:
                break
            best, reached = each.slots, each.ratio
        return best


def pays(way: Way) -> bool:
    """True if a way to guess ahead gives the same replies, is quicker on one text, and slower on none.

    A text whose plain reply repeats itself counts for neither; where the edit is such a text, nothing pays.
    """
    if not way.speeds or not all(each.same for each in way.speeds):
        return False
    telling = way.telling
    edits = [each.ratio for each in telling if each.text == "edit"]
    return bool(edits) and max(edits) >= GAIN and min(each.ratio for each in telling) >= LOSS


def _gain(way: Way) -> float:
    return statistics.geometric_mean(each.ratio for each in way.telling)


def tuned(options: EngineOptions, tuning: Tuning | None) -> EngineOptions:
    """Options with the measured choices; a person's own choices stay."""
    if tuning is None:
        return options
    extra, best = options.extra, tuning.speculation
    own = options.speculation or options.draft or names_flag(extra, "--spec-*", "-md", "--model-draft")
    if best is not None and not own and (not best.draft or Path(best.draft).exists()):
        options = replace(options, speculation=best.speculation, draft=best.draft)
    if options.flash_attn == "auto" and not names_flag(extra, "-fa", "--flash-attn"):
        options = replace(options, flash_attn=tuning.flash_attn)
    return options


def with_small_cache(options: EngineOptions, tuning: Tuning | None) -> EngineOptions:
    """Options with the smaller cache that was measured to be quick enough; a person's own type stays."""
    own = options.cache_type_k or options.cache_type_v or names_flag(options.extra, *_CACHE_TYPES)
    if tuning is None or own or options.flash_attn == "off":
        return options
    return replace(options, cache_type_k=tuning.small_cache, cache_type_v=tuning.small_cache)


# --- kept from one kith to the next ----------------------------------------------------------


def engine_version(engine: str) -> str:
    """Tell one engine from another: the wheel by its version, a program by its file."""
    if engine == WHEEL:
        try:
            return f"{WHEEL} {importlib.metadata.version(WHEEL)}"
        except importlib.metadata.PackageNotFoundError:
            return WHEEL
    try:
        found = Path(engine).stat()
    except OSError:
        return engine
    return f"{engine} {found.st_size} {found.st_mtime_ns}"


def load_tunings(state: Path) -> tuple[Tuning, ...]:
    """All measurements; none where the file cannot be read."""
    try:
        data = json.loads((state / _FILE).read_text("utf-8"))
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            return ()
        return tuple(decode(each, Tuning) for each in data["tunings"])
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return ()


def find_tuning(state: Path, digest: str, engine: str) -> Tuning | None:
    """The measurement of a model on this machine with this engine (its name or path), None without one."""
    here = (digest, machine_name(), engine_version(engine))
    return next((each for each in load_tunings(state) if _key(each) == here), None)


def keep_tuning(state: Path, tuning: Tuning) -> None:
    """Keep a measurement in place of one of the same model, machine and engine."""
    others = [each for each in load_tunings(state) if _key(each) != _key(tuning)]
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = [encode(each) for each in (tuning, *others)][:_MOST]
    put_private(state / _FILE, json.dumps({"format": _FORMAT, "tunings": kept}).encode())


def _key(tuning: Tuning) -> tuple[str, str, str]:
    return tuning.digest, tuning.machine, tuning.engine
