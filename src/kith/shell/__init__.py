"""Shell commands, as far as one can be sure of them: read, judged, remembered; nothing is run here."""

from kith.shell.argument_kinds import Read
from kith.shell.decide import (
    TRUSTING,
    UNSEEN,
    DiskChecks,
    Judgement,
    decide,
    is_within,
    pattern_of,
    safe_environment,
)
from kith.shell.parse import NotPlainError, Simple, Word, parse

__all__ = [
    "TRUSTING",
    "UNSEEN",
    "DiskChecks",
    "Judgement",
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
