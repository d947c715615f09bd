"""Play a script as a model, for demos and tests; record one from a real conversation.

A script is a JSON list of replies, an object `{"replies": [...]}`, or (`.jsonl`) one reply a line. A reply
is a text, or:

    {"text": "Done.",                                   the message
     "thinking": "...",                                 reasoning, shown and not sent back
     "calls": [{"name": "read_file", "args": {...}}],   tools to use ("id" may be given)
     "stop": "length",                                  end, tools or length; by default the calls decide
     "usage": {"input": 900, "output": 20},             tokens, and "cached"; estimated by default
     "delay": 0.5,                                      seconds before it answers
     "when": "/tmp/go",                                 it answers once this file exists
     "expect": "2 passed",                              regular expression that the last message must match
     "error": {"text": "...", "retryable": true}}       fail instead (also overflow, after_s; or a text)
"""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import ModelError, UsageError
from kith.core.events import Progress
from kith.core.model import Emit, Prompt
from kith.core.values import Message, Reply, Stop, Timing, Usage
from kith.models.providers.facts import Facts, ignore
from kith.models.providers.messages import Draft, message_rows, tool_rows, used_ids
from kith.models.sources import Source
from kith.settings import Settings

CHARS_PER_TOKEN = 4  # of English and code, roughly
_WHEN_S, _LOOK_S = 600.0, 0.01  # for a file that a reply waits for, and between two looks
_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "text": str,
    "thinking": str,
    "calls": list,
    "stop": str,
    "usage": dict,
    "delay": (int, float),
    "when": str,
    "expect": str,
    "error": (str, dict),
}


class Replay(Struct):
    """Plays `replies` in order, one for each call. Raises UsageError for a malformed script."""

    name: str
    replies: Sequence[Any]
    _played: int = 0
    _seen: str = ""

    def __post_init__(self) -> None:
        self.replies = [{"text": each} if isinstance(each, str) else each for each in self.replies]
        for number, reply in enumerate(self.replies, 1):
            if problem := _problem(reply):
                raise UsageError(f"{self.name}: reply {number} {problem}")

    @classmethod
    def load(cls, path: Path | str) -> "Replay":
        """The script in a file; its name becomes `replay/<file>`. Raises UsageError."""
        path = Path(path)
        try:
            text = path.read_text("utf-8")
            data = (
                [json.loads(line) for line in text.split("\n") if line.strip()]
                if path.suffix == ".jsonl"
                else json.loads(text)
            )
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} is not a script that can be replayed: {error}") from error
        replies = data.get("replies") if isinstance(data, dict) else data
        if not isinstance(replies, list):
            raise UsageError(f"{path} is not a script that can be replayed: it has no list of replies")
        return cls(f"replay/{path.stem}", replies)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """The next reply, in pieces. Raises ModelError as scripted, when surprised, and after the end."""
        if self._played >= len(self.replies):
            raise ModelError(
                f"{self.name} is over: its script has {len(self.replies)} replies and one more was asked for"
            )
        reply = self.replies[self._played]
        self._played += 1
        self._check(reply, prompt)
        await _wait(reply)
        if "error" in reply:
            raise _scripted(reply["error"])
        usage = self._read(prompt)
        emit(Progress("reading", usage.input, usage.input))
        draft = Draft(emit, used_ids(prompt.messages))
        written = await _stream(draft, reply)
        usage = replace(usage, output=_tokens(written))
        whole = draft.reply(self.name, False, replace(usage, **reply.get("usage", {})), Timing())
        # What a server wrote itself, it need not read again.
        self._seen = _sent(replace(prompt, messages=(*prompt.messages, whole.message)))
        return replace(whole, stop=reply.get("stop", whole.stop))

    async def facts(self, emit: Emit = ignore) -> Facts:
        """Its name: a script has no window, no template and no cache."""
        return Facts(self.name)

    async def count(self, prompt: Prompt) -> int | None:
        """None: nobody counts."""
        return None

    async def warm(self, prompt: Prompt) -> None:
        """Nothing: a script is always ready."""

    async def close(self) -> None:
        """Nothing: a script holds nothing open."""

    def _check(self, reply: Mapping[str, Any], prompt: Prompt) -> None:
        last = _words(prompt.messages[-1]) if prompt.messages else ""
        if "expect" in reply and not re.search(reply["expect"], last, re.DOTALL | re.MULTILINE):
            raise ModelError(
                f"{self.name}: reply {self._played} expects a message that matches {reply['expect']!r}, "
                f"but the last one was {last[:300]!r}"
            )

    def _read(self, prompt: Prompt) -> Usage:
        """Sizes as a server with a cache reports them: what begins like the last prompt is cached."""
        text = _sent(prompt)
        cached, self._seen = _common(self._seen, text), text
        return Usage(_tokens(len(text)), 0, cached // CHARS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Scripts(Source):
    """`replay/FILE`."""

    chosen: Settings

    async def open(self, model: str, emit: Emit) -> Replay:
        """The script in that file. Raises UsageError."""
        return Replay.load(Path(model).expanduser())


def _sent(prompt: Prompt) -> str:
    """A prompt as a server would get it."""
    rows = message_rows(
        prompt, lambda call: {"args": dict(call.args)}, lambda result, name: {name: result.text}
    )
    return json.dumps([tool_rows(prompt.tools), rows], ensure_ascii=False)


async def _wait(reply: Mapping[str, Any]) -> None:
    """Wait before the answer, as the script says. Raises ModelError if a file is never there."""
    await asyncio.sleep(reply.get("delay", 0))
    if "when" in reply:
        try:
            async with asyncio.timeout(_WHEN_S):
                while not Path(reply["when"]).exists():
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            raise ModelError(f"the script waits for {reply['when']}, which does not exist") from None


async def _stream(draft: Draft, reply: Mapping[str, Any]) -> int:
    """Send a reply word by word; returns how many characters were written."""
    written = 0
    for text, send in ((reply.get("thinking", ""), draft.think), (reply.get("text", ""), draft.say)):
        for piece in re.findall(r"\s*\S+|\s+", text):
            send(piece)
            written += len(piece)
            await asyncio.sleep(0)
    for index, call in enumerate(reply.get("calls", ())):
        args = json.dumps(call.get("args", {}), ensure_ascii=False)
        draft.call(index, call["name"], "", call.get("id", ""))
        for start in range(0, len(args), 40):
            draft.call(index, args=args[start : start + 40])
            await asyncio.sleep(0)
        written += len(call["name"]) + len(args)
    return written


def _scripted(error: str | Mapping[str, Any]) -> ModelError:
    if isinstance(error, str):
        return ModelError(error)
    return ModelError(
        error.get("text", "the script says so"),
        retryable=bool(error.get("retryable")),
        overflow=bool(error.get("overflow")),
        after_s=error.get("after_s"),
    )


def _problem(reply: Any) -> str:
    """Describe the fault of a scripted reply, to follow "reply 3"; empty for none."""
    if not isinstance(reply, Mapping):
        return "is not an object"
    for key, value in reply.items():
        if key not in _KEYS:
            return f"has an unknown key {key!r}; there are: {', '.join(_KEYS)}"
        if not isinstance(value, _KEYS[key]):
            return f"has a {key!r} of the wrong type"
    if reply.get("stop", "end") not in get_args(Stop):
        return f"has an unknown stop {reply['stop']!r}; there are: {', '.join(get_args(Stop))}"
    for call in reply.get("calls", ()):
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            return "has a call without a name"
        if not isinstance(call.get("args", {}), dict):
            return f"has a call of {call['name']!r} whose args are not an object"
    if not reply.get("usage", {}).keys() <= {"input", "output", "cached"}:
        return "has a usage with an unknown key; there are: input, output, cached"
    try:
        re.compile(reply.get("expect", ""))
    except re.error as error:
        return f"expects what is no regular expression: {error}"
    return ""


def _words(message: Message) -> str:
    return message.text + "".join(result.text for result in message.results)


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)


def _common(one: str, two: str) -> int:
    """Count the characters that two texts share at the start."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == two[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
