"""The rest of a command's line, in words."""

import shlex

from kith.core.errors import UsageError


def split(rest: str) -> list[str]:
    """Words as a shell would part them. Raises UsageError for a quote that nobody closed."""
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"A quote is not closed in {rest!r}.") from error
