"""What a person agreed to: read from their answers in the log, the last one about a model holds."""

from dataclasses import dataclass
from pathlib import Path

from kith.core.run import new_id
from kith.memory.log import Log

ALWAYS, ASK_AGAIN = "always", "ask again"
_MARK = "cloud"
_BETWEEN = "\t"  # in no name, address or word


@dataclass(frozen=True, slots=True)
class Consent:
    """A model at an address may be sent what work of one group holds."""

    model: str
    server: str
    group: str

    def question_id(self) -> str:
        """A fresh id for the question about it, from which an answer is understood later."""
        return _BETWEEN.join((_MARK, self.model, self.server, self.group, new_id()))


def agreed(log: Log, root: Path, session: str = "") -> tuple[Consent, ...]:
    """What the person agreed to for good in a project, or in this session of it, in the order of answers."""
    found = dict[Consent, str]()
    for of, place, id, choice in log.answers(_MARK + _BETWEEN):
        _, *names, _ = id.split(_BETWEEN)
        counts = choice in (ALWAYS, ASK_AGAIN) or (choice == "yes" and of == session)
        if place == str(root) and len(names) == 3 and counts:
            found[Consent(*names)] = choice
    return tuple(consent for consent, choice in found.items() if choice != ASK_AGAIN)
