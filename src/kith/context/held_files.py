"""Which files' contents a conversation is known to hold."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kith.context.brief import EXCERPTS
from kith.context.notes import OF_PROJECT, OF_USER, TOLD
from kith.core.line_ranges import passage_of
from kith.core.values import Message

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
