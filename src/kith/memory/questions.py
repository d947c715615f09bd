"""What a session waits for, as the log tells it to any process."""

import json

from kith.core.codec import decode
from kith.core.values import Question
from kith.memory.inbox import Inbox
from kith.memory.log import Log

_LAST = """
SELECT kind, body FROM events WHERE session = ?
AND kind IN ('Asked', 'Answered', 'RunStarted', 'RunEnded') ORDER BY seq DESC LIMIT 1
"""


def open_question(log: Log, session: str) -> Question | None:
    """The question that nobody has answered yet, without contents of files; None when there is none.

    A question outlives the process that asked it only in the log: whether anybody still waits for the answer,
    `Log.is_open` says.
    """
    for kind, body in log.query(_LAST, (session,)):
        if kind == "Asked":
            question: Question = decode(json.loads(body)["question"], Question)
            return None if Inbox(log, session).answer_to(question.id) else question
    return None
