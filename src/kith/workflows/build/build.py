"""A request becomes tested code: the driver takes one step after the other, as the table says."""

# The entry point for the app. `run` is on the person's own tree; `name` is the trial's, found again after a
# crash; `earlier` is the fold of the session's log so far and `threads` are its conversations, for a build that
# is taken up again. A build that failed keeps its trial, so that it can be taken up with other options.

from collections.abc import Mapping, Sequence

from kith.core.run import Run
from kith.core.values import Message
from kith.workflows.attempt import Outcome
from kith.workflows.build.options import BuildOptions
from kith.workflows.build.state import Build
from kith.workflows.judges import Judges
from kith.workflows.roles import Cast


async def build(
    run: Run,
    cast: Cast,
    request: str,
    judges: Judges,
    options: BuildOptions,
    *,
    name: str = "",
    earlier: Build | None = None,
    threads: Mapping[str, Sequence[Message]] | None = None,
) -> Outcome:
    """Turn a request into tested code in a trial, ask the person once, and apply it."""
    raise NotImplementedError
