"""Judge the use of a server's prompt cache by call: tokens read, needed, and the cause of a miss."""

import json
from bisect import bisect
from collections import deque
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import takewhile
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.model import Prompt
from kith.core.values import CacheUse, Message, Reply, Thinking, Timing, Usage
from kith.models.providers.messages import tool_rows

REMEMBERED = 64  # calls of one server
LOADED_S = 0.5  # a shorter load is only a look at what is loaded
_HEAD = 3  # every chain begins with the model, the system text and the tools
# The last token written was never read, and where a reply meets the template two tokens may become one.
_SEAM = 2
# Bytes tell only roughly how many tokens the beginning of a prompt has: code has a third more than prose.
_CAUTION = 2 / 3
_GOOD = 0.9  # efficiency from which on nothing needs a cause
_TRIFLE, _TRIFLE_ESTIMATED = 64, 512  # tokens read again that are not worth a word
_ENOUGH_TO_RATE = 256  # tokens

_WORDS: Final = {
    "model": "Prompt cache miss after another model answered: {tokens} tokens processed again. "
    "One model for all roles avoids this.",
    "system": "The system prompt changed: {tokens} tokens processed again.",
    "tools": "The list of tools changed: {tokens} tokens processed again.",
    "message": "The prompt changed at {cause}: {tokens} tokens processed again.",
    "reloaded": "The server loaded the model again: {tokens} tokens processed again.",
    "recounted": "kith had the prompt's tokens counted in parts: {tokens} tokens processed again.",
    "expired": "Prompt cache miss: {tokens} tokens processed again, at the full price.",
    "evicted": "Prompt cache miss: {tokens} tokens processed again. Is another program using this server? "
    "(llama-server: --cache-ram)",
}
# Where the server does not count cached tokens, kith says what it did itself, and what the server reported.
_UNCOUNTED: Final = {
    "system": "The system prompt changed: the server may process the prompt again.",
    "tools": "The list of tools changed: the server may process the prompt again.",
    "message": "The prompt changed at {cause}: the server may process it again from there.",
    "reloaded": "The server spent {load_s:.1f} s loading; it may have lost its prompt cache.",
}
_LOAD_TOLD_S = 2.0  # a busy server takes a while to see that its model is loaded


class Link(Struct, frozen=True):
    """One part of a prompt: its digest, that of everything up to its end, and where it ends in bytes."""

    name: str  # as a cause: model, system, tools, message N (role)
    own: bytes
    upto: bytes
    end: int


Chain = tuple[Link, ...]


class Sent(Struct, frozen=True):
    """One answered call, in digests and counts. `reply`: the digest its message has in a later prompt."""

    thread: str
    chain: Chain
    reply: bytes
    usage: Usage
    timing: Timing = Timing()
    window: int = 0
    cache_told: bool = True

    @property
    def model(self) -> bytes:
        return self.chain[0].own


class CacheMeter(Struct):
    """The recent prompts of one server, from any model: only digests, of the last few calls.

    `counts_cache`: the server reports cached tokens; this is also detected. `read_rate` (tokens/s) is its
    known reading speed, learned from calls that had to load the model. `least_cached`: tokens of the
    shortest prefix that the server caches; only clouds have one.
    """

    counts_cache: bool = False
    read_rate: float = 0.0
    least_cached: int = 0
    _recounted: bool = False
    _sent: deque[Sent] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    _told: set[str] = field(default_factory=set)
    _chained: "tuple[str, Prompt, Chain] | None" = None

    def expect(self, model: str, prompt: Prompt, tokens: int) -> int:
        """Estimate how many of a prompt's `tokens` are in the server's cache."""
        now = Sent(prompt.thread, self._links(model, prompt), b"", Usage(tokens))
        nearest = _nearest(now, self._sent)
        if nearest is None:
            return 0
        same = _shared(nearest.chain, now.chain)
        if same == len(nearest.chain):
            return min(tokens, round(spared(nearest, now)))
        return round(nearest.usage.input * nearest.chain[same - 1].end / nearest.chain[-1].end) if same else 0

    def take(
        self, prompt: Prompt, reply: Reply, window: int = 0, *, recounted: bool = False
    ) -> CacheUse | None:
        """Note one answered call. None when nobody can say how much of the prompt was computed.

        `recounted`: after it, kith itself asked for something else, to have the prompt counted.
        """
        now = sent(prompt, reply, window, self._links(reply.model, prompt))
        evaluated = self._evaluated(now)
        kept = tuple(each for each in self._sent if each.usage.input >= self.least_cached)
        use = None if evaluated is None else judge(now, kept, evaluated, not self.counts_cache)
        self._sent.append(now)
        if use and use.cause == "evicted" and self._recounted:
            use = replace(use, cause="recounted")
        self._recounted = recounted
        return use

    def tell(self, use: CacheUse | None, load_s: float = 0.0) -> str:
        """A sentence for the person, once for each kind of cause; "" when there is nothing to say."""
        kind = use.cause.partition(" ")[0] if use else ""
        if use is None or not kind or kind in self._told:
            return ""
        if use.estimated and kind == "reloaded" and load_s < _LOAD_TOLD_S:
            return ""
        self._told.add(kind)
        kind = "expired" if kind == "evicted" and self.least_cached else kind
        words = (_UNCOUNTED if use.estimated else _WORDS)[kind]
        return words.format(cause=use.cause, tokens=f"{use.evaluated - use.unavoidable:,}", load_s=load_s)

    def _links(self, model: str, prompt: Prompt) -> Chain:
        """The prompt's chain, made once for what is asked before a call and after it."""
        if self._chained is None or self._chained[0] != model or self._chained[1] is not prompt:
            known = self._chained[1:] if self._chained and self._chained[0] == model else None
            self._chained = model, prompt, self._sharing(prompt.thread, links(model, prompt, known))
        return self._chained[2]

    def _sharing(self, thread: str, chain: Chain) -> Chain:
        """The chain, with the links of the call before it where they are the same: a thread mostly grows."""
        former = next((each.chain for each in reversed(self._sent) if each.thread == thread), ())
        same = _shared(former, chain)
        return former[:same] + chain[same:]

    def _evaluated(self, now: Sent) -> int | None:
        """Prompt tokens that were computed: counted, or told by the reading time, or None."""
        usage, seconds = now.usage, now.timing.prefill_s
        self.counts_cache = self.counts_cache or usage.cached > 0
        if usage.input and self.counts_cache and now.cache_told:
            return usage.new
        if now.timing.load_s > LOADED_S and seconds and usage.input >= _ENOUGH_TO_RATE:
            self.read_rate = usage.input / seconds
        return min(usage.input, round(seconds * self.read_rate)) or None


# --- what was sent ---------------------------------------------------------------------------


def sent(prompt: Prompt, reply: Reply, window: int = 0, chain: Chain = ()) -> Sent:
    """One call as it is remembered; `chain` is the prompt's, where it was made already."""
    answer = _digest(_as_sent(reply.message))
    chain = chain or links(reply.model, prompt)
    return Sent(prompt.thread, chain, answer, _countable(reply), reply.timing, window, reply.cache_told)


def links(model: str, prompt: Prompt, known: tuple[Prompt, Chain] | None = None) -> Chain:
    """A prompt as a hash chain, in the order in which templates render it.

    `known`: another prompt to the same model with its chain. What it begins with is not read again.
    """
    chain = _common(prompt, *known) if known else []
    parts = [("model", model), ("system", prompt.system)][len(chain) :]
    if len(chain) < _HEAD:
        parts.append(("tools", _dump(tool_rows(prompt.tools))))
    parts += [
        (f"message {number} ({message.role})", _as_sent(message))
        for number, message in enumerate(prompt.messages, 1)
        if number > len(chain) - _HEAD
    ]
    upto, end = (chain[-1].upto, chain[-1].end) if chain else (b"", 0)
    for name, text in parts:
        own = _digest(text)
        upto, end = _digest(upto + own), end + len(text)
        chain.append(Link(name, own, upto, end))
    return tuple(chain)


def _common(prompt: Prompt, other: Prompt, chain: Chain) -> list[Link]:
    """The links of the same system text, tools and messages; a message never changes."""
    if prompt.system != other.system or prompt.tools is not other.tools:
        return []
    pairs = zip(prompt.messages, other.messages, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
    return [*chain[: _HEAD + same]]


def _as_sent(message: Message) -> str:
    """Everything of a message that a server may get to see."""
    thoughts = [part.text for part in message.parts if isinstance(part, Thinking)]
    calls = [[call.id, call.name, dict(call.args)] for call in message.calls]
    results = [[result.call_id, result.text] for result in message.results]
    return _dump([message.role, message.text, thoughts, calls, results])


def _countable(reply: Reply) -> Usage:
    """The reply's counts, without the tokens that cannot come back: templates leave thinking out."""
    thought = any(isinstance(part, Thinking) for part in reply.message.parts)
    return Usage(reply.usage.input, 0 if thought else reply.usage.output, reply.usage.cached)


def _dump(value: object) -> str:
    return json.dumps(value, default=str, separators=(",", ":"))


def _digest(content: str | bytes) -> bytes:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return blake2b(data, digest_size=12).digest()


# --- what it means ---------------------------------------------------------------------------


def judge(now: Sent, before: Sequence[Sent], evaluated: int, estimated: bool = False) -> CacheUse:
    """Judge a call's use of the cache, given the calls `before` it on the same server, oldest first.

    Unavoidable tokens are those that no earlier call had. In a grown prompt that is the tail. In the
    first of a thread, or after compaction, it is all but the shared beginning. A lost cache is only named
    where the server counts: an `evaluated` that was `estimated` from its time may just be slow.
    """
    former = next((each for each in reversed(before) if each.thread == now.thread), None)
    changed = changed_link(former, now) if former else ""
    nearest = _nearest(now, before)
    if former and changed:
        least = _new_share(former, now) * now.usage.input + _SEAM
    else:
        least = now.usage.input - (spared(nearest, now) if nearest else 0.0)
    use = CacheUse(evaluated, min(evaluated, max(1, round(least))), estimated=estimated)
    wasted = evaluated - use.unavoidable
    trifle = max(_TRIFLE_ESTIMATED, now.usage.input // 4) if estimated else _TRIFLE
    if use.efficiency >= _GOOD or wasted <= trifle or nearest is None:
        return use
    cause = _cause(now, former if former and changed else nearest, before, changed)
    if estimated and cause.partition(" ")[0] not in _UNCOUNTED:
        return use  # only time says that anything is lost, and the machine may be busy
    return CacheUse(evaluated, use.unavoidable, cause, estimated)


def spared(former: Sent, now: Sent) -> float:
    """The tokens that need not be read because `former` was; cautious where only a part of it agrees."""
    same = _shared(former.chain, now.chain)
    if same < len(former.chain):
        share = former.chain[same - 1].end / former.chain[-1].end if same else 0.0
        return _CAUTION * share * former.usage.input
    answered = former.usage.output if _goes_on(former, now) else 0
    return max(0, former.usage.input + answered - _SEAM)


def _nearest(now: Sent, before: Sequence[Sent]) -> Sent | None:
    """The call that spares most: its prompt is the beginning of this one, or at least begins like it."""

    def closeness(each: Sent) -> tuple[bool, float, int]:
        same = _shared(each.chain, now.chain)
        whole = same == len(each.chain)
        # Of a short prompt the head is a larger part, and its tokens are better known.
        return (True, spared(each, now), 0) if whole else (False, same, -each.usage.input)

    return max(reversed(before), key=closeness, default=None)


def changed_link(former: Sent, now: Sent) -> str:
    """Find the first link of a thread that changed; "" for growth and new beginnings.

    If nothing after the difference comes again, the prompt is another branch or conversation. If it became
    shorter with the same head, it was compacted.
    """
    same = _shared(former.chain, now.chain)
    if same in (len(former.chain), len(now.chain)):
        return ""
    if same >= _HEAD and _is_shortened(former, now):
        return ""
    start = max(same, _HEAD)
    gone = {link.own for link in former.chain[start:]}
    again = any(link.own in gone for link in now.chain[start:]) or _goes_on(former, now)
    return now.chain[same].name if again else ""


def _is_shortened(former: Sent, now: Sent) -> bool:
    """True if a prompt has fewer messages than before, or more in fewer tokens: it was compacted."""
    more = len(now.chain) - len(former.chain)
    return more < 0 or (more > 0 and now.usage.input < former.usage.input)


def _goes_on(former: Sent, now: Sent) -> bool:
    """True if the former reply is in its place in the prompt."""
    place = len(former.chain)
    return place < len(now.chain) and now.chain[place].own == former.reply


def _new_share(former: Sent, now: Sent) -> float:
    """The share of messages that the former prompt did not have, beside the one that changed."""
    known = {link.own for link in former.chain} | {former.reply}
    start = max(_shared(former.chain, now.chain) + 1, _HEAD)
    fresh = sum(
        link.end - now.chain[place - 1].end
        for place, link in enumerate(now.chain)
        if place >= start and link.own not in known
    )
    return fresh / now.chain[-1].end


def _shared(one: Chain, two: Chain) -> int:
    """Count the links that two chains share at the start."""
    # A digest covers all before it: once two differ, all after them do.
    places = range(min(len(one), len(two)))
    return bisect(places, False, key=lambda place: one[place].upto != two[place].upto)


def _cause(now: Sent, source: Sent, before: Sequence[Sent], changed: str) -> str:
    """Return the reason why tokens were read again that `source` had read."""
    others = any(each.model != now.model for each in _since(source, before))
    if now.timing.load_s > LOADED_S or (now.window and source.window and now.window != source.window):
        return "model" if others else "reloaded"
    if changed or others:
        return changed or "model"
    was_there = now.usage.cached >= source.usage.input - _TRIFLE
    if was_there and _goes_on(source, now):  # the template writes it otherwise than the model did
        return now.chain[len(source.chain)].name
    return "evicted"


def _since(source: Sent, before: Sequence[Sent]) -> Iterable[Sent]:
    return before[next(place for place, each in enumerate(before) if each is source) :]
