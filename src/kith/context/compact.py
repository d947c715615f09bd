"""A conversation made shorter for its model's window, and the files whose contents it is known to hold."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kith.context.brief import EXCERPTS
from kith.context.budget import fit_middle
from kith.context.notes import OF_PROJECT, OF_USER, TOLD, part_notes
from kith.core.events import Compacted
from kith.core.line_ranges import passage_of
from kith.core.non_answers import TASK_HEADING
from kith.core.values import Effect, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, say

SUMMARY_REQUEST: Final = (
    "Our conversation is about to be shortened, and what you write now is all that you will remember of it. "
    "Do not use tools. In at most 200 words, in short lines, say: the task, and what was asked since; what "
    "was decided and why; which files were changed, and how; what failed, with its error; the next step."
)
_SO_FAR: Final = "What was done so far:"
_GO_ON: Final = "Go on with the task."
_LAST_SAID: Final = "Go on. The last that I said to you was:"
_PAUSED: Final = "(paused)"
_CHANGED: Final = "Changed:"
_TASK: Final = f"\n\n{TASK_HEADING}\n"  # what the first message of a task has in front of the task itself
_SHORT = 200  # characters; a result is worth leaving out from here on
_NAME, _SUBJECT, _LINE, _SAID, _LAST_WORDS = 30, 60, 100, 2000, 600  # characters
_FEW, _MORE = 6, 12  # lines of a list
_OWN = frozenset(("todo", "done"))  # tools that look at nothing
_LEAST_LAYOUT = 200  # characters; less of it says nothing


class View(Struct, frozen=True):
    """The view of a thread that is sent to a model. Later messages are sent unchanged.

    The first `upto` messages become the task and `summary` (if any). The results of the first `elided`
    are left out. The texts of the first `held` are cut to `chars` (0: not cut).
    """

    upto: int = 0
    summary: str = ""
    elided: int = 0
    held: int = 0
    chars: int = 0

    def after(self, event: Compacted) -> "View":
        """The view that an event of the log describes."""
        if event.summary:
            return replace(self, upto=event.upto, summary=event.summary)
        return replace(self, elided=max(self.elided, event.upto))


def show(messages: Sequence[Message], view: View) -> tuple[Message, ...]:
    """The messages that are sent: the same for the same beginning, however the thread goes on."""
    sent = cut(elide(messages, view.elided), view.held, view.chars)
    return shorten(sent, view.upto, view.summary) if view.summary else sent


def joints(messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the places where a thread can be cut without separating a result from its call."""
    return tuple(place for place, message in enumerate(messages) if message.role != "tool")


def opening(messages: Sequence[Message]) -> int:
    """Count the messages up to and including the task, the first message of a person."""
    return next((place + 1 for place, message in enumerate(messages) if message.role == "user"), 0)


# --- shorter without a model -------------------------------------------------------------------


def elide(messages: Sequence[Message], upto: int) -> tuple[Message, ...]:
    """The messages, with a line in place of each picture and long tool result of the first `upto`.

    They have no thinking.
    """
    asked = {call.id: call for message in messages[:upto] for call in message.calls}

    def shortened(part: Part) -> Part:
        if isinstance(part, Image):
            return Text(f"[the picture {part.name} is left out]\n")
        if not isinstance(part, ToolResult):
            return part
        text, notes = part_notes(part)
        return (
            replace(part, text=_stub(asked.get(part.call_id), text) + notes) if len(text) > _SHORT else part
        )

    def stripped(message: Message) -> Message:
        kept = tuple(shortened(part) for part in message.parts if not isinstance(part, Thinking))
        return message if kept == message.parts else replace(message, parts=kept)

    return (*map(stripped, messages[:upto]), *messages[upto:])


def _stub(call: ToolCall | None, text: str) -> str:
    what = f"{_clip(call.name, _NAME)} {_subject(call.args)}".strip() if call else "a tool"
    lines = text.count("\n") + 1
    left_out = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
    return f"[result of {what} left out: {left_out}; ask for it again if you need it]"


def _subject(args: Mapping[str, Any]) -> str:
    """Return a short subject of a call: the first text among its arguments, in one line."""
    values = (" ".join(map(str, value)) if isinstance(value, list) else value for value in args.values())
    return _clip(next((value for value in values if isinstance(value, str)), ""), _SUBJECT)


def _clip(text: str, chars: int) -> str:
    line = " ".join(text[: 4 * chars].split())
    return line if len(line) <= chars else f"{line[: chars - 3]}..."


def cut(messages: Sequence[Message], held: int, chars: int) -> tuple[Message, ...]:
    """The messages, with every text of the first `held` that is longer than `chars` cut in its middle.

    What a person said stays whole; only the layout in front of the task is kith's own, and may go.
    """
    if not chars:
        return tuple(messages)
    task = opening(messages) - 1

    def shortened(part: Part) -> Part:
        if isinstance(part, ToolCall):
            args = {key: fit_middle(v, chars) if isinstance(v, str) else v for key, v in part.args.items()}
            return part if args == part.args else replace(part, args=args)
        if isinstance(part, Thinking | Image) or len(part.text) <= chars:
            return part
        return replace(part, text=fit_middle(part.text, chars))

    def fitted(place: int, message: Message) -> Message:
        if place == task:
            return replace(message, parts=(*message.images, Text(_fit_task(message.text, chars))))
        if message.author == "person":
            return message
        parts = tuple(map(shortened, message.parts))
        return message if parts == message.parts else replace(message, parts=parts)

    return (*(fitted(place, message) for place, message in enumerate(messages[:held])), *messages[held:])


def _fit_task(text: str, chars: int) -> str:
    before, marker, task = text.partition(_TASK)
    if not marker or len(text) <= chars:
        return text
    room = chars - len(marker) - len(task)
    return fit_middle(before, room) + marker + task if room >= _LEAST_LAYOUT else (marker + task).lstrip()


# --- shorter by a summary ----------------------------------------------------------------------


def shorten(messages: Sequence[Message], upto: int, summary: str) -> tuple[Message, ...]:
    """Replace the messages after the task, among the first `upto`, by `summary`; keep the rest.

    The task's message stays unchanged. User and assistant alternate, since the strictest templates
    require it. So a short user message, or the person's last one, comes before a reply.
    """
    begin = opening(messages)
    if upto <= begin:
        return tuple(messages)
    rest = tuple(messages[upto:])
    told = Message("assistant", (Text(f"{_SO_FAR}\n{summary}"),), "kith")
    bridge = () if rest and rest[0].role == "user" else (say(_lead_over(messages[begin:upto]), "kith"),)
    return (*messages[:begin], told, *bridge, *rest)


def _lead_over(replaced: Sequence[Message]) -> str:
    said = _said(replaced)
    return f"{_LAST_SAID}\n\n{fit_middle(said[-1], _SAID)}" if said else _GO_ON


def _said(messages: Iterable[Message]) -> list[str]:
    """Return the texts of persons and gates, without kith's own messages to a stalled model."""
    return [each.text for each in messages if each.role == "user" and each.author != "kith"]


def ask_for_summary(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages, and after them the request for a summary, in a way that templates accept."""
    last = messages[-1] if messages else None
    waits = last is not None and (last.role != "assistant" or last.calls)
    pause = (Message("assistant", (Text(_PAUSED),), "kith"),) if waits else ()
    return (*messages, *pause, say(SUMMARY_REQUEST, "kith"))


def summarise(
    messages: Sequence[Message], effects: Mapping[str, Effect], words: str, earlier: str, chars: int
) -> str:
    """A summary of messages in about `chars` characters: a model's `words`, and what is certain.

    What was changed, run and read is taken from the calls and their results, so it is there however the
    model summarises. Without words, `earlier` (the summary before) and the last words in the thread must do.
    `effects` are those of the tools, by name.
    """
    begin = opening(messages)
    facts = fit_middle(_facts(messages[begin:], effects), chars // 2)
    words = words.strip() or _last_known(messages[begin:], earlier)
    return "\n".join(part for part in (fit_middle(words, chars - len(facts)), facts) if part)


def _last_known(messages: Sequence[Message], earlier: str) -> str:
    before = fit_middle(earlier.partition(f"\n{_CHANGED}")[0], _LAST_WORDS)
    remarks = [f"- {_clip(text, _LINE)}" for text in _said(messages)[-_FEW:]]
    spoken = [each.text.strip() for each in messages if each.role == "assistant" and each.text.strip()]
    last = [f"My last words: {fit_middle(spoken[-1], _LAST_WORDS)}"] if spoken else []
    return "\n".join([*([before] if before else []), *_list("Said to me:", remarks), *last])


def _facts(messages: Iterable[Message], effects: Mapping[str, Effect]) -> str:
    calls: dict[str, ToolCall] = {}
    changed, ran, seen = dict[str, None](), list[str](), dict[str, None]()
    notes = dict[str, None]()
    for message in messages:
        calls.update((call.id, call) for call in message.calls)
        for result in message.results:
            notes.update((f"- {path}", None) for path in result.detail.get(TOLD) or ())
            call = calls.get(result.call_id)
            effect = effects.get(call.name) if call else None
            if call is None or effect is None or call.name in _OWN:
                continue
            told_line = str(result.detail.get("line") or result.text.partition("\n")[0])
            subject, line = _subject(call.args), _clip(told_line, _LINE)
            told = f"- {line}" if subject in line else f"- {subject}: {line}"
            if effect == "exec":
                ran.append(told)
            elif result.ok:
                (changed if effect == "write" else seen)[told] = None
    return "\n".join(
        [
            *_list(_CHANGED, list(changed)[-_MORE:]),
            *_list("Ran:", ran[-_FEW:]),
            *_list("Looked at:", list(seen)[-_FEW:]),
            *_list("Notes that hold here, to be read again:", list(notes)[-_FEW:]),
        ]
    )


def _list(title: str, lines: Sequence[str]) -> list[str]:
    return [title, *lines] if lines else []


# Which files' contents a conversation is known to hold.

NAMED: Final = "# Named in the task"
_NOTES: Final = re.compile(rf"^(?:{OF_USER}|{OF_PROJECT}|{NAMED}) \((.+)\)$", re.M)
# A file's heading, its outline, and its lines between two fences.
_EXCERPT: Final = re.compile(
    r"(.+?)(?:, (?:lines [\d, -]+ of|definitions in) \d+(?: lines)?)?\n(?:defines .*\n)?"
    r"(`{3,})\n(?:.*\n)*?\2(?:\n|$)"
)


def files_shown(messages: Sequence[Message]) -> tuple[str, ...]:
    """The files that were read, changed, or shown in excerpts, each once, in that order of appearance.

    What a command printed is not known to be a file.
    """
    return tuple(dict.fromkeys(path for message in messages for path in _files_of(message)))


def _files_of(message: Message) -> Iterator[str]:
    if message.role == "user":
        yield from _NOTES.findall(message.text)
        yield from _excerpts(message.text)
    for result in message.results:
        yield from result.detail.get(TOLD) or ()
    for call in message.calls:
        if call.name == "skill" and isinstance(call.args.get("name"), str):
            yield f"skill {call.args['name']}"
        if call.name == "read":
            yield from (passage_of(path).path for path in call.args.get("paths", ()) if isinstance(path, str))
        elif call.name in ("edit", "write") and isinstance(call.args.get("path"), str):
            yield call.args["path"]


def _excerpts(text: str) -> Iterator[str]:
    """The files of the excerpts, which follow each other without a break."""
    place = text.find(f"{EXCERPTS}\n")
    at = place + len(EXCERPTS) + 1
    while place >= 0 and (found := _EXCERPT.match(text, at)):
        yield found[1]
        at = found.end()
