"""Forecasts of calls: how long one will take, told before it, and who tells it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from kith.core.events import Called
from kith.core.model import Prompt
from kith.core.values import Timing
from kith.models.providers.facts import Facts


class Took(Struct, frozen=True):
    """One call that was measured: tokens read, found in the cache and written, and seconds.

    `rest_s` is neither reading nor writing: the way there and back. A part of 0.0 s was not measured.
    """

    new: int
    cached: int
    out: int
    read_s: float
    write_s: float
    rest_s: float = 0.0

    @classmethod
    def from_timing(cls, new: int, cached: int, out: int, timing: Timing) -> "Took":
        """The call as its server timed it, or else our own clock: its first token ends the reading."""
        waited = timing.load_s + timing.queue_s
        if timing.prefill_s > 0 or timing.decode_s > 0:
            rest = timing.total_s - waited - timing.prefill_s - timing.decode_s
            return cls(new, cached, out, timing.prefill_s, timing.decode_s, max(0.0, rest))
        read = max(0.0, timing.first_token_s - waited)
        rest = max(0.0, timing.total_s - waited - read)
        return cls(new, cached, out, read, rest) if read else cls(new, cached, out, 0.0, 0.0, rest)

    @property
    def seconds(self) -> float:
        """The seconds to compare with a forecast without load and queue."""
        return self.read_s + self.write_s + self.rest_s


class Forecast(Struct, frozen=True):
    """The forecast of a call in seconds: 9 of 10 take longer than `low_s`, 1 longer than `high_s`.

    The parts add up to `mid_s`: `load_s`, `queue_s`, `read_s` (with the network) and `write_s` for `out`
    tokens. `new` and `cached` are the prompt's tokens in the request.
    """

    low_s: float
    mid_s: float
    high_s: float
    load_s: float = 0.0
    queue_s: float = 0.0
    read_s: float = 0.0
    write_s: float = 0.0
    new: int = 0
    cached: int = 0
    out: int = 0


class Foresight(Protocol):
    """Knows how long the calls of one model take where it runs."""

    def expect(self, prompt: Prompt) -> Forecast | None:
        """Forecast a call with this prompt; None while nothing is known of the model here."""

    def take(self, prompt: Prompt, called: Called, forecast: Forecast | None) -> tuple[Called, str]:
        """Learn from an answered call.

        Returns the same event, with the forecast and the reason for slowness. Also returns a sentence for
        the person, once for each kind of cause, "" when there is nothing to say.
        """

    def believe(self, calls: Iterable[Took]) -> None:
        """Begin with calls that another program measured."""

    def learned(self, card: Mapping[str, Any]) -> dict[str, Any]:
        """Return the card's new content (it may know other machines); {} for no news."""

    def unread(self, prompt: Prompt) -> int:
        """Count the tokens of a prompt that its server has to read."""


# A model's name, a prompt and its tokens -> those that the server has read already.
Cached = Callable[[str, Prompt, int], int]
# The foresight of a model that was looked at: its name and facts, the machine that runs it, what its card
# knows, an estimate of a prompt's tokens, and how many of them the server should have.
Foresee = Callable[[str, Facts, str, Mapping[str, Any], Callable[[Prompt], int], Cached], Foresight]
