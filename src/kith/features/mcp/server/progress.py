"""What happens in a session, as the line that a client shows while its call lasts."""

import json
from collections.abc import Callable
from typing import Any, Final

from kith.memory.live import Seen


def progress_of(seen: Seen) -> str:
    """An event in a line; "" for one that tells a client nothing."""
    if seen.kind not in _LINES:
        return ""
    return _LINES[seen.kind](json.loads(seen.body))


_LINES: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "Stepped": lambda body: str(body["name"]) if body["state"] == "began" else "",
    "Notice": lambda body: str(body["text"]),
    "ToolEnded": lambda body: str(body["line"] or body["name"]),
    "Judged": lambda body: f"{body['gate']}: {'yes' if body['ok'] else 'no'}",
    "Asked": lambda body: f"A person is asked: {body['question']['text']}",
}
