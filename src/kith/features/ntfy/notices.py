"""Send a notice when a question waits, and when a long task is over; nothing of the code is in it."""

import os
import threading
import time
from contextlib import suppress
from urllib.parse import quote
from urllib.request import Request, urlopen

from kith.core.events import Answered, Asked, Event, RunEnded, RunStarted
from kith.core.run import short_session
from kith.features.ntfy import NtfySettings

_TIMEOUT_S = 5.0
_ENDS = {"done": "done", "failed": "failed", "held": "held back", "limit": "stopped at a limit"}


class Notifier:
    """Hears the events of one session. A notice is sent from a thread of its own, and never raises."""

    def __init__(self, chosen: NtfySettings, project: str, session: str) -> None:
        self._chosen, self._project, self._session = chosen, project, session
        self._waiting: dict[str, threading.Timer] = {}
        self._began = time.monotonic()

    def __call__(self, event: Event, path: tuple[str, ...]) -> None:
        match event:
            case RunStarted():
                self._began = time.monotonic()
            case Asked(question):
                self._later(question.id)
            case Answered(question_id):
                if timer := self._waiting.pop(question_id, None):
                    timer.cancel()
            case RunEnded(status):
                for timer in self._waiting.values():
                    timer.cancel()
                long = time.monotonic() - self._began >= self._chosen.after_seconds
                if long and status in _ENDS:
                    # Not a daemon: a process that ends waits for it, for a few seconds at most.
                    threading.Thread(target=self._send, args=(f"The task is {_ENDS[status]}.",)).start()

    def _later(self, question: str) -> None:
        timer = threading.Timer(self._chosen.after_seconds, self._send, ("kith asks you something.",))
        timer.daemon = True
        self._waiting[question] = timer
        timer.start()

    def _send(self, words: str) -> None:
        """One POST in the form of ntfy: https://docs.ntfy.sh/publish/."""
        headers = {"Title": ascii(f"kith in {self._project}")[1:-1]}
        if self._chosen.page:
            headers["Click"] = f"{self._chosen.page.rstrip('/')}/sessions/{quote(self._session)}"
        if token := os.environ.get(self._chosen.token_env or ""):
            headers["Authorization"] = f"Bearer {token}"
        body = f"{words} Session {short_session(self._session)}.".encode()
        request = Request(self._chosen.url, body, headers, method="POST")
        with suppress(OSError, ValueError), urlopen(request, timeout=_TIMEOUT_S):
            pass
