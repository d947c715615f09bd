"""Shell commands, as far as one can be sure of them: read, judged, remembered; nothing is run here."""

from kith.shell.decide import TRUSTING, UNSEEN, Decision, Look, decide
from kith.shell.parse import NotPlainError, Simple, Word, parse
from kith.shell.pattern import is_within, pattern_of

__all__ = [
    "TRUSTING",
    "UNSEEN",
    "Decision",
    "Look",
    "NotPlainError",
    "Simple",
    "Word",
    "decide",
    "is_within",
    "parse",
    "pattern_of",
]
