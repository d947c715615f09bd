"""What follows a command on its line, in words."""

import shlex

from kith.core.errors import UsageError


def split_arguments(rest: str) -> list[str]:
    """The words as a shell would part them. Raises UsageError for a quote that nobody closed."""
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"A quote is not closed in {rest!r}.") from error
