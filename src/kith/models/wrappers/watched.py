"""A model that is stopped when it turns in a circle or thinks too long, and asked again in another way."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.context.budget import estimate_tokens
from kith.core.errors import LimitError, ModelError
from kith.core.events import Delta, Event, Notice
from kith.core.model import Emit, Prompt, Tab, Wrapped
from kith.core.values import Message, Reply, Sampling

# Characters of exact repetition. Tables of data repeat too, most of all in the files that a tool writes.
_SPAN: Final[Mapping[str, int]] = {"thinking": 600, "text": 1000, "tool": 2000}
# The same long line, so many times among so many: looser where only prose is written.
_LINES: Final[Mapping[str, tuple[int, int]]] = {"thinking": (10, 40), "text": (30, 60)}
_LONG_LINE = 30  # characters
_TIMES = 4  # a unit stands at least so often
_TAIL = 8000  # characters that are looked at, so a unit has at most a quarter of it
_PROBE, _CANDIDATES = 16, 8
_EVERY = 64  # characters between two looks
# Estimates run up to 1.4 times too high, and a server that keeps the budget itself must get to do so.
_LENIENCE = 1.5
_LIVELY = 0.7  # temperature; llama.cpp's and Ollama's own default is 0.8
_STUCK, _HOPELESS = 2, 5  # exchanges that are the same in a row
_THOUGHT = "The model thought for more than {:,} tokens (think_tokens); asked again without."


class Watched(Wrapped, frozen=True):
    """`model`, cancelled in mid-reply when it turns in a circle or has thought for more than its budget.

    A reply that repeats itself is asked for again with more variety; thinking beyond `Sampling.think_tokens`,
    again without thinking. Each once: what repeats itself then is an error, what thinks then may. A model
    that said the same twice and was answered the same (a call that cannot be run) gets more variety too.
    """

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask, and ask again.

        Raises ModelError for a reply that repeats itself twice, LimitError for five exchanges that are the
        same, and what the model raises.
        """
        budget, livelier = prompt.sampling.think_tokens, False
        same = same_exchanges(prompt.messages)
        if same >= _HOPELESS:
            raise LimitError(f"stopped because {self.name} repeats itself {same} times in a row")
        if same >= _STUCK:
            prompt = replace(prompt, sampling=_livelier(prompt.sampling))
        with Tab() as tab:
            while True:
                ear = _Ear(budget)
                reply = await self._listen(prompt, ear, tab, emit)
                if reply is not None:
                    return reply
                if ear.repeats and livelier:
                    raise ModelError(
                        f"{self.name} was stopped twice because it repeats itself ({ear.repeats!r}); "
                        "another model or a higher temperature may help"
                    )
                if ear.repeats:
                    livelier, prompt = True, replace(prompt, sampling=_livelier(prompt.sampling))
                    emit(Notice(f"The model repeats itself ({ear.repeats!r}); asked again.", "warning"))
                else:
                    budget, words = None, _THOUGHT.format(budget)
                    prompt = replace(prompt, sampling=replace(prompt.sampling, think=False))
                    emit(Notice(words, "warning"))

    async def _listen(self, prompt: Prompt, ear: "_Ear", tab: Tab, emit: Emit) -> Reply | None:
        """The reply, or None when the ear had enough of it and the call was cancelled."""
        now = asyncio.get_running_loop().time

        def listen(event: Event) -> None:
            emit(event)
            if isinstance(event, Delta) and not ear.enough and ear.hear(event):
                patience.reschedule(now())

        try:
            async with asyncio.timeout(None) as patience:
                return await tab.ask(self.model, prompt, listen)
        except TimeoutError:
            if not patience.expired():
                raise
            return None


class _Ear(Struct):
    """Hears one reply as it arrives. `repeats`: a sample of what came again and again."""

    budget: int | None
    repeats: str = ""
    enough: bool = False
    thought: int = 0  # tokens, estimated
    _tails: dict[str, str] = field(default_factory=dict)
    _unheard: dict[str, int] = field(default_factory=dict)

    def hear(self, delta: Delta) -> bool:
        """True when this has gone on for long enough."""
        kind = delta.kind
        tail = self._tails[kind] = (self._tails.get(kind, "") + delta.text)[-_TAIL:]
        new = self._unheard[kind] = self._unheard.get(kind, 0) + len(delta.text)
        if new < _EVERY:
            return False
        self._unheard[kind] = 0
        if kind == "thinking":
            self.thought += estimate_tokens(tail[-new:])
        unit = repeated_end(tail, _SPAN[kind]) or repeated_line(tail, *_LINES.get(kind, (_TAIL, 0)))
        self.repeats = _sample(unit)
        overthought = self.budget is not None and self.thought > self.budget * _LENIENCE
        self.enough = bool(unit) or overthought
        return self.enough


def repeated_end(text: str, span: int) -> str:
    """The unit that the last `span` characters of a text repeat exactly, at least four times; or ""."""
    probe = text[-_PROBE:]
    start = place = len(text) - len(probe)
    for _ in range(_CANDIDATES):
        place = text.rfind(probe, 0, place + len(probe) - 1)
        period = start - place
        most = max(span, _TIMES * period)
        if place < 0 or most > len(text):
            return ""
        if text[-most:-period] == text[-most + period :]:
            return text[-period:]
    return ""


def repeated_line(text: str, times: int, among: int) -> str:
    """A long line, or sentence, that occurs so many times among the last so many; or ""."""
    lines = re.split(r"\n|(?<=[.?!]) ", text)[-among - 1 : -1]  # the last one may still grow
    found = Counter(line.strip() for line in lines if len(line.strip()) >= _LONG_LINE).most_common(1)
    return found[0][0] if found and found[0][1] >= times else ""


def same_exchanges(messages: Sequence[Message]) -> int:
    """Count the last consecutive exchanges with the same message and the same answer."""
    times, last, answers = 0, None, list[object]()
    for message in reversed(messages):
        if message.role != "assistant":
            answers.append((message.text, [result.text for result in message.results]))
            continue
        calls = [(call.name, call.args, call.fault) for call in message.calls]
        exchange = (message.text, calls, answers)
        if last not in (None, exchange):
            break
        times, last, answers = times + 1, exchange, []
    return times


def _sample(unit: str) -> str:
    words = " ".join(unit.split()) or unit[:1]
    return words if len(words) <= 40 else f"{words[:37]}..."


def _livelier(sampling: Sampling) -> Sampling:
    return replace(sampling, temperature=max(_LIVELY, (sampling.temperature or 0.0) + 0.2))
