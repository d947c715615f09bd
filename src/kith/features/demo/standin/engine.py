"""The scripted model behind the stand-in servers: its replies, token counts, slots and caches."""

import asyncio
import hashlib
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from kith.features.demo.standin.http import Cut, Request, Response, json_response

# How the stand-in servers count: conversations as one text, and four bytes of it as one token.

BYTES_PER_TOKEN = 4
OPENING = "<|im_start|>assistant\n"


def estimate(text: str) -> int:
    """Tokens of a text: one for every four bytes of UTF-8, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def shared_tokens(former: str, text: str) -> int:
    """Whole tokens in the longest common prefix of two texts."""
    pairs = zip(former.encode("utf-8", "replace"), text.encode("utf-8", "replace"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) // BYTES_PER_TOKEN


def render_prompt(messages: Iterable[Mapping[str, Any]], tools: Any = None) -> str:
    """The one text that a chat template makes of a conversation: tools first, in the manner of ChatML.

    Raises ValueError when the arguments of a former tool call are not JSON, as llama-server does.
    """
    head = f"<tools>\n{json.dumps(tools)}\n</tools>\n" if tools else ""
    return head + "".join(render_message(message) for message in messages) + OPENING


def render_message(message: Mapping[str, Any]) -> str:
    """One message of either protocol."""
    thinking = message.get("reasoning_content") or message.get("thinking") or ""
    calls = "".join(_render_call(call["function"]) for call in message.get("tool_calls") or ())
    think = f"<think>{thinking}</think>" if thinking else ""
    return f"<|im_start|>{message.get('role')}\n{think}{words(message.get('content'))}{calls}<|im_end|>\n"


def _render_call(function: Mapping[str, Any]) -> str:
    args = function.get("arguments") or {}
    args = json.loads(args) if isinstance(args, str) else args
    return f"<tool_call>{json.dumps({'name': function.get('name'), 'arguments': args})}</tool_call>"


def words(content: Any) -> str:
    """A message's text, given as one string or as a list of parts; a result of a tool is such a text too."""
    if isinstance(content, list):
        return "".join(_part(part) for part in content)
    return str(content or "")


def _part(part: Mapping[str, Any]) -> str:
    if part.get("type") == "tool_result":
        return words(part.get("content"))
    if "functionResponse" in part:
        return " ".join(map(str, part["functionResponse"].get("response", {}).values()))
    return str(part.get("text", ""))


def split_words(text: str) -> list[str]:
    """A text in the pieces in which it is streamed: words, each with the space before it."""
    return re.findall(r"\s*\S+|\s+", text)


# What a stand-in server says: a script of replies, in `replay`'s format and a little more, or a
# function.

Script = Sequence[Mapping[str, Any] | str] | Callable[[Request], Mapping[str, Any] | str]

OVERFLOW = "the prompt exceeds the available context size"


class Failure(Struct, frozen=True):
    """An error to answer with. Status 200 means: in the middle of the stream, after the reply's text.

    `body` is sent as it is. Without one, `text` is put into the server's own form; without either, the
    server's usual text for this status is sent.
    """

    status: int
    text: str = ""
    body: Any = None
    after_s: float | None = None  # Retry-After

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.after_s is None else {"Retry-After": f"{self.after_s:g}"}

    def told(self, form: Callable[[int, str], Any], status: int = 0) -> Any:
        """The body of the error: as it is given, or its text in the server's own `form`."""
        return form(status or self.status, self.text) if self.body is None else self.body

    def response(self, form: Callable[[int, str], Any]) -> Response:
        """The error as a whole answer; what would come in the middle of a stream has status 500."""
        status = 500 if self.status == 200 else self.status
        return json_response(self.told(form, status), status, self.headers)


class Scripted(Struct, frozen=True):
    """One reply of the script. Its calls are (name, arguments) pairs; text as arguments is sent as it is."""

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    stop: str = "end"  # end, tools, length, or one of a cloud's own
    usage: Mapping[str, int] = field(default_factory=dict)  # input, output, cached, written: no estimates
    delay: float = 0.0  # seconds that reading the prompt takes
    expect: str = ""  # regular expression that the last message must match
    error: Failure | None = None

    @property
    def message(self) -> dict[str, Any]:
        """The assistant message that this reply becomes when a client sends it back."""
        calls = [
            {"function": {"name": name, "arguments": {"raw": args} if isinstance(args, str) else args}}
            for name, args in self.calls
        ]
        return {"role": "assistant", "content": self.text, "thinking": self.thinking, "tool_calls": calls}


def load_script(path: Path) -> list[Mapping[str, Any]]:
    """A script from a file: a JSON list, an object `{"replies": [...]}`, or (`.jsonl`) one reply a line."""
    text = path.read_text("utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    data = json.loads(text)
    replies: list[Mapping[str, Any]] = data["replies"] if isinstance(data, dict) else data
    return replies


def read_reply(data: Mapping[str, Any] | str) -> Scripted:
    """Parse a scripted reply. Raises ValueError for an unknown key.

    Keys, all optional: text, thinking, calls, stop, usage, delay, expect and error. A call is `{"name",
    "args"}` (or `"raw"`: arguments as text, broken or not), stop is "end", "tools" or "length", and usage
    is `{"input", "output", "cached"}`. An error is a text, `{"status", "text" or "body"}` or `{"text",
    "retryable", "overflow", "after_s"}`. A string is a reply with only text.
    """
    if isinstance(data, str):
        return Scripted(data)
    unknown = data.keys() - Scripted.__struct_fields__
    if unknown:
        raise ValueError(f"a scripted reply has no {', '.join(sorted(unknown))}")
    calls = tuple((call["name"], call.get("raw", call.get("args", {}))) for call in data.get("calls", ()))
    stop = data.get("stop") or ("tools" if calls else "end")
    error = _read_failure(data["error"]) if data.get("error") else None
    return Scripted(**{**data, "calls": calls, "stop": stop, "error": error})


def _read_failure(error: Mapping[str, Any] | str) -> Failure:
    if isinstance(error, str):
        return Failure(500, error)
    overflow = error.get("overflow")
    status = error.get("status") or (400 if overflow else 503 if error.get("retryable") else 500)
    text = error.get("text") or (OVERFLOW if overflow else "")
    return Failure(status, text, error.get("body"), error.get("after_s"))


def play(script: Script) -> Callable[[Request], Scripted]:
    """Give the script's replies one by one; a function is asked each time.

    Its end, and a request that is not what the reply expects, give an error that says so.
    """
    if callable(script):
        return lambda request: read_reply(script(request))
    replies = iter([read_reply(each) for each in script])
    over = Scripted(error=Failure(500, "the script of this stand-in has no more replies"))

    def next_reply(request: Request) -> Scripted:
        reply = next(replies, over)
        messages = request.body.get("messages") or request.body.get("contents") or ()
        last = words(messages[-1].get("content") or messages[-1].get("parts")) if messages else ""
        if re.search(reply.expect, last, re.DOTALL | re.MULTILINE):
            return reply
        return Scripted(error=Failure(500, f"the script expects {reply.expect!r}, but got {last[:300]!r}"))

    return next_reply


PREFILL_RATE = 1000.0  # prompt tokens a second, as reported: nothing really takes that long
DECODE_RATE = 50.0  # tokens a second, as reported
SIMILAR = 0.1  # the part of a prompt that a slot must know to be chosen for it


class Behaviour(Struct, frozen=True):
    """The differences from a fast and healthy server. Times in seconds, windows in tokens."""

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


class Counts(Struct, frozen=True):
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
        """Empty all caches, as after a reload of the model."""
        self._caches = [""] * len(self._caches)

    def count(self, prompt: str, reply: Scripted, slot: int = 0) -> Counts:
        """Count one reply, and keep its text as a real engine's cache does.

        Cached is the longest common prefix with the slot's former prompt and reply, in whole tokens. The
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


# Answers the requests of one path.
Route = Callable[[Engine, Request], Awaitable[Response]]


def make_id(*parts: object, length: int = 32) -> str:
    """An identifier that looks random and is the same in every run."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:length]
