"""Show a scan's progress: one line on a terminal, and nothing anywhere else."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from kith.core.events import Event, Notice, Progress
from kith.terminal.streams import is_lively
from kith.view.printing import printable
from kith.view.wording import note_line

if TYPE_CHECKING:
    from rich.status import Status

_BAR = 16  # columns
_SOON_S = 3.0  # seconds after which the time that is left can be told


@dataclass(slots=True)
class ProgressLine:
    """A line that is drawn again and again, and taken away at the end; notices stay."""

    stream: IO[str]
    clock: Callable[[], float] = time.monotonic
    _status: "Status | None" = None
    _what: str = ""
    _since: float = 0.0

    def hear(self, event: Event) -> None:
        if isinstance(event, Notice):
            print(printable(note_line(event)[1]), file=self.stream, flush=True)
        elif isinstance(event, Progress) and is_lively(self.stream):
            if event.what != self._what:
                self._what, self._since = event.what, self.clock()
            self._show(progress_line(event, self.clock() - self._since))

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _show(self, line: str) -> None:
        from rich.console import Console
        from rich.text import Text

        text = Text(line, no_wrap=True, overflow="ellipsis")
        if self._status is None:
            console = Console(file=self.stream, highlight=False)
            self._status = console.status(text, spinner="dots")
            self._status.start()
        else:
            self._status.update(text)


def progress_line(event: Progress, seconds: float) -> str:
    """`looking at files  ━━━━╌╌╌╌  5,120 of 20,000, about 24 s left`, or only what goes on."""
    if not event.total:
        return event.what
    bar = "━" * (_BAR * event.done // event.total)
    left = ""
    if event.done and seconds >= _SOON_S:
        left = f", about {seconds * (event.total - event.done) / event.done:.0f} s left"
    return f"{event.what}  {bar:╌<{_BAR}}  {event.done:,} of {event.total:,}{left}"
