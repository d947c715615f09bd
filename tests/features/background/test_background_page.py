"""Background processes beside a session's log: the last task's, with their state."""

from pathlib import Path

from kith.core.events import Event, RunStarted
from kith.features.background.events import JobEnded, JobStarted
from kith.features.background.page import draw_jobs
from kith.features.web.part import draw_panels, redrawing
from kith.memory.log import Log
from kith.memory.session import Session
from kith.settings.features import features
from kith.view.markup import NOTHING


def drawn(folder: Path, *events: Event) -> str:
    features()  # their events are known to the log
    log = Log(folder / "log.sqlite3")
    with Session(log, "abc") as session:
        for event in events:
            session.emit(event)
        html = str(draw_jobs(log, "abc"))
        assert html in str(draw_panels(log, "abc"))
    assert "running" not in str(draw_jobs(log, "abc"))
    return html


def test_each_process_has_a_row_with_its_state(tmp_path: Path) -> None:
    html = drawn(
        tmp_path,
        JobStarted(1, "serve <b>"),
        JobStarted(2, "watch"),
        JobStarted(3, "yes"),
        JobEnded(2, "watch", 137, 12.2, "asked"),
        JobEnded(3, "yes", 137, 0.1, "limit", "it printed too much"),
    )
    assert "1 running: </span><code>serve &lt;b&gt;</code>" in html
    assert "2 stopped after 12 s: " in html
    assert "3 stopped after 0.1 s (it printed too much): " in html


def test_a_new_task_begins_without_the_processes_of_the_last(tmp_path: Path) -> None:
    begun = RunStarted("again", "/x", "", "0.1.0")
    assert drawn(tmp_path / "a", JobStarted(1, "serve"), begun) == str(NOTHING)
    assert "serve" not in drawn(tmp_path / "b", JobStarted(1, "serve"), begun, JobStarted(1, "watch"))


def test_their_events_draw_the_panel_again() -> None:
    assert {JobStarted, JobEnded} <= {*redrawing()}
