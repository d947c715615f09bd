"""Shell commands, as far as one can be sure of them: read, judged, remembered; nothing is run here."""

from kith.shell.decide import TRUSTING, UNSEEN, Judgement, Look, decide
from kith.shell.kinds import Read
from kith.shell.parse import NotPlainError, Simple, Word, parse
from kith.shell.pattern import is_within, pattern_of
from kith.shell.surroundings import safe_environment

__all__ = [
    "TRUSTING",
    "UNSEEN",
    "Judgement",
    "Look",
    "NotPlainError",
    "Read",
    "Simple",
    "Word",
    "decide",
    "is_within",
    "parse",
    "pattern_of",
    "safe_environment",
]
