"""Gather a project's and its person's knowledge: notes for agents, in any folder, and skills."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.project import Project
from kith.context.budget import estimate_tokens, knowledge_room, output_room
from kith.context.compact import opening
from kith.context.notes import (
    HEADING,
    OF_PROJECT,
    OF_USER,
    TOLD,
    ProjectNote,
    Skill,
    list_skills,
    read_skill,
    share_room,
    tell_note,
)
from kith.core.errors import TreeError, UsageError
from kith.core.events import Notice
from kith.core.model import Emit, Tool
from kith.core.values import Message
from kith.memory.log import Log
from kith.memory.permits import YES, FolderRuling, ruling_on, said_of, texts_of
from kith.settings import Settings
from kith.settings.brought import FOLDER, NOTES, SKILL, Brought, find_notes, read_notes, read_plain
from kith.tools.skill import make_skill
from kith.tools.wrappers import FindNotes, tell_notes
from kith.trees.local import LocalTree
from kith.trees.walk import walk

OWN_SKILLS: Final = "skills"
_LARGEST: Final = 1 << 20  # bytes of one of the person's own files
_LISTED: Final = 200  # files of one skill
Parts = tuple[tuple[str, str], ...]  # name and text of each


class Knowledge(Struct, frozen=True):
    """Notes of the person and of the project, and skills by their names; `faults` says what is left out."""

    notes: tuple[ProjectNote, ...] = ()
    skills: tuple[Skill, ...] = ()
    faults: tuple[str, ...] = ()


def gather(chosen: Settings) -> Knowledge:
    """Gather notes and skills: the person's own, and a project's if it is trusted."""
    notes = [*_own_notes(chosen.config), *_notes_of_project(chosen)]
    skills: dict[str, Skill] = {}
    faults = list(chosen.brought.left_out) if chosen.brought.standing != "declined" else []
    for text, folder, own in (*_skills_of_project(chosen), *_own_skills(chosen.config)):
        try:
            skill = read_skill(text, folder)
        except UsageError as error:
            faults.append(f"{error} It is left out.")
            continue
        skills[skill.name] = _placed(skill, chosen.brought.root, own=own)
    return Knowledge(tuple(notes), tuple(skills[name] for name in sorted(skills)), tuple(faults))


def _placed(skill: Skill, root: Path, *, own: bool) -> Skill:
    """The skill as its files are reached: what is in kith's folder belongs to no tree."""
    if not own and not skill.folder.startswith(f"{FOLDER}/"):
        return skill
    folder = root / skill.folder  # the person's own is absolute
    return replace(skill, folder=str(folder), own=own, files=tuple(islice(_files_below(folder), _LISTED)))


def _notes_of_project(chosen: Settings) -> Iterator[ProjectNote]:
    path = chosen.brought.notes
    text = chosen.brought.text(path) if path else ""
    if text.strip():
        yield ProjectNote(path, text)


def _skills_of_project(chosen: Settings) -> Iterator[tuple[str, str, bool]]:
    for path in chosen.brought.skills:
        if text := chosen.brought.text(path):
            yield text, path.removesuffix(f"/{SKILL}"), False


def _own_notes(config: Path) -> Iterator[ProjectNote]:
    """The person's own, in their folder of configuration; a link is theirs to make."""
    for name in NOTES:
        text = _read_own(config / name) if (config / name).is_file() else ""
        if text.strip():
            yield ProjectNote(_from_home(config / name), text, OF_USER)
            return


def _own_skills(config: Path) -> Iterator[tuple[str, str, bool]]:
    for path in sorted((config / OWN_SKILLS).glob(f"*/{SKILL}")):
        yield _read_own(path), str(path.parent), True


def _read_own(path: Path) -> str:
    """Raises UsageError."""
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not written in UTF-8"
        raise UsageError(f"{path} cannot be read: {reason}.") from error


def _files_below(folder: Path) -> Iterator[str]:
    """The files of a skill, without its words."""
    for visit in walk(folder):
        visit.folders = sorted(name for name in visit.folders if not name.startswith("."))
        paths = (visit.inside + name for name in sorted(visit.files))
        yield from (path for path in paths if path != SKILL)


def _from_home(path: Path) -> str:
    home = os.environ.get("HOME", "")
    return f"~/{path.relative_to(home)}" if home and path.is_relative_to(home) else str(path)


# --- in the first message ------------------------------------------------------------------------


def opening_of(knowledge: Knowledge, window: int) -> Parts:
    """Return the opening of a conversation's first message, within its share of the window."""
    room = knowledge_room(window)
    needs = [estimate_tokens(f"{note.heading} ({note.path})\n{note.text}") + 1 for note in knowledge.notes]
    listed = estimate_tokens(list_skills(knowledge.skills, room))
    *rooms, for_skills = share_room([*needs, listed], room)
    names = ("your notes" if note.heading == OF_USER else "project notes" for note in knowledge.notes)
    told = (tell_note(note, room) for note, room in zip(knowledge.notes, rooms, strict=True))
    parts = (*zip(names, told, strict=True), ("skills", list_skills(knowledge.skills, for_skills)))
    return tuple((name, text) for name, text in parts if text)


def tell_known(knowledge: Knowledge, window: int) -> str:
    """The same as one text."""
    return "\n\n".join(text for _, text in opening_of(knowledge, window))


def tell_notes_of(chosen: Settings, window: int) -> str:
    """The notes alone: for roles that read no skills."""
    return tell_known(Knowledge(gather(chosen).notes), window)


def tell_faults(knowledge: Knowledge, window: int, emit: Emit) -> None:
    """Say what is left out, and what is shown in part only."""
    for fault in knowledge.faults:
        emit(Notice(fault, "warning"))
    shown = "\n".join(text for _, text in opening_of(knowledge, window))
    for note in knowledge.notes:
        if note.text.strip() not in shown:
            tokens = estimate_tokens(note.text)
            room = f"an eighth of its window is {knowledge_room(window):,}"
            emit(
                Notice(f"{note.path} has about {tokens:,} tokens; the model sees a part: {room}.", "warning")
            )


# --- while the model works -----------------------------------------------------------------------


def offers_skills(knowledge: Knowledge, said: Sequence[Message]) -> bool:
    """True if a model may read skills: the conversation began with them, or begins where some exist."""
    if not said:
        return bool(knowledge.skills)
    return any(f"{HEADING}\n" in message.text for message in said[: opening(said)])


def skill_tool(knowledge: Knowledge, window: int) -> Tool:
    """The tool by which a model reads a skill."""
    return make_skill(knowledge.skills, _read_beside, output_room(window, 24_000))


def _read_beside(skill: Skill, file: str) -> bytes:
    """Read a file of a skill outside the tree. Raises TreeError for any other.

    A project's links are not followed; the person's own are.
    """
    if file != SKILL and file not in skill.files:
        raise TreeError(f"the skill {skill.name} has no file {file!r}")
    place = Path(skill.folder) / file
    try:
        data = read_plain(place.resolve() if skill.own else place, _LARGEST)
    except OSError as error:
        raise TreeError(f"{file} cannot be read: {error.strerror}") from error
    if data is None:
        raise TreeError(f"{file} is not a file")
    return data


# Notes for agents in a project's folders: found where a file is touched, counting as they were shown.

_HEADED: Final = re.compile(rf"^{OF_PROJECT} \((.+)\)$", re.M)
Said = Callable[[], Iterable[Message]]
MOST: Final = 50  # that are shown with the question whether to trust a folder


async def list_nested(tree: LocalTree) -> dict[str, bytes]:
    """The notes of all folders inside a tree; those that nobody could read are left out, and count never."""
    names = tuple(f"/{name}" for name in NOTES)
    folders = {path.rpartition("/")[0] for path in await tree.files() if path.endswith(names)}
    found = {}
    for folder in sorted(folders)[:MOST]:
        if note := _read(tree.root, folder):
            found[note[0]] = note[1]
    return found


def _read(root: Path, folder: str) -> tuple[str, bytes] | None:
    """The path and the text of the notes in a folder."""
    name = find_notes(root / folder)
    try:
        return (f"{folder}/{name}", read_notes(root, f"{folder}/{name}")) if name else None
    except UsageError:
        return None


def last_ruling(log: Log, root: Path, brought: Brought) -> FolderRuling | None:
    """Return the person's last decision on the folder's files as they are now."""
    return ruling_on(said_of(log, root), brought.digest)


def texts_shown(log: Log, ruling: FolderRuling | None, brought: Brought) -> Mapping[str, str]:
    """The notes of folders inside as they were shown for an answer."""
    shown = texts_of(log, ruling) if ruling else {}
    return {path: text for path, text in shown.items() if path not in brought.files}


def with_nested(
    project: Project, tools: tuple[Tool, ...], said: Said, window: int, emit: Emit
) -> tuple[Tool, ...]:
    """The tools, which tell the notes of a folder when they first touch a file below it.

    `said` gives the conversation so far: what it holds is not told again.
    """

    def told() -> Iterator[str]:
        return (path for message in said() for path in _told_in(message))

    return tell_notes(tools, _finder(project, emit), told, knowledge_room(window))


def _told_in(message: Message) -> Iterator[str]:
    """The paths of the notes behind the answers of tools, and behind files that a person named."""
    for result in message.results:
        yield from result.detail.get(TOLD) or ()
    if message.role == "user":
        yield from _HEADED.findall(message.text)


def _finder(project: Project, emit: Emit) -> FindNotes:
    """Reads the person's own tree: what a model writes into its trial becomes nobody's orders."""
    brought = project.settings.brought
    refused: set[str] = set()
    trusted: Mapping[str, str] | None = None

    async def find(path: str) -> Sequence[ProjectNote]:
        nonlocal trusted
        notes = []
        for folder in _folders_above(path):
            found = _read(project.root, folder)
            if found is None:
                continue
            if trusted is None:
                trusted = _trusted(project)
            name, text = found[0], found[1].decode()
            if trusted.get(name) == text:
                notes.append(ProjectNote(name, text.removeprefix("\ufeff")))
            elif name not in refused and brought.standing != "declined":
                refused.add(name)
                emit(Notice(f"{name} is ignored: you have not trusted its present content; see kith trust."))
        return notes

    return find


def _trusted(project: Project) -> Mapping[str, str]:
    brought = project.settings.brought
    ruling = last_ruling(project.log, project.root, brought)
    yes = ruling is not None and ruling.choice == YES
    return texts_shown(project.log, ruling, brought) if yes else {}


def _folders_above(path: str) -> list[str]:
    """The folders that a file lies in, the outermost first, without the project's own."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))] if ".." not in parts else []
