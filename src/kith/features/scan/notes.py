"""What a scan need not find out again: its own words, kept under a name until what they rest on changes."""

import json
from typing import Any, Protocol


class Notes(Protocol):
    """Where texts are kept from one scan to the next."""

    def note(self, name: str) -> str: ...

    def write_note(self, name: str, text: str) -> None: ...


def recall(notes: Notes, name: str, rests_on: str) -> Any:
    """What was kept under a name, as JSON data; None when it rests on something else, or cannot be read."""
    try:
        kept = json.loads(notes.note(name) or "null")
    except ValueError:
        return None
    return kept.get("told") if isinstance(kept, dict) and kept.get("rests_on") == rests_on else None


def keep(notes: Notes, name: str, rests_on: str, told: Any) -> None:
    """Keep JSON data under a name, and what it rests on."""
    notes.write_note(name, json.dumps({"rests_on": rests_on, "told": told}))
