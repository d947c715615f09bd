"""Forecast a model's calls, and explain slow ones afterwards."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.events import Called
from kith.core.model import Prompt
from kith.features.foresight.latency import Latency
from kith.models.discovery.machine import busy
from kith.models.forecasts import Cached, Forecast, Took
from kith.models.providers.facts import Facts
from kith.models.wrappers.prompt_cache import LOADED_S

CARD_KEY: Final = "latency"  # on a model's card: what was learned of its times, by machine
SLOW: Final = 2.0  # times of what was foreseen
_NOTABLE_S = 1.0  # seconds beyond it that are worth a cause ...
_TOLD_S = 3.0  # ... and a sentence
_HALF = 0.5  # of the time too much, which a cause must account for
_CROWDED = 1.5  # processes for each core
_AT_ONCE = 16  # calls of one model
_SILENT = ("length", "cache", "refused")  # causes that were told before, or need no sentence

_WORDS: Final = {
    "load": "the server spent {seconds:.0f} s loading the model",
    "refused": "the server refused for {seconds:.0f} s",
    "queue": "it waited {seconds:.0f} s for the model's slot",
    "client": "{seconds:.0f} s are missing in the server's timing; it may have been busy",
    "cache": "prompt cache miss, {tokens:,} tokens processed again",
    "length": "its reply has {out:,} tokens, not about {expected:,}",
    "memory": "the machine is short of memory",
    "busy": "the machine is busy, with {busy:.1f} processes for each core",
    "slower": "the model is slower than it was (throttled, or shared with others?)",
    "server": "the server is slower than it was",
}


def is_short_of_memory(root: Path = Path("/")) -> bool:
    """True if processes waited for memory in 5 % of the last ten seconds (Linux: accounting/psi.rst)."""
    try:
        said = (root / "proc/pressure/memory").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    share = re.search(r"some avg10=(\d+\.\d+)", said)
    return share is not None and float(share[1]) >= 5.0


class LearnedForesight(Struct):
    """The times of one model where it runs: foreseen from its latency and from what its server has cached.

    `machine` names that place. `estimate` gives a prompt's tokens, and `cached` how many of them the server
    should have. `here`: it is this machine, whose state
    may tell why a call is slow.
    """

    model: str
    machine: str
    estimate: Callable[[Prompt], int]
    cached: Cached
    latency: Latency = field(default_factory=Latency)
    here: bool = True
    busy: Callable[[], float] = busy
    short_of_memory: Callable[[], bool] = is_short_of_memory
    _asked: deque[tuple[Prompt, int, int]] = field(default_factory=lambda: deque(maxlen=_AT_ONCE))
    _begun: int = 0
    _told: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._begun = self.latency.count

    def expect(self, prompt: Prompt) -> Forecast | None:
        """Forecast a call with this prompt; None while nothing is known of the model here."""
        new, cached = self._sizes(prompt)
        most = prompt.sampling.max_tokens
        return self.latency.foresee(new, cached, purpose=prompt.purpose, most=most)

    def take(self, prompt: Prompt, called: Called, forecast: Forecast | None) -> tuple[Called, str]:
        """Learn from an answered call.

        Returns the same event, with the forecast and the reason for slowness. Also returns a sentence for
        the person, once for each kind of cause, "" when there is nothing to say.
        """
        new, cached = self._sizes(prompt)
        self._asked = deque((each for each in self._asked if each[0] is not prompt), _AT_ONCE)
        if called.usage.input and called.cache and not called.cache.estimated:
            new = called.cache.evaluated
            cached = called.usage.input - new
        took = Took.from_timing(new, cached, called.usage.output, called.timing)
        cause, words = self._explain(took, called, forecast) if forecast else ("", "")
        load = called.timing.load_s if called.timing.load_s > LOADED_S else 0.0
        self.latency.take(took, purpose=called.purpose, load_s=load)
        expected = round(forecast.mid_s, 3) if forecast else 0.0
        self.model = called.model  # under which name the meter knows what was sent
        called = replace(called, expected_s=expected, slow=words, busy=round(self.busy(), 2))
        took_s = called.timing.total_s
        if not cause or cause in (*_SILENT, *self._told) or took_s - expected < _TOLD_S:
            return called, ""
        self._told.add(cause)
        return called, f"A call took {took_s:.0f} s, not about {expected:.0f} s: {words}."

    def believe(self, calls: Iterable[Took]) -> None:
        """Begin with calls that another program measured; kith's own count for more."""
        self.latency.suppose(*calls)
        self._begun = -1  # there is news

    def learned(self, card: Mapping[str, Any]) -> dict[str, Any]:
        """Return the card's new content (it may know other machines); {} for no news."""
        if self.latency.count == self._begun:
            return {}
        return {CARD_KEY: {**card.get(CARD_KEY, {}), self.machine: self.latency.to_facts()}}

    def unread(self, prompt: Prompt) -> int:
        """Count the tokens of a prompt that its server has to read."""
        return self._sizes(prompt)[0]

    def _sizes(self, prompt: Prompt) -> tuple[int, int]:
        """The prompt's tokens that will be read, and those that the server should have.

        Made once a call: after it, the meter knows that all of them were sent.
        """
        for asked, new, cached in self._asked:
            if asked is prompt:
                return new, cached
        tokens = self.estimate(prompt)
        cached = max(0, min(self.cached(self.model, prompt, tokens), tokens - 1))
        self._asked.append((prompt, tokens - cached, cached))
        return tokens - cached, cached

    def _explain(self, took: Took, called: Called, forecast: Forecast) -> tuple[str, str]:
        """Explain a slow call, as a kind and in words; both "" for a fast one."""
        waited = called.timing.load_s + called.timing.queue_s
        excess = waited + took.seconds - forecast.mid_s
        if excess < max(_NOTABLE_S, (SLOW - 1) * forecast.mid_s, forecast.high_s - forecast.mid_s):
            return "", ""
        seconds = self._evidence(took, called, forecast)
        cause = max(seconds, key=seconds.__getitem__)
        if seconds[cause] < _HALF * excess:
            cause = self._weather()
        elif cause == "client" and self.here and (seen := self._weather()) != "slower":
            cause = seen  # what is measured of this machine says more than a wait that nobody timed
        words = _WORDS[cause].format(
            seconds=seconds.get(cause, 0.0),
            tokens=took.new - forecast.new,
            out=took.out,
            expected=forecast.out,
            busy=self.busy(),
        )
        return cause, words

    def _evidence(self, took: Took, called: Called, forecast: Forecast) -> dict[str, float]:
        """The seconds that each kind of cause accounts for."""
        usual = self.latency.seconds_of(forecast.new, forecast.cached, forecast.out)
        again = self.latency.seconds_of(took.new, took.cached, forecast.out)
        longer = self.latency.seconds_of(forecast.new, forecast.cached, took.out)
        timed = called.timing.prefill_s > 0 or called.timing.decode_s > 0
        return {
            "load": called.timing.load_s,
            "refused": called.timing.refused_s,
            "queue": called.timing.queue_s - called.timing.refused_s,
            "client": took.rest_s if timed else 0.0,
            "cache": again - usual,
            "length": longer - usual,
        }

    def _weather(self) -> str:
        """Guess a cause from the state of the machine that runs it."""
        if not self.here:
            return "server"
        return "memory" if self.short_of_memory() else "busy" if self.busy() > _CROWDED else "slower"


def foresight_of(
    model: str,
    facts: Facts,
    machine: str,
    card: Mapping[str, Any],
    estimate: Callable[[Prompt], int],
    cached: Cached,
) -> LearnedForesight:
    """The foresight of a model that was looked at, with what its card knows of it on this machine.

    Where nobody measured its calls yet, the rates of a probe are believed at first.
    """
    latency, here = Latency.from_facts(card.get(CARD_KEY, {}).get(machine, {})), machine != facts.server
    if not latency.knows and here:
        latency.suppose_rates(*(float(card.get(key) or 0.0) for key in ("read_rate", "write_rate")))
    return LearnedForesight(model, machine, estimate, cached, latency, here)
