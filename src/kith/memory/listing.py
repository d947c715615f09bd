"""Sessions in a list: what each was about, under which name, and how it ended."""

import json
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from kith.memory.database import APPLY, ASIDES, COMMAND

Query = Callable[[str, Sequence[object]], list[Any]]
Started = dict[str, Any]

_NEWEST_FIRST: Final = """
SELECT session, MAX(at), (
  SELECT body FROM events first WHERE first.session = events.session AND first.kind = 'RunStarted'
  ORDER BY first.seq LIMIT 1)
FROM events WHERE kind IN ('RunStarted', 'RunEnded', 'Applied') GROUP BY session ORDER BY MAX(seq) DESC
"""
_NAME: Final = """
SELECT body FROM events WHERE session = ? AND kind = 'Named' ORDER BY seq DESC LIMIT 1
"""
_IN_INDEX: Final = "kind IN ('RunStarted', 'RunEnded', 'Resumed')"  # in the words of the index `tasks`
_ASIDES: Final = ", ".join(f"'{kind}'" for kind in ASIDES)
_KIND_OF: Final = "COALESCE(json_extract(body, '$.options.kind'), '')"
_IS_TASK: Final = f"kind = 'RunStarted' AND {_KIND_OF} NOT IN ({_ASIDES})"
_IS_APPLY: Final = f"kind = 'RunStarted' AND {_KIND_OF} = '{APPLY}'"
# Of the last task, or the last time that somebody went on with it.
_LAST_BEGIN: Final = f"""
SELECT seq FROM events WHERE session = ? AND {_IN_INDEX} AND (kind = 'Resumed' OR {_IS_TASK})
ORDER BY seq DESC LIMIT 1
"""
_LAST_APPLY: Final = f"""
SELECT seq FROM events WHERE session = ? AND seq > ? AND {_IN_INDEX} AND {_IS_APPLY} ORDER BY seq DESC LIMIT 1
"""
_BEGINS: Final = f"""
SELECT seq FROM events WHERE session = ? AND {_IN_INDEX} AND {_IS_TASK} ORDER BY seq DESC LIMIT 1 OFFSET ?
"""
_NEXT_TURN: Final = f"""
SELECT kind, body FROM events WHERE session = ? AND {_IN_INDEX} AND seq > ? AND kind <> 'Resumed'
ORDER BY seq LIMIT 1
"""
_TASKS: Final = """
SELECT body FROM events WHERE session = ? AND kind IN ('RunStarted', 'RunEnded', 'Named')
"""


class Summary(Struct, frozen=True):
    """A session in a line: its first task, its folder, when it last did something, how it ended.

    `title` is the name that the person gave it, else its first task in one line. `source` is the session
    that it is a fork of, `kind` the command that began it.
    """

    id: str
    task: str
    root: str
    model: str
    at: float
    status: str
    title: str = ""
    source: str = ""
    kind: str = "run"

    @property
    def talks(self) -> bool:
        """True if it is a conversation that a person can continue."""
        return self.kind in ("run", "fork", COMMAND)


def list_sessions(
    query: Query, root: str | None, limit: int, also: Container[str] = (), words: str = ""
) -> Iterator[Summary]:
    """The newest sessions first, those of one folder if given; of `also` old ones, too.

    With `words`, those whose id, name, tasks or last words contain all of them.
    """
    wanted = words.casefold().split()
    found = 0
    for session, at, body in query(_NEWEST_FIRST, ()):
        started = _read(body)
        if root not in (None, started.get("root", "")):
            continue
        if found >= limit and not also:
            return
        if (found >= limit and session not in also) or not _holds(query, session, wanted):
            continue
        found += 1
        yield _summarise(query, session, at, started)


def _summarise(query: Query, session: str, at: float, started: Started) -> Summary:
    task, options = str(started.get("task", "")), started.get("options") or {}
    begin, ended = last_task(query, session)
    _, applied = last_apply(query, session, begin)
    status = str(_read(ended).get("status", "done")) if ended or not begin else "unfinished"
    return Summary(
        session,
        task,
        str(started.get("root", "")),
        str(started.get("model", "")),
        at,
        "done" if _read(applied).get("status") == "done" else status,
        _name(query, session) or first_line(task),
        str(options.get("source", "")),
        str(options.get("kind") or ("run" if options.get("plan") else "")),
    )


def last_task(query: Query, session: str) -> tuple[int, str]:
    """Find the start of a session's last task, or of its last resume, and its RunEnded as JSON.

    0 where there was no task, "" while it has no end. The person's own commands since then are no tasks.
    """
    begin = next((int(seq) for (seq,) in query(_LAST_BEGIN, (session,))), 0)
    for kind, body in query(_NEXT_TURN, (session, begin)) if begin else ():
        return begin, str(body) if kind == "RunEnded" else ""
    return begin, ""


def last_apply(query: Query, session: str, task: int) -> tuple[int, str]:
    """Find the last attempt to apply a task's waiting change, and its RunEnded as JSON.

    `task` is where the task began. 0 where there was none, "" while it runs or has died.
    """
    begin = next((int(seq) for (seq,) in query(_LAST_APPLY, (session, task))), 0)
    for kind, body in query(_NEXT_TURN, (session, begin)) if begin else ():
        return begin, str(body) if kind == "RunEnded" else ""
    return begin, ""


def task_begin(query: Query, session: str, back: int) -> int:
    """The number of the event with which a task began (`back` 1: the last one); 0 where there are fewer."""
    return next((int(seq) for (seq,) in query(_BEGINS, (session, back - 1))), 0)


def first_line(words: str) -> str:
    """The first line of some words that says anything."""
    return next((line.strip() for line in words.split("\n") if line.strip()), "")


def _name(query: Query, session: str) -> str:
    return next((str(_read(body).get("title", "")) for (body,) in query(_NAME, (session,))), "")


def _holds(query: Query, session: str, wanted: Sequence[str]) -> bool:
    if not wanted:
        return True
    told = [_read(body) for (body,) in query(_TASKS, (session,))]
    text = "\n".join(
        [session, *(str(each.get(key, "")) for each in told for key in ("task", "text", "title"))]
    )
    return all(word in text.casefold() for word in wanted)


def _read(body: str | None) -> dict[str, Any]:
    """An event as plain data; nothing of one that cannot be read."""
    try:
        data = json.loads(body or "{}")
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
