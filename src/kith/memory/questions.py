"""What a session waits for, as the log tells it to any process."""

import json

from kith.core.events import Asked
from kith.core.values import Question
from kith.memory.asides import KINDS
from kith.memory.inbox import Inbox
from kith.memory.listing import last_apply, last_task
from kith.memory.log import Log
from kith.memory.rows import try_decode

_ASIDES = ", ".join(f"'{kind}'" for kind in KINDS)
_LAST_KIND = f"""
SELECT json_extract(body, '$.options.kind') FROM events WHERE session = ? AND kind = 'RunStarted'
AND COALESCE(json_extract(body, '$.options.kind'), '') NOT IN ({_ASIDES}) ORDER BY seq DESC LIMIT 1
"""
# Ends that nobody goes on from, of the commands that can be gone on with.
OVER = {"run": ("done", "rejected", "failed"), "build": ("done", "rejected")}
_LAST = """
SELECT kind, body FROM events WHERE session = ? AND seq > ? AND kind IN ('Asked', 'Answered')
ORDER BY seq DESC LIMIT 1
"""


def open_question(log: Log, session: str) -> Question | None:
    """The question that nobody has answered yet, without contents of files; None when there is none.

    A question outlives the process that asked it only in the log: whether anybody still waits for the answer,
    `Log.is_open` says.
    """
    begin, end = last_task(log.query, session)
    if end:  # a change that waited may be about to be applied
        begin, end = last_apply(log.query, session, begin)
    for kind, body in log.query(_LAST, (session, begin)) if begin and not end else ():
        if kind == "Asked":
            asked = try_decode("Asked", body)
            if isinstance(asked, Asked) and not Inbox(log, session).answer_to(asked.question.id):
                return asked.question
            return None
    return None


def was_cut_off(log: Log, session: str) -> bool:
    """Whether the log tells of no end of the last task: somebody works on it, or the process has died."""
    begin, end = last_task(log.query, session)
    return begin > 0 and not end


def can_resume(log: Log, session: str) -> bool:
    """Whether the last task is not over, so that a process can go on with it once none works on it."""
    kind = last_kind(log, session)
    if kind not in OVER:
        return False
    begin, end = last_task(log.query, session)
    _, applied = last_apply(log.query, session, begin)
    if applied and json.loads(applied)["status"] == "done":
        return False
    return not end or json.loads(end)["status"] not in OVER[kind]


def last_kind(log: Log, session: str) -> str:
    """The command that began the last task: run, build, confer ...; "" where there was none."""
    return next((kind or "run" for (kind,) in log.query(_LAST_KIND, (session,))), "")
