"""The cost of a task so far: window, cache, speed, money, time; a fold of events."""

from msgspec import Struct, field

from kith.core.events import Called, Compacted, Engaged, Event, Resumed, RunEnded, RunStarted


class Meter(Struct):
    """Sums over the calls of a session's task, and the last one."""

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

    def take(self, event: Event, at: float) -> bool:
        """One more event; whether it changes what is shown."""
        if not isinstance(event, RunStarted | Resumed | RunEnded | Engaged | Called | Compacted):
            return False
        if self.running or isinstance(event, RunStarted):
            self.last = at
        match event:
            case RunStarted():
                self.calls = self.read = self.written = 0
                self.evaluated = self.unavoidable = self.counted = 0
                self.began, self.running, self.usd = at, True, None
            case Resumed() | RunEnded():
                self.running = isinstance(event, Resumed)
            case Engaged(model=model, window=window):
                self.model, self.window, self._windows[model] = model, window, window
            case Compacted(after=after):
                self.held = after
            case Called():
                self._call(event)
        return True

    def _call(self, called: Called) -> None:
        usage, timing, cache = called.usage, called.timing, called.cache
        self.calls += 1
        self.model = called.model
        self.window = called.window or self._windows.get(called.model, 0)
        self.read, self.written = self.read + usage.input, self.written + usage.output
        if called.stop != "error":
            self.held = usage.total
        if cache and not cache.estimated:  # what a reading time seems to say is no count
            self.evaluated += cache.evaluated
            self.unavoidable += cache.unavoidable
            self.counted += usage.input
        self.read_rate = _rate(called.evaluated, timing.prefill_s) or self.read_rate
        self.write_rate = _rate(usage.output, timing.decode_s) or self.write_rate
        if called.usd is not None:
            self.usd = (self.usd or 0.0) + called.usd

    @property
    def reused(self) -> float | None:
        """Of the tokens that could come from the cache, the part that did; None while there were none."""
        could = self.counted - self.unavoidable
        return min(1.0, (self.counted - self.evaluated) / could) if could > 0 else None


def _rate(tokens: int, seconds: float) -> float:
    return tokens / seconds if tokens and seconds > 0 else 0.0
