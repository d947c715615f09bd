"""Predict what an errand takes, tell its giver what it took and what takes less, and sum up all of them."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from kith.agent.project import Project
from kith.core.decisions import Delegated
from kith.core.numbers import median, time_text
from kith.core.values import Usage
from kith.features.measure.profile import Addition, ProfilePart, ProfileScope
from kith.features.measure.rows import CallRow
from kith.features.measure.speed_and_success import measure_speeds
from kith.memory.queries import delegated_since

# An errand's time: its text and whatever else is read, at the speed of reading; the replies, at that of
# writing; and the rest, which is mostly its check.

_LATELY: Final = 30  # errands of a model that predictions rest on
_OTHER_READ: Final = 3_000.0  # tokens besides the text (system prompt, tools, files), until measured
_WRITTEN: Final = 400.0  # tokens, where nothing was measured
_MUCH: Final = 0.2  # of an errand's time
_LONG: Final = 1_000  # tokens of a text
_STEP: Final = 1_000  # tokens; savings are told in such steps


class Pace(Struct, frozen=True):
    """The pace of one model here: its window, tokens a second (0.0: not measured), the size of its errands.

    `other_read`: tokens read besides an errand's text. `beside_s`: seconds without the model. `ratio`: median
    of real time by predicted time.
    """

    window: int = 0
    read: float = 0.0
    write: float = 0.0
    other_read: float = _OTHER_READ
    written: float = _WRITTEN
    beside_s: float = 0.0
    ratio: float = 0.0

    @classmethod
    def of(cls, model: str, calls: Iterable[CallRow], errands: Sequence[Delegated]) -> "Pace":
        """The pace of a model under its name in the log."""
        own = [call for call in calls if call.model == model]
        speed = next((each for each in measure_speeds(own) if not each.purpose and not each.size), None)
        read, write = ((speed.read.median or 0.0), (speed.write.median or 0.0)) if speed else (0.0, 0.0)
        pace = cls(own[-1].window if own else 0, read, write)
        lately = [each for each in errands if each.to == model][-_LATELY:]
        if not lately or not pace.is_known:
            return pace
        others = [max(0.0, _read_of(each.usage) - each.tokens) for each in lately]
        besides = [max(0.0, each.seconds - pace.model_seconds(each.usage)) for each in lately]
        ratios = [each.seconds / each.expected_s for each in lately if each.expected_s > 0]
        written = median([float(each.usage.output) for each in lately])
        ratio = median(ratios) if ratios else 0.0
        return cls(pace.window, read, write, median(others), written, median(besides), ratio)

    @property
    def is_known(self) -> bool:
        """True if both speeds were measured."""
        return self.read > 0 and self.write > 0

    def model_seconds(self, usage: Usage) -> float:
        """Seconds of reading and writing."""
        return _read_of(usage) / self.read + usage.output / self.write

    def seconds(self, tokens: int) -> float:
        """Predict the seconds of an errand whose text has so many tokens; 0.0 while nothing is known."""
        if not self.is_known:
            return 0.0
        return (tokens + self.other_read) / self.read + self.written / self.write + self.beside_s

    def tell(self, tokens: int) -> str:
        """`window 32,768; reads 410, writes 22 tokens/s; this errand: about 35 s`, in words for a model."""
        if not self.is_known:
            return f"window {self.window:,}; speed not measured yet" if self.window else "not measured yet"
        window = f"window {self.window:,}; " if self.window else ""
        what = "this errand" if tokens else f"an errand of {_LONG:,} tokens"
        words = f"{window}reads {self.read:.0f}, writes {self.write:.0f} tokens/s; {what}: about "
        words += time_text(self.seconds(tokens or _LONG))
        return words + (f" (so far {self.ratio:.1f} times the predicted time)" if self.ratio else "")


def tell_bill(pace: Pace, errand: Delegated) -> str:
    """Tell the giver an errand's cost against the prediction, with one suggestion for the next."""
    expected = f", not about {time_text(errand.expected_s)}" if errand.expected_s else ""
    took = f"Took {time_text(errand.seconds)}{expected}: {_read_of(errand.usage):,} tokens read, "
    took += f"{errand.usage.output:,} written."
    return " ".join(filter(None, (took, _suggest(pace, errand))))


def _suggest(pace: Pace, errand: Delegated) -> str:
    """One thing by which the next errand is cheaper or surer; "" for none."""
    if not errand.ok:
        return "Give it a smaller part, or say more exactly what to change."
    if pace.is_known and errand.seconds > 0:
        text_s, reply_s = errand.tokens / pace.read, errand.usage.output / pace.write
        fewer = errand.tokens // 2 // _STEP * _STEP or errand.tokens // 2
        if errand.tokens >= _LONG and text_s >= max(_MUCH * errand.seconds, 1.0):
            return f"{fewer:,} fewer tokens of context save about {time_text(fewer / pace.read)}."
        if reply_s >= max(0.5 * errand.seconds, 10.0):
            return f"Ask for less text: 100 tokens take it {time_text(100 / pace.write)}."
    return "" if errand.verified != "nobody" else "With a check its work would be verified."


def _read_of(usage: Usage) -> int:
    return max(0, usage.input - usage.cached)


# All errands, as a part of the profile: do who gives them learn to give smaller ones?


def read_errands(project: Project, scope: ProfileScope) -> Addition:
    """The errands of a folder's sessions, or of all: a line for each pair of giver and worker."""
    found = delegated_since(project.log, scope.since, "" if scope.everywhere else str(project.root))
    errands = [each for each in found if scope.model in each.to or scope.model in each.by]
    pairs = sorted({(each.by, each.to) for each in errands})
    sums = [_sum_up([each for each in errands if (each.by, each.to) == pair]) for pair in pairs]
    return Addition({"errands": sums}, "errands", [_line(each) for each in sums])


def _sum_up(errands: Sequence[Delegated]) -> dict[str, object]:
    """Sum up one pair's errands as plain data; `tokens_before`: earlier half, `tokens`: later half."""
    half = len(errands) // 2
    earlier, later = errands[:half], errands[half:]
    ratios = [each.seconds / each.expected_s for each in errands if each.expected_s > 0]
    return {
        "by": errands[0].by,
        "to": errands[0].to,
        "errands": len(errands),
        "done": sum(each.ok for each in errands),
        "verified": sum(each.ok and each.verified not in ("", "nobody") for each in errands),
        "tokens_before": median([each.tokens for each in earlier]) if earlier else None,
        "tokens": median([each.tokens for each in later]),
        "seconds": round(median([each.seconds for each in errands]), 1),
        "ratio": round(median(ratios), 2) if ratios else None,
    }


def _line(shown: dict[str, object]) -> str:
    """`  claude -> qwen3:8b: 12 errands, 10 done (8 verified), 35 s; text 2,400 -> 900 tokens`."""
    words = f"  {shown['by']} -> {shown['to']}: {shown['errands']} errands, {shown['done']} done "
    words += f"({shown['verified']} verified), {shown['seconds']:.0f} s"
    before = "" if shown["tokens_before"] is None else f"{shown['tokens_before']:,.0f} -> "
    return f"{words}; text {before}{shown['tokens']:,.0f} tokens"


PART: Final = ProfilePart(read_errands)
