"""What models took so far: window, cache, speed, money, time; a fold of events as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_TELLING: Final = frozenset(("RunStarted", "Resumed", "RunEnded", "Engaged", "Called", "Compacted"))


@dataclass(slots=True)
class Meter:
    """Sums over the calls of a session's task, and the last one; it reads events as plain data, quickly."""

    model: str = ""
    window: int = 0
    held: int = 0  # tokens in the window after the last call, or since it was made shorter
    calls: int = 0
    read: int = 0
    written: int = 0
    evaluated: int = 0  # of calls that tell how they used the cache: tokens that were computed,
    unavoidable: int = 0  # those that nobody could have spared,
    counted: int = 0  # and all that were sent
    read_rate: float = 0.0  # tokens a second
    write_rate: float = 0.0
    usd: float | None = None
    began: float = 0.0  # seconds since the epoch
    last: float = 0.0
    running: bool = False
    _windows: dict[str, int] = field(default_factory=dict)

    def take(self, kind: str, body: Mapping[str, Any], at: float) -> bool:
        """One more event; whether it changes what is shown."""
        if kind not in _TELLING:
            return False
        if self.running or kind == "RunStarted":
            self.last = at
        if kind == "RunStarted":
            self.calls = self.read = self.written = self.evaluated = self.unavoidable = self.counted = 0
            self.began, self.running, self.usd = at, True, None
        elif kind in ("Resumed", "RunEnded"):
            self.running = kind == "Resumed"
        elif kind == "Engaged":
            self.model = body["model"]
            self._windows[self.model] = self.window = body.get("window", 0)
        elif kind == "Compacted":
            self.held = body["after"]
        else:
            self._call(body)
        return True

    def _call(self, body: Mapping[str, Any]) -> None:
        usage, timing, cache = body["usage"], body["timing"], body.get("cache")
        self.calls += 1
        self.model = body["model"]
        self.window = body.get("window") or self._windows.get(self.model, 0)
        self.read, self.written = self.read + usage["input"], self.written + usage["output"]
        if body["stop"] != "error":
            self.held = usage["input"] + usage["output"]
        new = max(0, usage["input"] - usage["cached"])
        if cache:
            new = cache["evaluated"]
        if cache and not cache.get("estimated"):  # what a reading time seems to say is no count
            self.evaluated, self.unavoidable = self.evaluated + new, self.unavoidable + cache["unavoidable"]
            self.counted += usage["input"]
        self.read_rate = _rate(new, timing["prefill_s"]) or self.read_rate
        self.write_rate = _rate(usage["output"], timing["decode_s"]) or self.write_rate
        if body.get("usd") is not None:
            self.usd = (self.usd or 0.0) + body["usd"]

    @property
    def reused(self) -> float | None:
        """Of the tokens that could come from the cache, the part that did; None while there were none."""
        could = self.counted - self.unavoidable
        return min(1.0, (self.counted - self.evaluated) / could) if could > 0 else None


def _rate(tokens: int, seconds: float) -> float:
    return tokens / seconds if tokens and seconds > 0 else 0.0
