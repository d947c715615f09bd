"""What a person agreed to: read from their answers in the log, the last one about a model holds."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import astuple, dataclass
from pathlib import Path

from kith.core.run import new_id
from kith.memory.log import Log

ALWAYS, ASK_AGAIN = "always", "ask again"
_MARK = "cloud."


@dataclass(frozen=True, slots=True)
class Consent:
    """A model at an address may be sent what work of one group holds."""

    model: str
    server: str
    group: str

    def question_id(self) -> str:
        """A fresh id for the question about it, from which an answer is understood later.

        It stands in addresses (`.../answers/ID`), where names and slashes as they are would not.
        """
        told = urlsafe_b64encode(json.dumps(astuple(self)).encode()).decode().rstrip("=")
        return f"{_MARK}{told}.{new_id()}"

    @classmethod
    def of(cls, question_id: str) -> "Consent":
        """What a question with this id was about."""
        told = question_id.removeprefix(_MARK).partition(".")[0]
        return cls(*json.loads(urlsafe_b64decode(told + "=" * (-len(told) % 4))))


def agreed(log: Log, root: Path, session: str = "") -> tuple[Consent, ...]:
    """What the person agreed to for good in a project, or in this session of it, in the order of answers."""
    found = dict[Consent, str]()
    for of, place, id, choice in log.answers(_MARK):
        counts = choice in (ALWAYS, ASK_AGAIN) or (choice == "yes" and of == session)
        if place == str(root) and counts:
            found[Consent.of(id)] = choice
    return tuple(consent for consent, choice in found.items() if choice != ASK_AGAIN)
