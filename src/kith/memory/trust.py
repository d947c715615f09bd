"""Read a person's decisions about the configuration files of a folder from the log."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from kith.core.events import Asked
from kith.core.values import FolderFiles
from kith.memory.log import LOG_FILE, Log

YES: Final = "yes"
NO: Final = "no"
FORGET: Final = "forget"  # all that was said of the folder


@dataclass(frozen=True, slots=True)
class FolderRuling:
    """A person's answer about a folder's files as they were: with which digest, in which session."""

    digest: str
    choice: str
    session: str
    question: str


def said_of(log: Log, root: Path) -> tuple[FolderRuling, ...]:
    """Return the decisions about a folder since they were last reset, oldest first."""
    return everything_said(log).get(str(root), ())


def standing_of(state: Path, root: Path, digest: str) -> Literal["new", "changed", "declined", "trusted"]:
    """Return the state of a folder's files as they are now. Raises KithError where the log is broken."""
    said = said_of(Log(state / LOG_FILE), root) if (state / LOG_FILE).is_file() else ()
    choice = {each.digest: each.choice for each in said}.get(digest)
    if choice is not None:
        return "trusted" if choice == YES else "declined"
    return "changed" if last_trusted(said) else "new"


def everything_said(log: Log) -> Mapping[str, tuple[FolderRuling, ...]]:
    """Return the decisions about every folder."""
    found: dict[str, tuple[FolderRuling, ...]] = {}
    for session, place, id, files, choice in log.answers(FolderFiles):
        if choice == FORGET:
            found.pop(place, None)
        else:
            found[place] = (*found.get(place, ()), FolderRuling(files.digest, choice, session, id))
    return found


def last_trusted(said: tuple[FolderRuling, ...]) -> FolderRuling | None:
    """The newest yes that no later no to the same files revoked."""
    final = {each.digest: each for each in said}
    return next((each for each in reversed(said) if final[each.digest] is each and each.choice == YES), None)


def ruling_on(said: tuple[FolderRuling, ...], digest: str) -> FolderRuling | None:
    """The last answer about files with this digest."""
    return next((each for each in reversed(said) if each.digest == digest), None)


def texts_of(log: Log, said: FolderRuling) -> dict[str, str]:
    """The files as they were shown for an answer, as far as the log holds them: path -> text."""
    for record in log.events(said.session, kinds=("Asked",)):
        if isinstance(record.event, Asked) and record.event.question.id == said.question:
            return {file.path: _text(file.diff) for file in record.event.question.files}
    return {}


def _text(diff: str) -> str:
    """The text of a file that a diff makes out of nothing."""
    body = diff.partition("\n@@")[2].partition("\n")[2]
    text = "".join(f"{line[1:]}\n" for line in body.split("\n") if line.startswith("+"))
    return text.removesuffix("\n") if "\n\\ No newline" in body else text
