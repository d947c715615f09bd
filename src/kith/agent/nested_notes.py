"""Notes for agents in a project's folders: found where a file is touched, counting as they were shown."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from kith.agent.project import Project
from kith.context.notes import OF_PROJECT, TOLD, Note
from kith.context.rooms import knowledge_room
from kith.core.errors import UsageError
from kith.core.events import Notice
from kith.core.model import Emit, Tool
from kith.core.values import Message
from kith.memory.log import Log
from kith.memory.trust import YES, FolderRuling, ruling_on, said_of, texts_of
from kith.settings.brought import NOTES, Brought, find_notes, read_notes
from kith.tools.notes import FindNotes, tell_notes
from kith.trees.local import LocalTree

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
    """What the person said last of the files that a folder brings, as they are."""
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

    async def find(path: str) -> Sequence[Note]:
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
                notes.append(Note(name, text.removeprefix("\ufeff")))
            elif name not in refused and brought.standing != "declined":
                refused.add(name)
                emit(Notice(f"{name} is ignored: you have not trusted it as it is; see kith trust."))
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
