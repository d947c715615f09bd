"""Keep what a scan found out, under a name, until what it rests on changes."""

import json
from typing import Any, Protocol


class ScanCache(Protocol):
    """A store of texts from one scan to the next."""

    def note(self, name: str) -> str: ...

    def write_note(self, name: str, text: str) -> None: ...


def recall(notes: ScanCache, name: str, rests_on: str) -> Any:
    """Read what was kept under a name, as JSON data; None if it rests on something else or is unreadable."""
    try:
        kept = json.loads(notes.note(name) or "null")
    except ValueError:
        return None
    return kept.get("told") if isinstance(kept, dict) and kept.get("rests_on") == rests_on else None


def keep(notes: ScanCache, name: str, rests_on: str, told: Any) -> None:
    """Keep JSON data under a name, and what it rests on."""
    notes.write_note(name, json.dumps({"rests_on": rests_on, "told": told}))
