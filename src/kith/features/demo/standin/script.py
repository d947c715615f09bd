"""What a stand-in server says: a script of replies, in `replay`'s format and a little more, or a function."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kith.features.demo.standin.http import Request
from kith.features.demo.standin.tokens import words

Script = Sequence[Mapping[str, Any] | str] | Callable[[Request], Mapping[str, Any] | str]

OVERFLOW = "the prompt exceeds the available context size"


@dataclass(frozen=True, slots=True)
class Failure:
    """An error to answer with. Status 200 means: in the middle of the stream, after the reply's text.

    `body` is sent as it is; without one, `text` is put into the server's own form, and without either the
    server says what it always says with this status.
    """

    status: int
    text: str = ""
    body: Any = None
    after_s: float | None = None  # Retry-After

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.after_s is None else {"Retry-After": f"{self.after_s:g}"}


@dataclass(frozen=True, slots=True)
class Scripted:
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
    """A reply as a script writes it. Raises ValueError for a key that scripts do not have.

    Keys, all optional: text, thinking, calls `[{"name", "args"}]` (or `"raw"`: arguments as text, broken or
    not), stop ("end", "tools", "length"), usage `{"input", "output", "cached"}`, delay, expect, and error: a
    text, `{"status", "text" or "body"}` or `{"text", "retryable", "overflow", "after_s"}`. A string is a
    reply with only text.
    """
    if isinstance(data, str):
        return Scripted(data)
    unknown = data.keys() - Scripted.__dataclass_fields__.keys()
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
