"""What became of councils: joined with the end of their session, and with an undo that came later."""

from pathlib import Path

import pytest

from kith.core.decisions import Concluded
from kith.core.events import Applied, Called, Event, RunEnded, RunStarted
from kith.core.values import FileChange, Usage
from kith.features.confer.history import Finished, read_results
from kith.memory.log import Log
from kith.memory.session import Session

CONCLUDED = Concluded("k", "plan", "A", "tests", "Do it.", {"A": "one", "B": "two"})
CALLED = Called("one", "confer", 1, Usage(900, 100))


def write(log: Log, id: str, *events: Event) -> None:
    with Session(log, id) as session:
        for event in (RunStarted("mend it", "/here", "", "1"), *events):
            session.emit(event)


@pytest.mark.parametrize(
    ("end", "solved"),
    [
        ((Applied("ch1", (FileChange("a", 1, 0, ""),)), RunEnded("done", "")), [True]),
        ((RunEnded("failed", "tests"),), [False]),
        ((RunEnded("rejected", "no"),), [False]),
        ((RunEnded("done", "an answer"),), []),
        ((RunEnded("interrupted", ""),), []),
    ],
)
def test_a_council_is_as_good_as_what_came_of_it(
    tmp_path: Path, end: tuple[Event, ...], solved: list[bool]
) -> None:
    log = Log(tmp_path / "log")
    write(log, "s1", CALLED, CONCLUDED, *end)
    write(log, "s2", CALLED, RunEnded("failed", "no council here"))
    assert read_results(log) == ([Finished("plan", each, 1000) for each in solved], frozenset({"s1"}))


def test_what_was_taken_back_was_not_solved(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    write(log, "s1", CONCLUDED, Applied("ch1", ()), RunEnded("done", ""))
    write(log, "s2", Applied("ch2", (), undoes="ch1"), RunEnded("done", ""))
    assert [each.solved for each in read_results(log)[0]] == [False]
