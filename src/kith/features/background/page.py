"""Background processes beside a session's log: a line for each of the present task."""

from typing import Final

from kith.core.events import RunStarted
from kith.features.background.events import JobEnded, JobStarted
from kith.features.background.words import end_state, shown_command
from kith.features.web.part import WebPart
from kith.memory.log import Log
from kith.view.markup import NOTHING, Html, element

_KINDS: Final = frozenset(kind.__name__ for kind in (RunStarted, JobStarted, JobEnded))


def draw_jobs(log: Log, session: str) -> Html:
    """Draw the processes of the last task; nothing where it has none."""
    started, ended = dict[int, JobStarted](), dict[int, JobEnded]()
    for record in log.events(session, kinds=_KINDS):
        match record.event:
            case RunStarted():
                started.clear()
                ended.clear()
            case JobStarted() as job:
                started[job.number] = job
                ended.pop(job.number, None)
            case JobEnded() as end:
                ended[end.number] = end
            case _:
                pass
    # A process that was killed has logged no end; its processes ended with it.
    otherwise = "running" if log.is_open(session) else "ended with the task"
    rows = [_row(job, ended.get(number), otherwise) for number, job in started.items()]
    return element("ul", *rows, class_="jobs") if rows else NOTHING


def _row(job: JobStarted, end: JobEnded | None, otherwise: str) -> Html:
    state = end_state(end) if end else otherwise
    told = element("span", f"{job.number} {state}: ", class_="dim")
    return element("li", told, element("code", shown_command(job.command)))


PART: Final = WebPart(panel=draw_jobs, title="Background processes", redraw=(JobStarted, JobEnded))
