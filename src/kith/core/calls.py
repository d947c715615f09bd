"""Calls of programs outside of the trial, as a policy sees them: whose tool it is, and its arguments."""

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from kith.core.values import CallTarget

_DIGITS: Final = 8  # of a digest: enough to tell a tool from the same one after it was changed


def call_identity(server: str, tool: str, definition: Any) -> str:
    """A tool with a digest of its definition, such as `github/create_issue@1f3870be`.

    What was allowed for good was a tool as it was described: where that changes, it is asked about again.
    """
    text = json.dumps(definition, sort_keys=True, default=str)
    digest = sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{server}/{re.sub(r'[^!-~]', '_', tool)}@{digest}"


def call_target(identity: str, args: Mapping[str, Any]) -> CallTarget:
    """What a policy sees of a call: whose it is, and the arguments as JSON in one line."""
    return CallTarget(json.dumps(args, ensure_ascii=False, default=str), tool=identity)


def bare_call(identity: str) -> str:
    """`github/create_issue`, however it is defined."""
    return identity.rpartition("@")[0]
