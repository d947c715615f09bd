"""The API as a script uses it, with models that play scripts."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx2

from serving import Serving
from waiting import until


class Api:
    """Requests to one server; `check` is off unless a test wants it."""

    def __init__(self, serve: Serving, scripts: Path) -> None:
        self.serve, self.scripts, self._made = serve, scripts, 0

    @property
    def client(self) -> httpx2.Client:
        return self.serve.client

    def script(self, replies: Sequence[Any]) -> str:
        """The name of a model that answers so."""
        self._made += 1
        file = self.scripts / f"script-{self._made}.json"
        file.write_text(json.dumps(list(replies)))
        return f"replay/{file}"

    def get(self, path: str) -> Any:
        answered = self.client.get(f"/api/{path}")
        assert answered.status_code == 200, answered.text
        return answered.json()

    def post(self, path: str, body: dict[str, Any]) -> httpx2.Response:
        return self.client.post(f"/api/{path}", json=body)

    def begin(self, replies: Sequence[Any], words: str = "Mend mean()", **more: Any) -> str:
        body = {"words": words, "model": self.script(replies), "check": ["none"], **more}
        begun = self.post("sessions", body)
        assert begun.status_code == 201, begun.text
        return str(begun.json()["session"])

    def until(self, what: Callable[[], Any]) -> Any:
        return until(what)

    def question(self, session: str) -> dict[str, Any]:
        return self.until(lambda: self.get(f"sessions/{session}")["question"])  # type: ignore[no-any-return]

    def ended(self, session: str) -> dict[str, Any]:
        def over() -> Any:
            now = self.get(f"sessions/{session}")
            return now["status"] != "unfinished" and now

        return self.until(over)  # type: ignore[no-any-return]

    def events(self, session: str, after: str = "0") -> list[dict[str, Any]]:
        """What the log holds of a session."""
        page = self.get(f"sessions/{session}/events?format=json&after={after}")
        return list(page["events"])
