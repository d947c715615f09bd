"""The end of background processes as lines of a terminal."""

from collections.abc import Iterator

from kith.core.events import Event
from kith.features.background.events import JobEnded
from kith.features.background.words import end_line
from kith.terminal.rendering.activity import FeatureLine


def job_lines(event: Event) -> Iterator[FeatureLine]:
    """Show the end of a process that nobody stopped; for others the tool shows it."""
    if isinstance(event, JobEnded) and event.by in ("itself", "limit"):
        yield "yellow" if event.code else "dim", end_line(event)
