"""How far a scan is: a bar on a terminal, and nothing anywhere else."""

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from kith.core.events import Event, Notice, Progress
from kith.faces.lines import line_of, printable
from kith.faces.streams import is_lively

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


@dataclass(slots=True)
class Shown:
    """One line that is drawn again and again, and taken away at the end; notices stay."""

    stream: IO[str]
    _drawn: "RichProgress | None" = None
    _task: "TaskID | None" = None

    def hear(self, event: Event) -> None:
        if isinstance(event, Notice):
            print(printable(line_of(event)[1]), file=self.stream, flush=True)
        elif isinstance(event, Progress) and is_lively(self.stream):
            self._show(event)

    def close(self) -> None:
        if self._drawn is not None:
            self._drawn.stop()
            self._drawn = None

    def _show(self, event: Progress) -> None:
        bar = self._drawn or self._open()
        total = event.total or None
        if self._task is None:
            self._task = bar.add_task(event.what, total=total, completed=event.done)
        else:
            bar.update(self._task, description=event.what, total=total, completed=event.done)

    def _open(self) -> "RichProgress":
        from rich import progress
        from rich.console import Console

        self._drawn = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
            console=Console(file=self.stream, highlight=False),
            transient=True,
        )
        self._drawn.start()
        return self._drawn
