"""A reply while it grows: pieces in any order of arrival become one message."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kith.core.events import Delta
from kith.core.model import Emit
from kith.core.run import new_id
from kith.core.values import Message, Part, Reply, Text, Thinking, Timing, ToolCall, Usage
from kith.models.dialects.json_text import mend_json


@dataclass(slots=True)
class _CallDraft:
    id: str = ""
    name: str = ""
    args: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Draft:
    """Collects what a server streams, and emits each piece as a Delta.

    `taken` are call ids already used in the conversation: a call that comes with one of them, or with none,
    gets a fresh one, because an answer finds its call by id.
    """

    emit: Emit
    taken: set[str]
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: dict[int, _CallDraft] = field(default_factory=dict)

    def think(self, text: str) -> None:
        if text:
            self.thoughts.append(text)
            self.emit(Delta(text, "thinking"))

    def say(self, text: str) -> None:
        if text:
            self.texts.append(text)
            self.emit(Delta(text))

    def call(self, index: int, name: str = "", args: object = "", call_id: str = "") -> None:
        """A piece of the call at `index`: its name, its id, more of its arguments (JSON text, or whole)."""
        text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
        call = self.calls.setdefault(index, _CallDraft())
        call.id = call.id or call_id
        call.name += name
        call.args.append(text)
        if name or text:
            self.emit(Delta(f"{name} {text}" if name else text, "tool"))

    def reply(self, author: str, cut: bool, usage: Usage, timing: Timing) -> Reply:
        """What was said. `cut`: the token limit ended it, so arguments that do not parse are not repaired."""
        parts: list[Part] = []
        if self.thoughts:
            parts.append(Thinking("".join(self.thoughts)))
        if self.texts:
            parts.append(Text("".join(self.texts)))
        parts.extend(self._finish(self.calls[index], cut) for index in sorted(self.calls))
        message = Message("assistant", tuple(parts), author)
        return Reply(message, "length" if cut else "tools" if message.calls else "end", author, usage, timing)

    def _finish(self, call: _CallDraft, cut: bool) -> ToolCall:
        call_id = call.id if call.id and call.id not in self.taken else new_id()
        self.taken.add(call_id)
        args, problem = read_args("".join(call.args), cut)
        return ToolCall(call_id, call.name, args, problem)


def used_ids(messages: Iterable[Message]) -> set[str]:
    """The call ids of a conversation."""
    return {call.id for message in messages for call in message.calls}


def renew_ids(message: Message, taken: set[str]) -> Message:
    """The message, with fresh ids for its calls where theirs are taken."""
    parts = tuple(
        replace(part, id=new_id()) if isinstance(part, ToolCall) and part.id in taken else part
        for part in message.parts
    )
    return message if parts == message.parts else replace(message, parts=parts)


def read_args(text: str, cut: bool = False) -> tuple[Mapping[str, Any], str]:
    """A call's arguments from the model's JSON, or none and what is wrong in words for the model.

    Slips (a missing bracket, a raw line break) are repaired unless the text was cut: half a file must never
    pass for a whole one.
    """
    if not text.strip():
        return {}, ""
    try:
        data: Any = json.loads(text)
        if isinstance(data, str):  # JSON inside a JSON string
            data = json.loads(data)
    except (ValueError, RecursionError):
        data = None if cut else mend_json(text)
    if data is None and text.strip() == "null":
        return {}, ""
    if not isinstance(data, dict) or not _can_be_sent(data):
        return (
            {},
            f"The arguments are not a JSON object: {text[:200]!r}. Send the call again with one object.",
        )
    return data, ""


def _can_be_sent(data: Any) -> bool:
    """True for plain JSON: a NaN in the history would make every later request invalid."""
    try:
        json.dumps(data, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True
