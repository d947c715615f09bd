"""What the messages of a conversation are made of, so that a person sees what fills the window."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kith.context.brief import EXCERPTS, HEADING
from kith.context.budget import estimate_tokens
from kith.context.compact import opening
from kith.context.notes import OF_PROJECT, OF_USER, part_notes
from kith.context.shown import NAMED
from kith.context.skills import HEADING as SKILLS
from kith.core.values import Message, Part, Text, Thinking, ToolCall, ToolResult

YOUR_NOTES, PROJECT_NOTES, LAYOUT = "your notes", "project notes", "project layout"
FILES_NAMED = "files that you named"  # they follow the task
_PARTS: Final[Mapping[str, str]] = {
    OF_USER: YOUR_NOTES,
    OF_PROJECT: PROJECT_NOTES,
    SKILLS: "skills",
    NAMED: FILES_NAMED,
    HEADING: LAYOUT,
    EXCERPTS: LAYOUT,
    "# Task": "your words",
}
_HEADINGS: Final = re.compile(rf"^(?:{'|'.join(map(re.escape, _PARTS))})(?= \(|$)", re.MULTILINE)


def weigh_parts(messages: Sequence[Message], *, thinking: bool = False) -> dict[str, int]:
    """Estimated tokens of each sort of thing that is said, in the order in which the sorts first appear.

    `thinking`: former thoughts are sent, too.
    """
    weights: Counter[str] = Counter()
    tools = {call.id: call.name for message in messages for call in message.calls}
    begins = opening(messages) - 1
    for place, message in enumerate(messages):
        for part in message.parts:
            if place == begins and isinstance(part, Text):
                found = [*split_opening(part.text)]
            else:
                found = [*_sorts(message, part, tools, thinking=thinking)]
            for name, text in found:
                weights[name] += estimate_tokens(text)
    return {name: tokens for name, tokens in weights.items() if tokens}


def split_opening(text: str) -> Iterator[tuple[str, str]]:
    """The parts of a first message, by their headings: (name, text)."""
    marks = [(found.start(), _PARTS[found[0]]) for found in _HEADINGS.finditer(text)]
    task = max((at for at, name in marks if name == "your words"), default=len(text))
    marks = [mark for mark in marks if mark[0] <= task or mark[1] == FILES_NAMED]
    if before := text[: marks[0][0] if marks else len(text)]:
        yield "your words", before
    for (at, name), (end, _) in zip(marks, [*marks, (len(text), "")][1:], strict=True):
        yield name, text[at:end]


def _sorts(
    message: Message, part: Part, tools: Mapping[str, str], *, thinking: bool
) -> Iterator[tuple[str, str]]:
    match part:
        case ToolResult():
            text, notes = part_notes(part)
            yield f"results of {tools.get(part.call_id, 'tools')}", text
            yield PROJECT_NOTES, notes
        case ToolCall():
            yield "calls of tools", f"{part.name}{json.dumps(dict(part.args), default=str)}"
        case Thinking():
            yield "thoughts", part.text if thinking else ""
        case Text() if message.role == "user":
            yield "your words" if message.author == "person" else "checks and hints", part.text
        case Text():
            yield "answers", part.text
