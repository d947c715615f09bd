"""Tasks of a fleet: what one asks for, and how files of tasks are read."""

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct, field

from kith.core.errors import UsageError

KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")  # it names a branch and a folder
# Transports that run no program of the submitter's choice, as `ext::` would.
_URL: Final = re.compile(r"(?:https?|ssh|git|file)://[^\s-]\S*|[\w.-]+@[\w.-]+:\S+")
_LONGEST: Final = 200_000  # bytes of a request, as for `kith run`

Positive = Annotated[int, Meta(ge=1)]


class FleetTask(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One task of a batch: a repository at a revision, what kith does there, and within which limits.

    `key` names it within its batch. `alone`: no other task of the same repository runs at the same time.
    Limits of None are those of the worker's configuration.
    """

    repository: str
    request: str = ""
    command: Literal["run", "build", "review", "bench"] = "run"
    revision: str = "HEAD"
    key: str = ""
    model: str = ""
    check: str = ""
    require: Literal["", "unproven", "held", "proven"] = ""
    max_seconds: Positive | None = None
    max_tokens: Positive | None = None
    max_usd: Annotated[float, Meta(gt=0)] | None = None
    priority: Annotated[int, Meta(ge=-100, le=100)] = 0
    labels: tuple[str, ...] = field(default=())
    alone: bool = False


def read_tasks(lines: Iterable[str], name: str) -> Iterator[FleetTask]:
    """Read one JSON object a line; `name` is the file's. Raises UsageError with the line's number."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield check_task(msgspec.json.decode(line, type=FleetTask))
        except msgspec.DecodeError as error:
            raise UsageError(f"{name}, line {number}: {error}.") from error
        except UsageError as error:
            raise UsageError(f"{name}, line {number}: {error}") from error


def check_task(task: FleetTask) -> FleetTask:
    """The task with an absolute repository. Raises UsageError for what no worker could do."""
    if task.command in ("run", "build") and not task.request.strip():
        raise UsageError(f"A task for `{task.command}` needs a request.")
    if len(task.request.encode()) > _LONGEST:
        raise UsageError(f"The request is over the limit of {_LONGEST:,} bytes.")
    if task.key and not KEY.fullmatch(task.key):
        raise UsageError(
            f"{task.key!r} is no key: letters, digits, dots, dashes and underscores, at most 80."
        )
    if not task.revision or task.revision.startswith("-"):
        raise UsageError(f"{task.revision!r} is no revision.")
    return msgspec.structs.replace(task, repository=find_repository(task.repository))


def find_repository(words: str) -> str:
    """The URL, or the absolute path of a folder. Raises UsageError for other words."""
    if _URL.fullmatch(words):
        if "@" in words and urlsplit(words).password:
            raise UsageError(
                "The repository's address holds a password, which everybody in the fleet could read; "
                "let git on the workers know it."
            )
        return words
    if words.startswith("-") or "::" in words or not words:
        raise UsageError(f"{words!r} is no repository: a path, or a URL of http(s), ssh, git or file.")
    path = Path(words).expanduser().resolve()
    if not path.is_dir():
        raise UsageError(f"{words} is no folder and no URL of a repository.")
    return str(path)


def name_tasks(tasks: Sequence[FleetTask]) -> list[FleetTask]:
    """Give a key to each task that has none: its number. Raises UsageError where a key comes twice."""
    width, seen = len(str(len(tasks))), set[str]()
    named = list[FleetTask]()
    for number, task in enumerate(tasks, 1):
        key = task.key or f"{number:0{width}}"
        if key in seen:
            raise UsageError(f"The key {key!r} comes twice.")
        seen.add(key)
        named.append(msgspec.structs.replace(task, key=key))
    return named


def queue_of(model: str) -> str:
    """The queue of tasks for a model.

    procrastinate's notification channel takes at most 40 bytes of a queue's name.
    """
    return f"model-{sha256(model.encode()).hexdigest()[:20]}" if model else "any"


def encode_task(task: FleetTask) -> str:
    return msgspec.json.encode(task).decode()


def decode_task(data: object) -> FleetTask:
    """A task as the database holds it. Raises msgspec.ValidationError for one of a later kith."""
    return msgspec.convert(data, FleetTask)
