"""The output of commands while they run, for whoever shows it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kith.tools.answers import plain_output
from kith.trees.exec import heard_by


@contextmanager
def hearing_commands(hear: Callable[[bytes], None]) -> Iterator[None]:
    """Tell `hear` piece by piece what commands print meanwhile."""
    with heard_by(hear):
        yield


def output_text(output: bytes) -> str:
    """Output as text, without terminal codes and without what a progress bar drew over."""
    return plain_output(output.decode("utf-8", "replace"))
