"""What a person agreed to: read from their answers in the log, the last one about a model holds."""

from pathlib import Path

from kith.core.values import Consent
from kith.memory.log import Log

ALWAYS, ASK_AGAIN = "always", "ask again"


def agreed(log: Log, root: Path, session: str = "") -> tuple[Consent, ...]:
    """What the person agreed to for good in a project, or in this session of it, in the order of answers."""
    found = dict[Consent, str]()
    for of, place, _, consent, choice in log.answers(Consent):
        counts = choice in (ALWAYS, ASK_AGAIN) or (choice == "yes" and of == session)
        if place == str(root) and counts:
            found[consent] = choice
    return tuple(consent for consent, choice in found.items() if choice != ASK_AGAIN)
