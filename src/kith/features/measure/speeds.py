"""How fast models read and write, from calls: by model, by purpose, and by how long the prompt was."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kith.features.measure.intervals import Spread
from kith.features.measure.rows import CallRow

_SMALLEST: Final = (
    2_048  # tokens, up to which prompts are of the first class; each further one is twice as wide
)
_TELLING: Final = 32  # tokens, from which on the time for them says something of a speed
_LOADED_S: Final = 0.5  # a shorter load is only a look at what is loaded


@dataclass(frozen=True, slots=True)
class Speed:
    """One model's speed. `purpose` "": any; `size`: prompts of at most so many tokens, 0: of any length.

    `read` and `write` are tokens a second, `first` and `load` seconds to the first token and to load the
    model, where that was done.
    """

    model: str
    purpose: str
    size: int
    calls: int
    read: Spread
    write: Spread
    first: Spread
    load: Spread


def measure_speeds(calls: Iterable[CallRow]) -> tuple[Speed, ...]:
    """Every model, and every purpose and size of prompt that it had, those of any purpose and size first."""
    groups: dict[tuple[str, str, int], list[CallRow]] = defaultdict(list)
    for call in calls:
        if call.error:
            continue
        for purpose in ("", call.purpose):
            for size in (0, size_class(call.usage.input)):
                groups[call.model, purpose, size].append(call)
    return tuple(_speed(*key, found) for key, found in sorted(groups.items()))


def _speed(model: str, purpose: str, size: int, calls: list[CallRow]) -> Speed:
    return Speed(
        model,
        purpose,
        size,
        len(calls),
        Spread.of(list(_known(map(read_rate, calls)))),
        Spread.of(list(_known(map(write_rate, calls)))),
        Spread.of([call.timing.first_token_s for call in calls if call.timing.first_token_s > 0]),
        Spread.of([call.timing.load_s for call in calls if call.timing.load_s > _LOADED_S]),
    )


def size_class(tokens: float) -> int:
    """The bound of the class that a prompt is in: 2,048 tokens, or twice, four times ... as many."""
    bound = _SMALLEST
    while bound < tokens:
        bound *= 2
    return bound


def read_rate(call: CallRow) -> float | None:
    """Tokens a second that were computed of the prompt; None where too few were, or nobody told the time."""
    seconds = call.timing.prefill_s
    return call.evaluated / seconds if call.evaluated >= _TELLING and seconds > 0 else None


def write_rate(call: CallRow) -> float | None:
    """Tokens a second that were written; where the server tells no time, since the first one arrived."""
    timing = call.timing
    seconds = timing.decode_s
    if not seconds and timing.first_token_s > 0:
        seconds = timing.total_s - timing.first_token_s
    return call.usage.output / seconds if call.usage.output >= _TELLING and seconds > 0 else None


def _known(values: Iterable[float | None]) -> Iterator[float]:
    return (value for value in values if value is not None)
