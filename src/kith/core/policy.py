"""Who may do what: a table and a pure function, asked in one place before a tool runs."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from kith.core.values import Decision, Effect

_STRICTNESS: Final[dict[Decision, int]] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: an effect (or "*"), a pattern for the target (shell wildcards), a decision."""

    effect: Effect | str
    pattern: str
    decision: Decision

    def matches(self, effect: Effect, target: str) -> bool:
        return self.effect in ("*", effect) and fnmatchcase(target, self.pattern)


@dataclass(frozen=True, slots=True)
class Policy:
    """A table of rules: the strictest match wins, and what nothing matches is denied."""

    name: str
    rules: tuple[Rule, ...]

    def decide(self, effect: Effect, target: str) -> Decision:
        matches = (rule.decision for rule in self.rules if rule.matches(effect, target))
        return max(matches, key=_STRICTNESS.__getitem__, default="deny")


READ_ONLY = Policy("read-only", (Rule("read", "*", "allow"),))
# In a trial nothing a tool does reaches the user's tree, so nothing needs a question until the end.
TRIAL = Policy("trial", (*READ_ONLY.rules, Rule("write", "*", "allow"), Rule("exec", "*", "allow")))
# Where commands cannot be confined (no sandbox on this machine), each one is asked about.
UNCONFINED = Policy("unconfined", (*READ_ONLY.rules, Rule("write", "*", "allow"), Rule("exec", "*", "ask")))
