"""The end of a run that failed: what its event says for each error."""

from collections.abc import Iterator
from contextlib import contextmanager

from kith.core.errors import (
    EXIT_LIMIT,
    EXIT_NO_MODEL,
    EXIT_TRY_LATER,
    HopelessError,
    KithError,
    UnrecordedError,
)
from kith.core.events import RunEnded
from kith.core.model import Emit


@contextmanager
def telling_end(emit: Emit) -> Iterator[None]:
    """Tell the end of a run that fails with a KithError in this block."""
    try:
        yield
    except KithError as error:
        emit(end_of(error))
        raise


def end_of(error: KithError) -> RunEnded:
    """Return the end of a run that failed with `error`."""
    if isinstance(error, UnrecordedError):
        return RunEnded("done", str(error))
    if error.code in (EXIT_NO_MODEL, EXIT_TRY_LATER):
        return RunEnded("unavailable", str(error))
    if isinstance(error, HopelessError):
        return RunEnded("failed", str(error), "hopeless")
    return RunEnded("limit" if error.code == EXIT_LIMIT else "failed", str(error))
