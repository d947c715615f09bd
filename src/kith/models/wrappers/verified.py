"""A model whose every answer is held against what it was sent: nothing is cut off silently."""

from collections.abc import Iterable

from msgspec import field
from msgspec.structs import replace

from kith.core.errors import EXIT_LIMIT, ModelError
from kith.core.events import Notice
from kith.core.model import Emit, Model, Prompt, Tab, Wrapped
from kith.core.values import Charge, Reply, Sampling, say
from kith.models.wrappers.counter import SEAM, Counter, least_said, reply_room

_SMALLEST_WINDOW = 1024


class TruncatedError(ModelError):
    """The server read less than it was sent, and answered all the same; its answer is not used.

    `read` and `sent` are tokens. `window`: what the server seems to run, 0 where that cannot be told.
    """

    def __init__(self, text: str, read: int, sent: int, window: int) -> None:
        super().__init__(text, window=window)
        self.code = EXIT_LIMIT
        self.read = read
        self.sent = sent


class Verified(Wrapped, frozen=True, eq=False):
    """`model`, with prompts checked against its window before and after each call.

    The server must report at least as many prompt tokens as `counter` knows of. It knows the server's own
    count, the report for an earlier part of the same prompt, or the fewest tokens of any tokenizer. With
    `recounts`, a server without its own count is asked again, part by part, where these leave a doubt.
    `trusts`: this server refuses prompts that are too long. It may count less for a prompt that grew,
    since it drops old thoughts.
    """

    counter: Counter
    recounts: bool = False
    trusts: bool = False
    _told: set[str] = field(default_factory=set)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises ModelError (overflow) before a call, and TruncatedError after one."""
        tokens, window = await self.counter.count(prompt), self.counter.window
        room = reply_room(prompt, window)
        if window and tokens + room > window:
            raise _too_long(tokens, room, window)
        with Tab() as tab:
            try:
                reply = await tab.ask(self.model, prompt, emit)
            except ModelError as error:
                if error.overflow:
                    self.counter.take_refusal(prompt, error)
                raise
            read = reply.usage.input
            if self.counter.is_no_count(prompt, read):
                self._tell_blind(emit)
            elif not self.trusts and read < await self._least(prompt, read, tab):
                raise self._truncated(prompt, read)
            else:
                self.counter.learn(prompt, read)
            return replace(reply, bill=tab.bill)

    async def _least(self, prompt: Prompt, read: int, tab: Tab) -> int:
        """The fewest tokens that the server must have read."""
        fewest = self.counter.fewest(prompt)
        if read < fewest or not self.counter.doubts(prompt, read):
            return fewest
        known, tokens = self.counter.known_part(prompt)
        counted = await self.counter.ask(prompt)
        if counted is None and self.recounts:
            counted = await recount(self.model, prompt, known, tokens, tab)
        if counted is None:
            return fewest
        if read >= counted - SEAM:
            self.counter.acquit(prompt, read)
        return max(fewest, counted - SEAM)

    def _tell_blind(self, emit: Emit) -> None:
        if not self._told:
            self._told.add("blind")
            words = "does not report prompt tokens: kith cannot detect a truncated prompt."
            emit(Notice(f"{self.name} {words}", "warning"))

    def _truncated(self, prompt: Prompt, read: int) -> TruncatedError:
        """The error, with the server's real window as far as it shows; from now on kith keeps within it."""
        believed = self.counter.window
        sent = max(self.counter.estimate(prompt), self.counter.fewest(prompt))
        window = _window_behind(read, sent, believed)
        wanted = _next_window(sent + reply_room(prompt, believed or sent))
        self.counter.keep_within(window or read)
        words = _sentence(read, sent, window, believed) + _remedy(self.name, wanted, self.counter.window)
        return TruncatedError(words, read, sent, window)


def _too_long(tokens: int, room: int, window: int) -> ModelError:
    return ModelError(
        f"The prompt ({tokens:,} tokens, and {room:,} for the reply) does not fit the "
        f"model's window ({window:,} tokens); start the model with a larger window, or "
        "give it less to read",
        overflow=True,
        tokens=tokens,
        window=window,
    )


def _window_behind(read: int, sent: int, believed: int) -> int:
    """The window that a server cut a prompt for, or 0: it is above `read`, and not above `sent`.

    Ollama leaves half of it and two tokens, or else whole messages; most windows are powers of two.
    """
    halved = 2 * read - 4
    window = halved if halved % 256 == 0 and halved <= sent else _next_window(read + 1)
    return window if window <= sent and (window < believed or not believed) else 0


def _next_window(tokens: int) -> int:
    window = _SMALLEST_WINDOW
    while window < tokens:
        window *= 2
    return window


def _sentence(read: int, sent: int, window: int, believed: int) -> str:
    instead = f" and not {believed:,}" if believed else ""
    who = f"The server, whose window seems to be {window:,} tokens{instead}," if window else "The server"
    return f"{who} read {read:,} of about {sent:,} tokens: it truncated the prompt, so the answer is not used"


def _remedy(name: str, wanted: int, window: int) -> str:
    """Suggest a remedy, in the terms of the server in question."""
    known = {
        "ollama": "update Ollama (newer ones refuse instead)",  # kith asks for the window itself
        "llama-server": f"start llama-server with -c {wanted}",
    }
    larger = known.get(name.partition("/")[0], f"load the model with a window of {wanted} tokens")
    return f"; {larger}, or set `window = {window}` in kith's configuration, so that kith keeps within it"


# --- counting a prompt by sending it in parts ----------------------------------------------------


_NOTHING = "."
_CHARS_PER_TOKEN = 2  # at most so few: a part certainly fits where the whole, or what was left of it, did


async def recount(model: Model, prompt: Prompt, skip: int, tokens: int, tab: Tab) -> int:
    """Return a lower bound of a prompt's tokens; the first `skip` messages have `tokens`.

    Every part is a request of its own for one token, small enough not to be cut. That is slow, so it is
    only for a count in doubt. Each goes on the tab. Template text around a message is not counted. Raises
    ModelError.
    """

    async def size(part: Prompt) -> int:
        asked = replace(part, sampling=Sampling(max_tokens=1, think=prompt.sampling.think), purpose="count")
        reply = await model(asked, lambda event: None)
        tab.add(Charge(reply.model, "count", reply.usage, reply.usage.new, reply.timing, reply.stop))
        return reply.usage.input

    nothing = (say(_NOTHING),)
    around = await size(Prompt("", nothing))
    counted = tokens or await size(Prompt(prompt.system, nothing, prompt.tools))
    text = "\n".join(least_said(message) for message in prompt.messages[skip:])
    for part in _parts(text, max(512, counted // 2) * _CHARS_PER_TOKEN):
        counted += await size(Prompt("", (say(part),))) - around
    return counted


def _parts(text: str, chars: int) -> Iterable[str]:
    return (text[start : start + chars] for start in range(0, len(text), chars))
