"""Earlier tasks like this one: what was accepted speaks for a file, what was refused against it."""

from pathlib import Path

from kith.context.rank_files import Signals, rank
from kith.context.task_words import find_words
from kith.core.events import Answered, Applied, Event, Judged, Options, Proposed, RunStarted
from kith.core.values import Answer, FileChange
from kith.memory.log import Log
from kith.memory.past_tasks import past_tasks, weigh_files

TASK = find_words("round the totals of an invoice")


def change(*paths: str) -> tuple[FileChange, ...]:
    return tuple(FileChange(path, 1, 1, "diff") for path in paths)


def began(task: str, root: str = "/p", recorded: str = "") -> RunStarted:
    return RunStarted(task, root, "m", "0", Options(recorded=recorded))


def told(tmp_path: Path, *events: Event) -> dict[str, float]:
    log = Log(tmp_path / "log.db")
    for event in events:
        log.append("s", event, ())
    return dict(weigh_files(TASK, past_tasks(log, "/p")))


def test_accepted_files_count_and_refused_ones_count_against(tmp_path: Path) -> None:
    amounts = told(
        tmp_path,
        began("the totals of an invoice are wrong"),
        Proposed(change("view.py")),
        Answered("q", Answer("revise", "round them in money.py")),
        Judged("person", False, 1, "round them in money.py"),
        Proposed(change("money.py")),
        Applied("c", change("money.py")),
        began("translate the greeting"),
        Applied("d", change("greeting.py")),
    )
    assert amounts["money.py"] > 0 > amounts["view.py"] and "greeting.py" not in amounts
    ranked = rank("round the totals", ["money.py", "other.py", "view.py"], Signals(tasks=amounts))
    assert [each.path for each in ranked] == ["money.py"] and ranked[0].parts["tasks"] > 0


def test_what_was_taken_back_counts_as_refused(tmp_path: Path) -> None:
    change_and_undo = Applied("c", change("a.py")), Applied("u", change("a.py"), undoes="c")
    assert told(tmp_path, began("round the totals of an invoice"), *change_and_undo)["a.py"] < 0


def test_nobody_asked_and_replayed_tasks_say_nothing(tmp_path: Path) -> None:
    words = "round the totals of an invoice"
    assert not told(
        tmp_path,
        began(words),
        Proposed(change("a.py")),
        Answered("q", Answer("no", unasked=True)),
        Judged("person", False, 1),
        began(words, recorded="r1"),
        Applied("c", change("b.py")),
        began(words, root="/elsewhere"),
    )
