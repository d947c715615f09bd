"""A model whose prompts always fit: the thread keeps the truth, the model sees a view of it."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce

from msgspec import Struct, field
from msgspec.structs import replace

from kith.context.budget import ASSUMED_WINDOW
from kith.context.compact import View, ask_for_summary, joints, opening, show, summarise
from kith.core.errors import ModelError
from kith.core.events import Compacted, Delta, Event, Notice
from kith.core.model import Emit, Prompt, Tab, Wrapped
from kith.core.values import Message, Reply
from kith.models.providers.messages import renew_ids, used_ids
from kith.models.wrappers.counter import Counter, reply_room
from kith.models.wrappers.verified import TruncatedError

AGAIN = 2  # how often a prompt is made shorter still when the server refuses it
# Shares of the window: what a prompt may take; what it may when only old results are left out; what it
# should take after a summary; what newest messages keep their results; what the summary takes.
_MOST, _EASY, _GOAL, _NEWEST, _SUMMARY = 0.75, 0.5, 0.35, 0.2, 0.1
_LEAST_ROOM = 0.1  # beside system, tools, task and summary, for the newest messages
_CHARS_PER_TOKEN = 3
_SUMMARY_REPLY = 2048  # tokens that writing a summary may take, thoughts included
_SHORTEST = 200  # characters; no text is cut further
_LEFT_OUT = "old tool results are left out, "
_LISTED = "the model wrote no summary, so a list of actions replaces it, "
_OTHER_WINDOW = "The server's window is {:,} tokens, not {:,}: kith keeps within it."
_CUT = "To fit, texts of more than {:,} characters are cut in the middle."


class _Sent(Struct, frozen=True):
    """A thread as it was when last sent, and how it was sent."""

    messages: tuple[Message, ...]
    view: View
    sent: tuple[Message, ...]


class _TokenLimits(Struct, frozen=True):
    """Tokens of a prompt: `most` it may have, `easy` when no summary is needed, `goal` after one.

    A `goal` of 0: as few as can be.
    """

    window: int
    most: int
    easy: int
    goal: int


class Fitted(Wrapped, frozen=True, eq=False, dict=True):
    """`model`, with every prompt made to fit `counter.window`, and shortened when the server refuses it.

    At three quarters of the window, old tool results are left out. If that is not enough, the model
    itself summarises the work, as a continuation of the prompt that it has read. Between two such steps,
    prompts only grow. `earlier` are the steps of former processes, by thread: the same view is sent
    again.
    """

    known: Callable[[], Counter]  # what is known of the model when its first prompt comes
    counts: bool = True  # a server is asked, which counts tokens
    earlier: Mapping[str, Sequence[Compacted]] = field(default_factory=dict)
    _threads: dict[str, _Sent] = field(default_factory=dict)

    @cached_property
    def counter(self) -> Counter:
        """The tokens of prompts, as this wrapper learns them."""
        return self.known()

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once, or again with less. Raises ModelError (overflow) when even the least does not fit."""
        with Tab() as tab:
            reply = await self._ask_with_less(prompt, tab, emit)
        # Call ids that are no longer sent may come again, and an answer finds its call by id.
        return replace(reply, message=renew_ids(reply.message, used_ids(prompt.messages)))

    async def _ask_with_less(self, prompt: Prompt, tab: Tab, emit: Emit) -> Reply:
        fitted = self._as_sent(prompt)
        limits = _limits(prompt, self.counter.window)
        if limits.window and await self.counter.count(fitted) > limits.most:
            fitted = await self._compact(prompt, limits, tab, emit)
        for _ in range(AGAIN):
            try:
                return self._learn(fitted, await tab.ask(self.model, fitted, emit))
            except TruncatedError as error:
                self.counter.keep_within(error.window or error.read)
                raise
            except ModelError as error:
                if not error.overflow:
                    raise
                limits = self._limits_after(error, fitted, emit)
                fitted = await self._compact(prompt, limits, tab, emit)
        return self._learn(fitted, await tab.ask(self.model, fitted, emit))

    def _learn(self, prompt: Prompt, reply: Reply) -> Reply:
        """Note how many tokens the prompt had, where a server counts them."""
        read = reply.usage.input
        if self.counts and not self.counter.is_no_count(prompt, read):
            self.counter.learn(prompt, read)
        return reply

    async def sum_up(self, prompt: Prompt, emit: Emit) -> Compacted | None:
        """Sum the thread up now, as far as can be; None where that makes it no shorter. Raises ModelError."""
        self._as_sent(prompt)
        view = self._threads[prompt.thread].view
        limits = replace(_limits(prompt, self.counter.window or ASSUMED_WINDOW), goal=0)
        shorter, _ = await self._sum_up(prompt, view, limits, Tab(), emit)
        if shorter == view:
            return None
        before, after = self._size(prompt, view), self._size(prompt, shorter)
        done = Compacted(prompt.thread, shorter.upto, shorter.summary, before, after)
        emit(done)
        self._keep(prompt, shorter)
        return done

    # --- the view --------------------------------------------------------------------------------

    def _as_sent(self, prompt: Prompt) -> Prompt:
        """The prompt with its thread as it is sent at present."""
        former = self._threads.get(prompt.thread)
        known = len(former.messages) if former else 0
        if former is None:
            sent = self._keep(prompt, reduce(View.after, self._told(prompt), View()))
        elif prompt.messages[:known] == former.messages:
            sent = former.sent + prompt.messages[known:]
            self._threads[prompt.thread] = _Sent(prompt.messages, former.view, sent)
        else:  # another conversation of the same name
            sent = self._keep(prompt, View())
        return replace(prompt, messages=sent)

    def _told(self, prompt: Prompt) -> Sequence[Compacted]:
        told = self.earlier.get(prompt.thread, ()) if prompt.thread else ()
        return [event for event in told if event.upto <= len(prompt.messages)]

    def _keep(self, prompt: Prompt, view: View) -> tuple[Message, ...]:
        sent = show(prompt.messages, view)
        self._threads[prompt.thread] = _Sent(prompt.messages, view, sent)
        return sent

    def _size(self, prompt: Prompt, view: View) -> int:
        return self.counter.estimate(replace(prompt, messages=show(prompt.messages, view)))

    # --- compaction ------------------------------------------------------------------------------

    async def _compact(self, prompt: Prompt, limits: _TokenLimits, tab: Tab, emit: Emit) -> Prompt:
        """The prompt made to fit: by leaving out old results, else by a summary, at last by cutting texts."""
        view = self._threads[prompt.thread].view
        before = self._size(prompt, view)
        shorter, step = replace(view, elided=max(view.elided, self._old(prompt, limits))), _LEFT_OUT
        if self._size(prompt, shorter) > min(before, limits.easy):
            shorter, step = await self._sum_up(prompt, view, limits, tab, emit)
        if self._size(prompt, shorter) > limits.most:
            shorter = self._cut(prompt, shorter, limits)
            emit(Notice(_CUT.format(shorter.chars), "warning"))
        after = self._size(prompt, shorter)
        summary = shorter.summary if shorter.upto > view.upto else ""
        emit(Compacted(prompt.thread, shorter.upto if summary else shorter.elided, summary, before, after))
        emit(Notice(f"Compacted: {before:,} -> {after:,} tokens; {step}the task and open changes are kept."))
        return replace(prompt, messages=self._keep(prompt, shorter))

    def _old(self, prompt: Prompt, limits: _TokenLimits) -> int:
        """Count the old messages: all but the newest, which share a fifth of the window."""
        *older, old = joints(prompt.messages) or (0,)
        for at in reversed(older):
            if self.counter.weigh(prompt.messages[at:]) > limits.window * _NEWEST:
                break
            old = at
        return old

    async def _sum_up(
        self, prompt: Prompt, view: View, limits: _TokenLimits, tab: Tab, emit: Emit
    ) -> tuple[View, str]:
        """The view with a summary of all but the newest messages; as it was where that is no shorter."""
        begin = max(view.upto, opening(prompt.messages))
        places = [at for at in joints(prompt.messages) if at > begin]
        if not places:
            return view, ""
        words = await self._ask(prompt, view, places, limits, tab, emit)

        def size(upto: int) -> int:
            return self._size(prompt, self._with_summary(prompt, view, upto, words, limits))

        least = size(places[-1])
        if least >= self._size(prompt, view):
            return view, ""
        # Beside a long beginning little room is left: the newest messages take half of it, work the rest.
        room = min(int(limits.window * _LEAST_ROOM), (limits.most - least) // 2)
        goal = max(limits.goal, least + room) if limits.goal else least
        # The later the summary ends, the less is left.
        chosen = bisect_left(places[:-1], True, key=lambda upto: size(upto) <= goal)
        return self._with_summary(prompt, view, places[chosen], words, limits), "" if words else _LISTED

    def _with_summary(self, prompt: Prompt, view: View, upto: int, words: str, limits: _TokenLimits) -> View:
        effects = {tool.name: tool.effect for tool in prompt.tools}
        chars = int(limits.window * _SUMMARY) * _CHARS_PER_TOKEN
        summary = summarise(prompt.messages[:upto], effects, words, view.summary, chars)
        return replace(view, upto=upto, summary=summary)

    async def _ask(
        self, prompt: Prompt, view: View, places: Sequence[int], limits: _TokenLimits, tab: Tab, emit: Emit
    ) -> str:
        """The model's own summary of as much as fits, or "": what it has read already is not read again."""
        most = min(_SUMMARY_REPLY, limits.window // 8)
        sampling = replace(prompt.sampling, max_tokens=most)
        for upto in reversed(places):
            messages = ask_for_summary(show(prompt.messages[:upto], view))
            asked = replace(prompt, messages=messages, purpose="summary", sampling=sampling, shape=None)
            if self.counter.estimate(asked) + most <= limits.window:
                break
        else:
            return ""
        try:
            reply = self._learn(asked, await tab.ask(self.model, asked, _without_pieces(emit)))
        except ModelError as error:  # whatever it is, the call that follows meets it too, and is shorter
            if error.overflow:
                self.counter.take_refusal(asked, error)
            return ""
        return reply.message.text.strip() if reply.stop == "end" and not reply.message.calls else ""

    def _cut(self, prompt: Prompt, view: View, limits: _TokenLimits) -> View:
        """The view with all long texts cut, just as far as it takes. Raises ModelError when nothing helps."""
        chars = view.chars or limits.window
        while chars >= _SHORTEST:
            shorter = replace(view, held=len(prompt.messages), chars=chars)
            if self._size(prompt, shorter) <= limits.most:
                return shorter
            chars //= 2
        raise ModelError(
            "The system prompt, tools and task do not fit the model's window "
            f"({limits.window:,} tokens); start the model with a larger window",
            overflow=True,
        )

    def _limits_after(self, error: ModelError, refused: Prompt, emit: Emit) -> _TokenLimits:
        """Return limits for the next try, after a refusal that may tell the real sizes."""
        believed = self.counter.window
        if believed and error.window not in (0, believed):
            emit(Notice(_OTHER_WINDOW.format(error.window, believed), "warning"))
        self.counter.take_refusal(refused, error)
        size = self.counter.estimate(refused)
        return _limits(refused, min(self.counter.window or size, size))


def _without_pieces(emit: Emit) -> Emit:
    """Let nobody see a reply as it comes."""

    def hear(event: Event) -> None:
        if not isinstance(event, Delta):
            emit(event)

    return hear


def _limits(prompt: Prompt, window: int) -> _TokenLimits:
    most = min(int(window * _MOST), window - reply_room(prompt, window))
    return _TokenLimits(window, most, min(int(window * _EASY), most), min(int(window * _GOAL), most))
