"""Notes for agents and skills, as a model is told of them, all within their room."""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kith.context.budget import estimate_tokens, fit_middle
from kith.core.errors import UsageError
from kith.core.values import ToolResult

OF_USER: Final = "# Notes of the user"
OF_PROJECT: Final = "# Notes of the project"
_CHARS: Final = 3  # of a token, cautiously
_LEAST: Final = 40  # tokens; fewer say nothing


class ProjectNote(Struct, frozen=True):
    """Notes for agents, and their place: `path` as the person knows it."""

    path: str
    text: str
    heading: str = OF_PROJECT

    @property
    def folder(self) -> str:
        """The folder that they are about, "" for all of the project."""
        return self.path.rpartition("/")[0] if self.heading == OF_PROJECT else ""


def tell_note(note: ProjectNote, room: int) -> str:
    """A note under its heading, in at most `room` tokens; its middle is left out where it is longer.

    "" where the room is too little to say anything.
    """
    about = f"They hold for {note.folder}/.\n" if note.folder else ""
    head = f"{note.heading} ({note.path})\n{about}"
    text, left = note.text.strip(), room - estimate_tokens(head)
    if estimate_tokens(text) <= left:
        return head + text
    return head + _cut(text, left) if left >= _LEAST else ""


def _cut(text: str, room: int) -> str:
    """A text in at most `room` tokens, without its middle."""
    chars = room * _CHARS
    while (tokens := estimate_tokens(shown := fit_middle(text, chars))) > room:
        chars = chars * room // tokens - 1
    return shown


def share_room(needs: Sequence[int], room: int) -> tuple[int, ...]:
    """Share the room: each gets what it needs, or an equal part of what the others leave."""
    given, left = [0] * len(needs), room
    for rest, place in enumerate(sorted(range(len(needs)), key=needs.__getitem__)):
        given[place] = min(needs[place], left // (len(needs) - rest))
        left -= given[place]
    return tuple(given)


# --- behind the answer of a tool -----------------------------------------------------------------

TOLD: Final = "notes"  # the key of a result's detail that holds the paths of the notes behind it


def add_notes(result: ToolResult, notes: Sequence[ProjectNote], room: int) -> ToolResult:
    """The answer of a tool, and after it the notes of the places that it was about."""
    told = [text for note in notes if (text := tell_note(note, room // len(notes)))]
    detail = {**result.detail, TOLD: [note.path for note in notes]}
    return replace(result, text="\n\n".join([result.text, *told]), detail=detail)


def part_notes(result: ToolResult) -> tuple[str, str]:
    """The answer of a tool, and the notes behind it (with what parts them), "" where there are none."""
    paths = result.detail.get(TOLD) or ()
    at = result.text.find(f"\n\n{OF_PROJECT} ({paths[0]})\n") if paths else -1
    return (result.text[:at], result.text[at:]) if at >= 0 else (result.text, "")


# Skills: how something is done, written down by people and read by a model when it needs it.

HEADING: Final = "# Skills"
_HOW: Final = "Before you do what one of these is for, read it with the skill tool."
_MORE: Final = "- {} more, which the skill tool lists when it is asked for `all`"
_LEAST_SKILL: Final = 60  # tokens; fewer say nothing
_ABOUT: Final = 300  # characters of a description that every task begins with
_NAME: Final = re.compile(r"[\w][\w.-]{0,63}")
_HEAD: Final = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
# What a few lines of YAML repeat until no memory holds them; it is no part of the form.
_ANCHOR: Final = re.compile(r"(?:^|[\s\[{,:?-])&[^\s\[\]{},]", re.MULTILINE)
_KEY: Final = re.compile(r"^(name|description)[ \t]*:[ \t]*(.+)$", re.MULTILINE)


class Skill(Struct, frozen=True):
    """A skill: the content of a SKILL.md and its folder, relative to the project where it belongs to it.

    Elsewhere (the person's `own`, or kith's folder in the project) it is absolute, and `files` names its
    files.
    """

    name: str
    about: str
    words: str
    folder: str
    own: bool = False
    files: tuple[str, ...] = ()

    @property
    def apart(self) -> bool:
        """True if its files are outside the project's tree."""
        return PurePath(self.folder).is_absolute()


def read_skill(text: str, folder: str) -> Skill:
    """The skill that a SKILL.md holds: YAML between two `---` (its name, what it is for), then the words.

    The name is the folder's where it has none. Source of the form: https://agentskills.io/specification.
    Raises UsageError naming what is missing.
    """
    where = f"{folder}/SKILL.md"
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    head = _HEAD.match(text)
    if not head:
        raise UsageError(f"{where} should begin with its name and description between two lines of ---.")
    given = _read_head(head[1])
    name = str(given.get("name") or folder.rpartition("/")[2]).strip()
    about = " ".join(str(given.get("description") or "").split())
    words = text[head.end() :].strip()
    if not _NAME.fullmatch(name):
        raise UsageError(f"{where}: {name!r} is not a name for a skill.")
    if not about or not words:
        raise UsageError(f"{where}: {'its description is' if not about else 'its words are'} missing.")
    return Skill(name, about, words, folder)


def _read_head(text: str) -> dict[str, Any]:
    """Parse the YAML head; one with a colon that YAML does not allow is read line by line."""
    import yaml

    try:
        given = None if _ANCHOR.search(text) else yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        given = None
    return given if isinstance(given, dict) else dict(_KEY.findall(text))


def list_skills(skills: Sequence[Skill], room: int) -> str:
    """The names of the skills and what they are for, in at most `room` tokens; "" where none fits."""
    if not skills:
        return ""
    lines = [f"- {skill.name}: {_clip(skill.about)}" for skill in skills]
    whole = "\n".join([HEADING, _HOW, *lines])
    if estimate_tokens(whole) <= room:
        return whole
    if room < _LEAST_SKILL:
        return ""
    left = room - estimate_tokens("\n".join([HEADING, _HOW, _MORE]))
    shown: list[str] = []
    for line in lines:
        left -= estimate_tokens(f"{line}\n")
        if left < 0:
            shown.append(_MORE.format(len(lines) - len(shown)))
            break
        shown.append(line)
    return "\n".join([HEADING, _HOW, *shown])


def _clip(text: str) -> str:
    return text if len(text) <= _ABOUT else f"{text[: _ABOUT - 3].rstrip()}..."
