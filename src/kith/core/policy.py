"""The policy, who may do what: a table and a pure function, asked in one place before a tool runs."""

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any, Final, Protocol

from msgspec import Struct

from kith.core.values import CallTarget, Decision, Effect

_STRICTNESS: Final[dict[Decision, int]] = {"allow": 0, "ask": 1, "deny": 2}


class Rule(Struct, frozen=True):
    """One row: an effect (or "*"), a pattern for the target (shell wildcards), a decision."""

    effect: Effect | str
    pattern: str
    decision: Decision

    def matches(self, effect: Effect, target: CallTarget) -> bool:
        return self.effect in ("*", effect) and fnmatchcase(str(target), self.pattern)


class Permits(Protocol):
    """Calls that need no question although the table asks: harmless ones, or permanently allowed ones."""

    def allows(self, effect: Effect, target: CallTarget) -> bool: ...

    def pattern(self, effect: Effect, target: CallTarget) -> str:
        """Return the pattern that "always" would allow, as the question shows it; "" where nothing can be."""


class Policy(Struct, frozen=True):
    """A table of rules: the strictest match wins, and what nothing matches is denied.

    `permits` can only turn a question into a yes, never a no into anything.
    """

    name: str
    rules: tuple[Rule, ...]
    permits: Permits | None = None

    def decide(self, effect: Effect, target: CallTarget) -> Decision:
        matches = (rule.decision for rule in self.rules if rule.matches(effect, target))
        decision: Decision = max(matches, key=_STRICTNESS.__getitem__, default="deny")
        permitted = decision == "ask" and self.permits is not None and self.permits.allows(effect, target)
        return "allow" if permitted else decision

    def pattern(self, effect: Effect, target: CallTarget) -> str:
        """Return the pattern that "always" would allow for such calls; "" where nothing can be remembered."""
        return self.permits.pattern(effect, target) if self.permits else ""


READ_ONLY = Policy("read-only", (Rule("read", "*", "allow"),))
_REACHES_OUT = tuple(Rule(effect, "*", "ask") for effect in ("net", "web", "call"))
# In a trial nothing that a tool does reaches the user's tree: only what goes beyond needs a question.
TRIAL = Policy(
    "trial", (*READ_ONLY.rules, Rule("write", "*", "allow"), Rule("exec", "*", "allow"), *_REACHES_OUT)
)
# Where commands cannot be confined (no sandbox on this machine), each one is asked about.
UNCONFINED = Policy(
    "unconfined", (*READ_ONLY.rules, Rule("write", "*", "allow"), Rule("exec", "*", "ask"), *_REACHES_OUT)
)


# Calls of programs outside of the trial, as a policy sees them: whose tool it is, and its arguments.

_DIGITS: Final = 8  # of a digest: enough to tell a tool from the same one after it was changed


def call_identity(server: str, tool: str, definition: Any) -> str:
    """A tool with a digest of its definition, such as `github/create_issue@1f3870be`.

    What was allowed for good was a tool as it was described: where that changes, it is asked about again.
    """
    text = json.dumps(definition, sort_keys=True, default=str)
    digest = sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{server}/{re.sub(r'[^!-~]', '_', tool)}@{digest}"


def call_target(identity: str, args: Mapping[str, Any]) -> CallTarget:
    """Build the target that a policy sees: the owner of the call, and its arguments as one line of JSON."""
    return CallTarget(json.dumps(args, ensure_ascii=False, default=str), tool=identity)


def bare_call(identity: str) -> str:
    """`github/create_issue`, however it is defined."""
    return identity.rpartition("@")[0]
