"""Count the tokens of a prompt: estimated, and corrected by what the server reports."""

import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from copy import copy

from kith.context.budget import estimate_tokens, fewest_tokens, picture_tokens
from kith.core.errors import ModelError
from kith.core.model import Prompt, Tool
from kith.core.values import Message, Thinking
from kith.models.providers.messages import tool_rows

Exact = Callable[[Prompt], Awaitable[int | None]]

LARGEST_REPLY = 4096  # tokens kept free for a reply that names no length
_KEPT = 16  # counts that are remembered
_MEASURED = 4096  # messages whose size is remembered
_ENOUGH = 200  # estimated tokens, before a ratio says anything
_RECENT = 20_000  # estimated tokens; older ones count half
_LOWEST, _HIGHEST = 0.25, 2.0  # ratios
_AROUND_MESSAGE, _AROUND_CALL = 6, 12  # tokens of a template's marks
# What a template may take back from one call to the next: a few marks at the end, and the empty thoughts
# (`<think></think>`) in front of former replies, or the thoughts themselves, once somebody speaks.
SEAM, _EMPTY_THOUGHT = 16, 8
# A count this much below (or a window this much above) what was expected may be due to the text, or to a cut.
_DOUBTFUL, _UNSURE, _ABOVE = 0.8, 0.6, 1.15
_LEAST_CUT = 256  # tokens; half of the smallest window in use
_WINDOWS = tuple(1 << power for power in range(10, 21))  # the usual ones, in tokens


class Counter:
    """The prompts of one model in tokens, and the window that they have to fit; each wrapper has its own.

    `window` is what the server really runs (0: unknown), and is set again when it turns out otherwise.
    `exact` is the server's own count, if it has one. `ratio`: tokens reported for each one that
    `estimate_tokens` says, where it is known from earlier (else 0). `thinking`: former thinking is sent back.
    """

    def __init__(
        self, window: int = 0, exact: Exact | None = None, ratio: float = 0.0, thinking: bool = False
    ) -> None:
        self.window = window
        self.thinking = thinking
        self._exact = exact
        self._first_ratio = ratio
        self._estimated, self._reported = 0.0, 0.0
        self._lowest = _HIGHEST  # the lowest ratio of a text that was doubted, and proved to be read whole
        self._known: deque[tuple[Prompt, int]] = deque(maxlen=_KEPT)
        self._sizes: dict[int, tuple[Message, int, int]] = {}

    @property
    def ratio(self) -> float:
        """Tokens reported for each estimated one, of late."""
        ratio = self._reported / self._estimated if self._learned else self._first_ratio or 1.0
        return min(max(ratio, _LOWEST), _HIGHEST)

    @property
    def learned_ratio(self) -> float:
        """The ratio as this process found it to be; 0.0 before it has seen enough."""
        return self.ratio if self._learned else 0.0

    def estimate(self, prompt: Prompt) -> int:
        """A prompt's tokens: what is known of its beginning, and an estimate of the rest."""
        former, tokens = self._former(prompt)
        return tokens + self._scaled(self._raw(prompt, former))

    def weigh(self, messages: Iterable[Message]) -> int:
        """The tokens of messages alone, estimated."""
        return self._scaled(sum(self._measure(message)[0] for message in messages))

    def fewest(self, prompt: Prompt) -> int:
        """The smallest number that a server which read the whole prompt can report.

        A prompt that goes on where a known one ended has that one's tokens, and some for what was added.
        """
        tools = sum(fewest_tokens(_least_words(tool)) for tool in prompt.tools)
        fewest = fewest_tokens(prompt.system) + tools + self._fewest(prompt.messages)
        for former, tokens in self._known:
            if _goes_on(prompt, former):
                added = prompt.messages[len(former.messages) :]
                fewest = max(fewest, tokens + self._fewest(added) - self._slack(former, added))
        return fewest

    async def count(self, prompt: Prompt) -> int:
        """A prompt's tokens; where it matters (nothing is known yet, or half of the window is full), exactly.

        Servers that cannot count, or fail to, leave it at the estimate.
        """
        estimate = self.estimate(prompt)
        if self._known and estimate * 2 <= (self.window or 2 * estimate):
            return estimate
        return await self.ask(prompt) or estimate

    async def ask(self, prompt: Prompt) -> int | None:
        """The server's own count, if it has one."""
        known = next((tokens for former, tokens in self._known if former == prompt), None)
        if known is not None or self._exact is None:
            return known
        try:
            exact = await self._exact(prompt)
        except ModelError:
            return None
        if exact is None:
            self._exact = None
        else:
            self.learn(prompt, exact)
        return exact

    def is_no_count(self, prompt: Prompt, reported: int) -> bool:
        """True if a server with this report does not count: no cut leaves less than half a small window."""
        return reported < _LEAST_CUT and self.fewest(prompt) > reported

    def doubts(self, prompt: Prompt, reported: int) -> bool:
        """True if a count may be too low.

        It is doubted when the text has far fewer tokens than earlier texts, or when a usual window size
        lies just above it. It is also doubted when Ollama would leave as much of such a prompt (a half
        and two).
        """
        former, tokens = self._former(prompt)
        if _shows(prompt, former):
            return False
        raw = self._raw(prompt, former)
        if former is None and len(prompt.messages) == 1 and 2 * reported - 4 in _WINDOWS:
            return True
        if former is None and not self._learned and not self._first_ratio:
            return reported < _UNSURE * raw
        low = min(_DOUBTFUL * self.ratio, self._lowest) * raw
        most = tokens + _ABOVE * self.ratio * raw
        windows = [window for window in _WINDOWS if not self.window or window < self.window]
        return reported - tokens + SEAM < low or any(reported < window <= most for window in windows)

    def acquit(self, prompt: Prompt, reported: int) -> None:
        """Note that a doubtful count was right, so that the same kind of text is not doubted again."""
        former, tokens = self._former(prompt)
        raw = self._raw(prompt, former)
        if raw >= _ENOUGH:
            self._lowest = min(self._lowest, 0.95 * (reported - tokens) / raw)

    def known_part(self, prompt: Prompt) -> tuple[int, int]:
        """Return the number of messages that were read already, and their tokens."""
        former, tokens = self._former(prompt)
        return (len(former.messages), tokens) if former else (0, 0)

    def learn(self, prompt: Prompt, reported: int) -> None:
        """Note what a server said of a prompt that it read whole."""
        former, tokens = self._former(prompt)
        raw = self._raw(prompt, former)
        # What a picture takes differs between models by ten times, and says nothing of texts.
        if raw > 0 and reported > tokens and not _shows(prompt, former):
            self._estimated += raw
            self._reported += reported - tokens
        if self._estimated > _RECENT:
            self._estimated, self._reported = self._estimated / 2, self._reported / 2
        self._known.append((prompt, reported))

    def keep_within(self, window: int) -> None:
        """Take this for what the server really runs."""
        self.window = window

    def copy(self) -> "Counter":
        """A counter that knows as much, and learns by itself from now on."""
        twin = copy(self)
        twin._known, twin._sizes = self._known.copy(), self._sizes.copy()
        return twin

    def take_refusal(self, prompt: Prompt, error: ModelError) -> None:
        """Note how large a server says that the prompt and its window are, where it refused the prompt."""
        if error.window:
            self.keep_within(error.window)
        if error.tokens:
            self.correct(prompt, error.tokens)

    def correct(self, prompt: Prompt, tokens: int) -> None:
        """Note how many tokens a prompt has, where the ratio was wrong."""
        self._estimated, self._reported = float(max(self._raw(prompt, None), _ENOUGH)), float(tokens)

    @property
    def _learned(self) -> bool:
        return self._estimated >= _ENOUGH

    def _former(self, prompt: Prompt) -> tuple[Prompt | None, int]:
        known = [each for each in self._known if _goes_on(prompt, each[0])]
        return max(reversed(known), key=lambda each: len(each[0].messages)) if known else (None, 0)

    def _scaled(self, raw: int) -> int:
        return round(raw * self.ratio)

    def _raw(self, prompt: Prompt, former: Prompt | None) -> int:
        """The uncorrected estimate of a prompt, or of what it adds to a former one."""
        if former is not None:
            return sum(self._measure(message)[0] for message in prompt.messages[len(former.messages) :])
        tools = estimate_tokens(json.dumps(tool_rows(prompt.tools))) if prompt.tools else 0
        system = estimate_tokens(prompt.system) + _AROUND_MESSAGE if prompt.system else 0
        return system + tools + sum(self._measure(message)[0] for message in prompt.messages)

    def _fewest(self, messages: Iterable[Message]) -> int:
        return sum(self._measure(message)[1] for message in messages)

    def _slack(self, former: Prompt, added: tuple[Message, ...]) -> int:
        """Tokens of a former prompt that may honestly be gone, now that these messages follow it."""
        if not any(message.role == "user" for message in added):
            return SEAM
        replies = [message for message in former.messages if message.role == "assistant"]
        thoughts = [part.text for each in replies for part in each.parts if isinstance(part, Thinking)]
        return SEAM + _EMPTY_THOUGHT * len(replies) + self.thinking * sum(map(estimate_tokens, thoughts))

    def _measure(self, message: Message) -> tuple[int, int]:
        """The cautious and the least size of one message; messages never change, so each is measured once."""
        kept = self._sizes.get(id(message))
        if kept is not None and kept[0] is message:  # an id may be used again
            return kept[1:]
        if len(self._sizes) >= _MEASURED:
            self._sizes.clear()
        most, least = _most(message, self.thinking), fewest_tokens(least_said(message))
        self._sizes[id(message)] = (message, most, least)
        return most, least


def reply_room(prompt: Prompt, window: int) -> int:
    """Tokens kept free for the reply: the most it may have, or a quarter of the window up to 4,096.

    Never more than half of the window.
    """
    wanted = prompt.sampling.max_tokens or min(LARGEST_REPLY, window // 4)
    return min(wanted, window // 2)


def _goes_on(prompt: Prompt, former: Prompt) -> bool:
    """True if a prompt begins with all of a former one."""
    size = len(former.messages)
    return (
        prompt.messages[:size] == former.messages
        and prompt.system == former.system
        and prompt.tools == former.tools
    )


def _shows(prompt: Prompt, former: Prompt | None) -> bool:
    """True if a prompt has pictures which a former one did not have."""
    return any(message.images for message in prompt.messages[len(former.messages) if former else 0 :])


def _most(message: Message, thinking: bool) -> int:
    thoughts = [part.text for part in message.parts if isinstance(part, Thinking)] if thinking else []
    calls = [f"{call.name} {json.dumps(dict(call.args), default=str)}" for call in message.calls]
    texts = [message.text, *thoughts, *calls, *(result.text for result in message.results)]
    shown = sum(map(picture_tokens, message.images))
    return _AROUND_MESSAGE + _AROUND_CALL * len(calls) + sum(map(estimate_tokens, texts)) + shown


def least_said(message: Message) -> str:
    """Return the text that every template shows of a message: some write arguments without quotes."""
    values = [value for call in message.calls for value in call.args.values() if isinstance(value, str)]
    return "\n".join([message.text, *values, *(result.text for result in message.results)])


def _least_words(tool: Tool) -> str:
    """Return the text that every template shows of a tool; the rest of a schema differs widely."""
    return " ".join([tool.description, *tool.schema.get("properties", {})])
