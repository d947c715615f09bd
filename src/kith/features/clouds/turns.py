"""A conversation as strict protocols want it: two who alternate, and each call answered where it was made."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from kith.core.values import Image, Message, Part, Text, Thinking, ToolCall, ToolResult

BEGIN = "(what was said before is left out)"
GO_ON = "Go on."
UNANSWERED = "No answer was recorded."
_LATE = "An earlier tool call was answered:"
_LONGEST_ID, _LONGEST_NAME = 64, 64  # characters


class UserTurn(Struct, frozen=True):
    """One turn for a model: the answers to its calls, each with its call and in order, pictures, words."""

    answers: tuple[tuple[ToolCall, ToolResult], ...] = ()
    words: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()


class ModelTurn(Struct, frozen=True):
    """A model's turn, in order: at least some words or a call. Thoughts are its own, and signed."""

    parts: tuple[Part, ...]


Turn = UserTurn | ModelTurn


def take_turns(messages: Iterable[Message], own: str, refused: Collection[str] = ()) -> list[Turn]:
    """Convert the conversation for the model called `own`, from UserTurn to UserTurn.

    A signature goes back only to the model that gave it, and never after it was `refused`; a thought
    without one is left out. Ids and names of calls get the letters that every protocol takes
    (`A-Za-z0-9_-`), each id once. A missing answer is added, and a late answer becomes words. The
    beginning never depends on what follows, so that a growing conversation keeps its bytes.
    """
    known = (_own_parts(message, own, refused) for message in messages)
    turns: list[Turn] = []
    open_calls: list[tuple[str, ToolCall]] = []  # by the id that the history has for it
    taken: set[str] = set()
    for is_reply, group in groupby((each for each in known if each[1]), lambda each: each[0]):
        parts = [part for _, said in group for part in said]
        if is_reply:
            open_calls = list(_renamed(parts, taken))
            calls = iter([call for _, call in open_calls])
            turns += [] if turns else [UserTurn(words=(BEGIN,))]
            turns.append(
                ModelTurn(tuple(next(calls) if isinstance(part, ToolCall) else part for part in parts))
            )
        else:
            turns.append(_hear(parts, open_calls))
            open_calls = []
    if not turns or isinstance(turns[-1], ModelTurn):
        turns.append(_hear([] if open_calls else [Text(GO_ON)], open_calls))
    return turns


def signatures(messages: Iterable[Message]) -> Iterator[str]:
    """Every signature of a conversation."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, Thinking | ToolCall) and part.opaque:
                yield part.opaque


def _own_parts(message: Message, own: str, refused: Collection[str]) -> tuple[bool, list[Part]]:
    """Return the parts of a message to send, none for an empty one, and True for a model's."""
    is_reply = message.role == "assistant"
    is_own = is_reply and message.author == own
    parts: list[Part] = []
    for part in message.parts:
        match part:
            case Text(text) if text.strip():
                parts.append(part)
            case Thinking(opaque=opaque) if is_own and opaque and opaque not in refused:
                parts.append(part)
            case ToolCall() if is_reply:
                signed = is_own and part.opaque not in refused
                parts.append(part if signed else replace(part, opaque=""))
            case ToolResult() | Image() if not is_reply:
                parts.append(part)
    heard = any(not isinstance(part, Thinking) for part in parts)
    return is_reply, parts if heard else []


def _renamed(parts: Iterable[Part], taken: set[str]) -> Iterator[tuple[str, ToolCall]]:
    """Each call by its former id, with an id and a name that protocols take."""
    for part in parts:
        if isinstance(part, ToolCall):
            call_id = _free_id(clean_id(part.id), taken)
            taken.add(call_id)
            yield part.id, replace(part, id=call_id, name=clean_name(part.name))


def _free_id(wish: str, taken: Collection[str]) -> str:
    number, call_id = 2, wish
    while call_id in taken:
        call_id, number = f"{wish}-{number}", number + 1
    return call_id


def clean_id(call_id: str) -> str:
    """An id in the letters that Anthropic takes (`^[a-zA-Z0-9_-]+$`)."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)[:_LONGEST_ID] or "call"


def clean_name(name: str) -> str:
    """A tool's name that Anthropic and Gemini take: it begins with a letter or `_`, and has 64 at most."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:_LONGEST_NAME]
    return name if re.match(r"[a-zA-Z_]", name) else f"_{name}"[:_LONGEST_NAME]


def _hear(parts: Sequence[Part], open_calls: Iterable[tuple[str, ToolCall]]) -> UserTurn:
    """Answers to the open calls, pictures, and everything else as words."""
    results: dict[str, ToolResult] = {}
    late: list[str] = []
    words: list[str] = []
    waited = {call_id for call_id, _ in open_calls}
    for part in parts:
        if isinstance(part, Text):
            words.append(part.text)
        elif isinstance(part, ToolResult) and part.call_id in waited - results.keys():
            results[part.call_id] = part
        elif isinstance(part, ToolResult) and part.text.strip():
            late.append(f"{_LATE}\n{part.text}")
    answers = tuple((call, _answer(results, call_id, call)) for call_id, call in open_calls)
    # An answer that nobody waits for may have been all there was.
    images = tuple(part for part in parts if isinstance(part, Image))
    return UserTurn(answers, (*late, *words) if answers or late or words else (GO_ON,), images)


def _answer(results: Mapping[str, ToolResult], call_id: str, call: ToolCall) -> ToolResult:
    found = results.get(call_id)
    return replace(found, call_id=call.id) if found else ToolResult(call.id, UNANSWERED, ok=False)
