"""The engine behind the stand-in servers: one model, its slots and their caches, and how well they behave."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kith.features.demo.standin.http import Cut, Request
from kith.features.demo.standin.script import Script, Scripted, play
from kith.features.demo.standin.tokens import OPENING, estimate, render_message, shared_tokens

PREFILL_RATE = 1000.0  # prompt tokens a second, as reported: nothing really takes that long
DECODE_RATE = 50.0  # tokens a second, as reported
SIMILAR = 0.1  # the part of a prompt that a slot must know to be chosen for it


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a stand-in differs from a quick and healthy server. Times in seconds, windows in tokens."""

    model: str = "standin"
    window: int = 8192  # llama-server: of all slots together; Ollama: when a request does not say
    trained: int = 32_768  # the model's own maximum
    ceiling: int = 1 << 30  # Ollama: it never runs more than this, whatever a request says
    slots: int = 1  # llama-server and LM Studio: how many chats at once; the first divides its window
    router: tuple[str, ...] = ()  # llama-server: the models of a router, none loaded yet
    autoload: bool = True  # of a router: a chat loads its model
    unloadable: bool = False  # of a router: every load fails
    capabilities: tuple[str, ...] = ("completion", "tools", "thinking")
    keeps_thinking: bool = True  # llama-server: the template renders former thinking
    heeds_truncate: bool = True  # Ollama: False cuts a long prompt even when it may not, as old versions do
    tells_window: bool = True  # Ollama: False leaves the running window out of /api/ps, as old versions do
    pull_size: int = 4_683_087_332  # Ollama: bytes of a model that is pulled
    pull_error: str = ""  # Ollama: what a pull fails with
    delay_first_byte: float = 0.0  # before anything of a chat's answer is sent
    delay_looks: float = 0.0  # before anything else is answered: lists of models, properties, loads
    pause: float = 0.0  # before each piece of a stream
    ping: float = 0.0  # llama-server: a comment line this often while it reads the prompt; 0 is never
    loading: float = 0.0  # llama-server: 503 for so long after its start; of a router, a model's load
    silent: bool = False  # accept every request, answer none
    chunk: int = 0  # bytes of one HTTP chunk of a chat's stream at most, characters cut or not
    cut_after: int | None = None  # a chat's answer breaks off after so many bytes ...
    cut: Cut = "close"  # ... in this way
    fail_first: tuple[int, Mapping[str, str], Any, int] | None = None  # status, headers, body, how many times
    html: bool = False  # answer everything with a web page
    key: str = ""  # clouds: the only one that is taken; "": anything is
    least_cached: int = 1024  # clouds: tokens of the smallest prefix that is cached
    modes: tuple[str, ...] = ("adaptive", "enabled", "disabled")  # Anthropic: the types of thinking
    binds: bool = False  # Anthropic: a thought is bound to all that came before it


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens and reported seconds of one reply; `prompt` includes `cached`."""

    number: int  # which reply this is
    prompt: int
    cached: int
    output: int
    prefill_s: float
    decode_s: float

    @property
    def new(self) -> int:
        return self.prompt - self.cached


class Engine:
    """A loaded model: chats wait for a slot, and each slot keeps a cache of what it read and wrote last."""

    def __init__(self, script: Script, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self._next_reply = play(script)
        self.runs: tuple[Any, ...] = ()  # what Ollama has loaded: model, window and shift
        self.pulled: dict[str, int] = {}  # bytes that Ollama has of each model it was told to pull
        self.ready_at: dict[str, float] = {}  # when each model of a router has been loaded
        self.prefixes: set[str] = set()  # what Anthropic's cache holds
        self.prompts: list[str] = []  # what Gemini has read
        self.replies = 0
        self.busy: set[int] = set()
        self._caches = [""] * behaviour.slots
        self._order = list(range(behaviour.slots))  # of the slots: the last one used is last
        self._free = asyncio.Semaphore(behaviour.slots)
        self._ready_at = time.monotonic() + behaviour.loading

    @property
    def loading(self) -> bool:
        return not self.behaviour.router and time.monotonic() < self._ready_at

    @asynccontextmanager
    async def slot(self, prompt: str) -> AsyncIterator[int]:
        """A free slot, of several the one that knows most of the prompt, or has not been used for longest.

        Like llama-server, which wants more than a tenth of the prompt to be known.
        """
        async with self._free:
            idle = [number for number in self._order if number not in self.busy]
            known = {number: shared_tokens(self._caches[number], prompt) for number in idle}
            best = max(idle, key=lambda number: known[number])
            chosen = best if known[best] > SIMILAR * estimate(prompt) else idle[0]
            self._order.remove(chosen)
            self._order.append(chosen)
            self.busy.add(chosen)
            try:
                yield chosen
            finally:
                self.busy.discard(chosen)

    def answer(self, request: Request, most: object) -> Scripted:
        """The script's next reply; a request for one token at `most` only warms the cache, and takes none."""
        return Scripted(stop="length") if most in (0, 1) else self._next_reply(request)

    def forget(self) -> None:
        """Empty all caches, as a model that is loaded anew has them."""
        self._caches = [""] * len(self._caches)

    def count(self, prompt: str, reply: Scripted, slot: int = 0) -> Counts:
        """Count one reply, and keep its text as a real engine's cache does.

        Cached is the longest common prefix with the slot's former prompt and its reply, in whole tokens; the
        last token of a prompt is always computed again.
        """
        answer = render_message(reply.message).removeprefix(OPENING)
        usage = reply.usage
        total = usage.get("input", estimate(prompt))
        cached = usage.get("cached", min(shared_tokens(self._caches[slot], prompt), total - 1))
        output = usage.get("output", estimate(answer))
        self._caches[slot] = prompt + answer
        self.replies += 1
        prefill = (total - cached) / PREFILL_RATE + reply.delay
        return Counts(self.replies, total, cached, output, prefill, output / DECODE_RATE)


def make_id(*parts: object, length: int = 32) -> str:
    """An identifier that looks random and is the same in every run."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:length]
