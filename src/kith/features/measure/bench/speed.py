"""How fast a model reads and writes behind ever more tokens, with no help of what was cached before."""

import asyncio
import time
import uuid
from dataclasses import dataclass, replace
from typing import Final

from kith.core.errors import ModelError
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Sampling, say
from kith.features.measure.bench.result import Speed
from kith.features.measure.probe.exercises import speed_text
from kith.models.latency import Took

DEPTHS: Final = (0, 1_024, 4_096, 8_192, 16_384, 32_768, 65_536)
NEW: Final = 512  # tokens that are read at each depth
OUT: Final = 32  # tokens that are written at most
REPEATS: Final = 3
_ROOM: Final = 256  # tokens of the window that stay free
_LEAST_OUT: Final = 5  # fewer tokens say nothing of the speed of writing
_QUICK: Final = 0.75  # of the time that a whole prompt takes: in less, only a part of it was read
_SLOWEST: Final = 60.0  # tokens a second, while nothing was measured


@dataclass(frozen=True, slots=True)
class Paces:
    """The model on the track: `until` is on the monotonic clock, `window` in tokens (0: unknown).

    `deepest`: no prompt has more tokens that come first, for who pays for each.
    """

    model: Model
    emit: Emit
    until: float
    window: int = 0
    deepest: int = DEPTHS[-1]

    async def measure(self) -> tuple[tuple[Speed, ...], tuple[str, ...]]:
        """The speed at each depth that time and window allow, and in sentences what they did not.

        Raises ModelError when the model does not answer at all.
        """
        found: list[Speed] = []
        for depth in (each for each in DEPTHS if each <= self.deepest):
            if found and (why := self._why_not(depth, found[-1])):
                return tuple(found), (f"speed at {depth:,} tokens: {why}",)
            try:
                if speed := await self._at(depth, min(found[0].read) if found else 0.0):
                    found.append(speed)
            except TimeoutError:
                return tuple(found), (f"speed at {depth:,} tokens: the time for it was up",)
            except ModelError as error:
                if not found:
                    raise
                return tuple(found), (f"speed at {depth:,} tokens: {error}",)
        return tuple(found), ()

    def _why_not(self, depth: int, last: Speed) -> str:
        if self.window and depth + NEW + OUT + _ROOM > self.window:
            return f"the window of {self.window:,} tokens is too small"
        rate = min(last.read, default=_SLOWEST)
        needed = (depth + NEW) / rate
        left = self.until - time.monotonic()
        return f"it takes about {needed:.0f} s, and {max(0, left):.0f} s were left" if needed > left else ""

    async def _at(self, depth: int, rate: float) -> Speed | None:
        """Several calls that share nothing but their first `depth` tokens; None when none told its time.

        `rate`: tokens a second that are read behind nothing; 0.0 while that is not known.
        """
        beginning = f"{uuid.uuid4().hex}\n{speed_text(depth)}" if depth else ""
        begun = (await self._ask(beginning, "Begin.", 1))[0].new if depth else 0
        # Without a common beginning each system prompt differs from its first token on.
        tooks: list[tuple[Took, bool]] = []
        for number in range(REPEATS):
            if number and self.until - time.monotonic() < tooks[-1][0].seconds * 2:
                break
            begin = beginning or uuid.uuid4().hex
            took, timed = await self._ask(begin, f"{uuid.uuid4().hex}\n{speed_text(NEW)}", OUT)
            tooks.append((_spared(took, begun, rate), timed))
        return _speed(tooks)

    async def _ask(self, system: str, words: str, limit: int) -> tuple[Took, bool]:
        """One call as it was measured, and whether the server did that."""
        sampling = Sampling(temperature=0.2, seed=1, max_tokens=limit)
        prompt = Prompt(system, (say(words),), purpose="bench", sampling=sampling, thread=uuid.uuid4().hex)
        async with asyncio.timeout(max(0.0, self.until - time.monotonic())):
            reply = await self.model(prompt, self.emit)
        usage = reply.usage
        took = Took.from_timing(usage.new, usage.cached, usage.output, reply.timing)
        return took, reply.timing.prefill_s > 0


def _spared(took: Took, begun: int, rate: float) -> Took:
    """The call; `begun` tokens are taken as cached where the server counts none, and was too quick for them.

    Ollama reports all tokens of a prompt, and the time that only the new ones took.
    """
    quick = took.read_s * rate < _QUICK * took.new
    if took.cached or not quick or not 0 < begun < took.new:
        return took
    return replace(took, new=took.new - begun, cached=begun)


def _speed(tooks: list[tuple[Took, bool]]) -> Speed | None:
    """One row of several calls; what was cached is as the server says, whatever was hoped for."""
    reads = [took for took, _ in tooks if took.new > 0 and took.read_s > 0]
    writes = [took for took, _ in tooks if took.out >= _LEAST_OUT and took.write_s > 0]
    if not reads:
        return None
    return Speed(
        min(took.cached for took in reads),
        max(took.new for took in reads),
        tuple(round(took.new / took.read_s, 3) for took in reads),
        max((took.out for took in writes), default=0),
        tuple(round((took.out - 1) / took.write_s, 3) for took in writes),
        "server" if tooks[0][1] else "clock",
    )
