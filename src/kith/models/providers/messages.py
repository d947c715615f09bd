"""Messages on the wire: a prompt as the rows of a request, and a reply while it grows."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, Literal, ParamSpec

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.events import Delta
from kith.core.model import Emit, Prompt, Tool
from kith.core.run import new_id
from kith.core.values import Image, Message, Part, Reply, Text, Thinking, Timing, ToolCall, ToolResult, Usage
from kith.models.dialects.json_text import repair_json
from kith.models.providers.answers import Row
from kith.models.providers.control_tokens import MARK, defuse, restore

P = ParamSpec("P")


def _without_control_tokens(make: Callable[P, list[Row]]) -> Callable[P, list[Row]]:
    """The rows of a server that renders a chat template: no text in them can begin or end a turn."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> list[Row]:
        rows: list[Row] = defuse(make(*args, **kwargs))
        return rows

    return made


@_without_control_tokens
def tool_rows(tools: Iterable[Tool]) -> list[Row]:
    """Tools as OpenAI, and every local server after it, describes them; their order is the caller's."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
        }
        for tool in tools
    ]


@_without_control_tokens
def message_rows(
    prompt: Prompt,
    call_row: Callable[[ToolCall], Row],
    result_row: Callable[[ToolResult, str], Row],
    thinking: str = "",
    show: Callable[[Row, tuple[Image, ...]], Row] | None = None,
) -> list[Row]:
    """One row for each thing said, the system text first; how calls and results look is the server's affair.

    `result_row` gets the name of the tool too. A row depends on what came before it, never on what follows.
    `thinking` is the key under which the thinking of former replies goes back, as far as the prompt has any;
    without one it does not. `show` puts pictures into the row of a message.
    """
    rows: list[Row] = [{"role": "system", "content": prompt.system}] if prompt.system else []
    names: dict[str, str] = {}
    for message in prompt.messages:
        rows.extend(result_row(result, names.get(result.call_id, "")) for result in message.results)
        names.update((call.id, call.name) for call in message.calls)
        if message.role != "tool" or _has_words(message):
            row = _spoken(message, call_row, thinking)
            rows.append(show(row, message.images) if show and message.images else row)
    return rows


def _spoken(message: Message, call_row: Callable[[ToolCall], Row], thinking: str) -> Row:
    row: Row = {"role": "user" if message.role == "tool" else message.role, "content": message.text}
    thoughts = "".join(each.text for each in message.parts if isinstance(each, Thinking))
    if thinking and thoughts:
        row[thinking] = thoughts
    if message.calls:
        row["tool_calls"] = [call_row(call) for call in message.calls]
    return row


def _has_words(message: Message) -> bool:
    return any(isinstance(part, Text) for part in message.parts)


# --- replies -------------------------------------------------------------------------------------


Kind = Literal["text", "thinking", "tool"]


class _Piece(Struct):
    """One part of a message while it grows. `index` is a call's own."""

    kind: Kind
    texts: list[str] = field(default_factory=list)
    opaque: str = ""
    index: int = -1
    id: str = ""
    name: str = ""


class Draft(Struct):
    """Collects a server's stream in order, and emits each piece as a Delta.

    `taken` are call ids already used in the conversation. A call with one of them, or with none, gets a fresh
    one, because an answer finds its call by id. `restores`: control tokens were marked in what was sent.
    """

    emit: Emit
    taken: set[str]
    restores: bool = False
    pieces: list[_Piece] = field(default_factory=list)
    calls: dict[int, _Piece] = field(default_factory=dict)
    id: str = field(default_factory=new_id)

    def think(self, text: str) -> None:
        if text:
            self._last("thinking").texts.append(text)
            self.emit(Delta(text, "thinking", self.id))

    def seal(self, opaque: str) -> None:
        """A provider's signature: it ends the thought before it, or represents one that is not shown."""
        if opaque:
            self._last("thinking").opaque = opaque

    def say(self, text: str) -> None:
        if text:
            self._last("text").texts.append(text)
            self.emit(Delta(self._shown(text), "text", self.id))

    def call(
        self, index: int, name: str = "", args: object = "", call_id: str = "", opaque: str = ""
    ) -> None:
        """A piece of the call at `index`: its name, its id, more of its arguments (JSON text, or whole)."""
        text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
        if index not in self.calls:
            self.calls[index] = _Piece("tool", index=index)
            self.pieces.append(self.calls[index])
        call = self.calls[index]
        call.id = call.id or call_id
        call.opaque = call.opaque or opaque
        call.name += name
        call.texts.append(text)
        if name or text:
            self.emit(Delta(self._shown(f"{name} {text}" if name else text), "tool", self.id))

    def reply(self, author: str, cut: bool, usage: Usage, timing: Timing) -> Reply:
        """Build the reply. `cut`: the token limit ended it, so unreadable arguments are not repaired."""
        # Calls by their own numbers: not every server sends them in order.
        calls = iter(sorted(self.calls.values(), key=lambda piece: piece.index))
        ordered = (next(calls) if piece.kind == "tool" else piece for piece in self.pieces)
        message = Message("assistant", tuple(self._part(piece, cut) for piece in ordered), author)
        return Reply(message, "length" if cut else "tools" if message.calls else "end", author, usage, timing)

    def _shown(self, text: str) -> str:
        """A piece for people: a mark may be cut off its token, and nobody sees one that goes."""
        return text.replace(MARK, "") if self.restores else text

    def _last(self, kind: Kind) -> _Piece:
        """The piece that grows: the last one, if it is of this kind and not sealed, else a new one."""
        if not self.pieces or self.pieces[-1].kind != kind or self.pieces[-1].opaque:
            self.pieces.append(_Piece(kind))
        return self.pieces[-1]

    def _part(self, piece: _Piece, cut: bool) -> Part:
        text = "".join(piece.texts)
        if piece.kind == "text":
            return Text(restore(text) if self.restores else text)
        if piece.kind == "thinking":
            return Thinking(text, piece.opaque)
        call_id = piece.id if piece.id and piece.id not in self.taken else new_id()
        self.taken.add(call_id)
        args, problem = read_args(text, cut)
        return ToolCall(call_id, piece.name, restore(args) if self.restores else args, problem, piece.opaque)


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
        data = None if cut else repair_json(text)
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
