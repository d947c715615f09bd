"""Calls of programs outside of the trial, as a policy sees them: which tool, as it was shown, and its arguments."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

_DIGITS: Final = 8  # of a digest: enough to tell a tool from the same one after it was changed


def call_identity(name: str, definition: Any) -> str:
    """A tool's name with a digest of its definition, such as `github_create_issue@1f3870be`.

    What was allowed for good holds for what was looked at: a server that describes its tool anew asks anew.
    """
    text = json.dumps(definition, sort_keys=True, default=str)
    return f"{name}@{sha256(text.encode('utf-8', 'replace')).hexdigest()[:_DIGITS]}"


def call_target(identity: str, args: Mapping[str, Any]) -> str:
    """What a policy sees of a call: the identity, then the arguments as JSON in one line."""
    return f"{identity} {json.dumps(args, ensure_ascii=False, default=str)}"


def split_call(target: str) -> tuple[str, str]:
    """The identity and the arguments of a target."""
    identity, _, args = target.partition(" ")
    return identity, args
