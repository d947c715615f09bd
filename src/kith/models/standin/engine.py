"""The engine behind the stand-in servers: one model, one slot, one cache, and how well they behave."""

import asyncio
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kith.models.standin.script import Script, Scripted, play
from kith.models.standin.tokens import OPENING, estimate, render_message, shared_tokens

PREFILL_RATE = 1000.0  # prompt tokens a second, as reported: nothing really takes that long
DECODE_RATE = 50.0  # tokens a second, as reported


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a stand-in differs from a quick and healthy server. Times in seconds, windows in tokens."""

    model: str = "standin"
    window: int = 8192  # n_ctx of llama-server; of Ollama, what it runs when a request does not say
    trained: int = 32_768  # the model's own maximum
    ceiling: int = 1 << 30  # Ollama: it never runs more than this, whatever a request says
    capabilities: tuple[str, ...] = ("completion", "tools", "thinking")
    delay_first_byte: float = 0.0  # before anything of a chat's answer is sent
    pause: float = 0.0  # before each piece of a stream
    ping: float = 0.0  # llama-server: a comment line this often while it reads the prompt; 0 is never
    loading: float = 0.0  # llama-server: 503 for so long after its start
    silent: bool = False  # accept every request, answer none
    cut_after: int | None = None  # close the connection after so many bytes of a chat's answer
    fail_first: tuple[int, Mapping[str, str], Any, int] | None = None  # status, headers, body, how many times
    html: bool = False  # answer everything with a web page


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
    """A loaded model with one slot: requests wait for each other and share one cache."""

    def __init__(self, script: Script, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.next_reply = play(script)
        self.slot = asyncio.Semaphore(1)
        self.kept = ""  # what the cache holds: the former prompt and its reply
        self.runs: tuple[Any, ...] = ()  # what Ollama has loaded: window and shift
        self.replies = 0
        self._ready_at = time.monotonic() + behaviour.loading

    @property
    def loading(self) -> bool:
        return time.monotonic() < self._ready_at

    def count(self, prompt: str, reply: Scripted) -> Counts:
        """Count one reply, and keep its text as a real engine's cache does.

        Cached is the longest common prefix with the former prompt and its reply, in whole tokens; the last
        token of a prompt is always computed again.
        """
        answer = render_message(reply.message).removeprefix(OPENING)
        usage = reply.usage
        total = usage.get("input", estimate(prompt))
        cached = usage.get("cached", min(shared_tokens(self.kept, prompt), total - 1))
        output = usage.get("output", estimate(answer))
        self.kept = prompt + answer
        self.replies += 1
        prefill = (total - cached) / PREFILL_RATE + reply.delay
        return Counts(self.replies, total, cached, output, prefill, output / DECODE_RATE)


def make_id(*parts: object, length: int = 32) -> str:
    """An identifier that looks random and is the same in every run."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:length]
