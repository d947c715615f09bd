"""Names of trials, of the threads of councils and of the contents of files."""

from hashlib import sha1
from typing import Final


def trial_name(session: str, task: int) -> str:
    """The trial of a session's task, by its number."""
    return f"{trials_of(session)}{task}"


def trials_of(session: str) -> str:
    """Return the prefix that the names of a session's trials share."""
    return f"{session}-"


def session_of(trial: str) -> str:
    """The session whose trial is called so."""
    return trial.rpartition("-")[0]


def trial_after(trial: str, steps: int) -> str:
    """The trial of the same session so many numbers later."""
    return trial_name(session_of(trial), int(trial.rpartition("-")[2]) + steps)


# How the conversations of a council are called: one for each member, below the council's own name.

_BEGIN: Final = "council/"


def council_thread(council: str, who: str) -> str:
    """The thread of one who speaks in a council."""
    return f"{_BEGIN}{council}/{who}"


def place_of(thread: str) -> tuple[str, str] | None:
    """Return the council of a thread and its speaker; None for any other thread."""
    if not thread.startswith(_BEGIN):
        return None
    council, _, who = thread.removeprefix(_BEGIN).partition("/")
    return council, who


def blob_id(content: bytes) -> str:
    """The SHA-1 of git's blob form, in hexadecimal.

    https://git-scm.com/book/en/v2/Git-Internals-Git-Objects
    """
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
