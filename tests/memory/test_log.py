"""The log: append-only, one writer a session, read by anybody, refused when it is from the future."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kith.core.errors import BusyError, NewerError, UsageError
from kith.core.events import Applied, Carded, Delta, Notice, RunEnded, RunStarted, Said, ToolBegan, ToolEnded
from kith.core.values import Message, Text, ToolCall, ToolResult, say
from kith.memory.log import Log
from kith.memory.past import fold
from kith.memory.salvage import mark
from kith.memory.session import Session


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "state" / "log.sqlite3")


def start(session: Session, task: str, root: str = "/p") -> None:
    session.emit(RunStarted(task, root, "replay/x", "0"))


def test_events_come_back_in_order_and_deltas_are_not_kept(log: Log) -> None:
    heard = []
    with Session(log, "s1") as session:
        session.listeners.append(lambda event, path: heard.append(event))
        start(session, "task")
        session.emit(Delta("hel"), ("attempt 1",))
        session.emit(Said("t", say("hello")), ("attempt 1",))
    assert len(heard) == 3
    records = list(log.events("s1"))
    assert [type(record.event).__name__ for record in records] == ["RunStarted", "Said"]
    assert records[1].path == ("attempt 1",)
    assert list(log.events("s1", after=records[0].seq)) == records[1:]


def test_a_session_has_one_writer(log: Log) -> None:
    with Session(log, "s1"):
        with pytest.raises(BusyError), Session(Log(log.path), "s1"):
            pass
        with Session(Log(log.path), "s2") as other:
            start(other, "beside it")
    with Session(Log(log.path), "s1"):
        pass
    assert not list((log.path.parent / "locks").iterdir())


def test_sessions_are_listed_newest_first_with_how_they_ended(log: Log) -> None:
    with Session(log, "old") as session:
        start(session, "first")
        session.emit(RunEnded("done", "ok"))
    with Session(log, "new") as session:
        start(session, "second", "/other")
    assert [(s.id, s.status) for s in log.sessions()] == [("new", "unfinished"), ("old", "done")]
    assert [s.id for s in log.sessions(Path("/p"))] == ["old"]


def test_sessions_are_found_by_the_beginning_of_their_id(log: Log) -> None:
    for name in ("abc1", "abd2"):
        with Session(log, name) as session:
            start(session, name)
    assert log.find("abc") == "abc1"
    with pytest.raises(UsageError, match="Several"):
        log.find("ab")
    for wrong in ("zz", "", "%"):
        with pytest.raises(UsageError, match="no session"):
            log.find(wrong)


def test_deleted_is_gone(log: Log) -> None:
    with Session(log, "s1") as session:
        session.emit(Notice("a very secret sentence"))
    log.delete("s1")
    assert not list(log.events("s1"))


def test_what_was_applied_is_found_by_folder(log: Log) -> None:
    with Session(log, "s1") as session:
        start(session, "x")
        session.emit(Applied("c1", ()))
    assert log.applied("/p") == [("s1", Applied("c1", ()))]
    assert log.applied("/q") == []


@pytest.mark.parametrize(
    "statement",
    [
        "PRAGMA user_version=99",
        "PRAGMA journal_mode=DELETE",
        "CREATE VIEW recent AS SELECT * FROM events",  # in a log of today it would count as damage
        "CREATE TRIGGER counted AFTER INSERT ON events BEGIN SELECT 1; END",
    ],
)
@pytest.mark.parametrize("marked", [False, True])
def test_a_log_from_the_future_is_not_touched(log: Log, statement: str, marked: bool) -> None:
    log.close()
    with closing(sqlite3.connect(log.path)) as db:
        db.execute(statement)
        db.execute("PRAGMA user_version=99")
    if marked:  # as damaged, by a kith that did not know better
        mark(log.path)
    before = everything(log.path.parent)
    with pytest.raises(NewerError):
        Log(log.path)
    assert everything(log.path.parent) == before


def everything(folder: Path) -> dict[str, bytes]:
    """All but SQLite's own files beside a log that is read."""
    files = [path for path in folder.iterdir() if path.is_file() and not path.name.endswith(("-shm", "-wal"))]
    return {path.name: path.read_bytes() for path in files}


def test_the_log_is_private(log: Log) -> None:
    assert log.path.stat().st_mode & 0o077 == 0


def test_a_new_task_keeps_the_conversation_and_starts_the_receipt_anew() -> None:
    past = fold(
        [
            RunStarted("one", "/p", "m", "0"),
            Said("t", say("one")),
            Applied("c1", ()),
            RunEnded("done", ""),
            RunStarted("two", "/p", "m", "0"),
            Said("t", say("two")),
        ]
    )
    assert [message.text for message in past.threads["t"]] == ["one", "two"]
    assert past.applied == [] and past.ended is None


def test_a_card_holds_the_newest_of_each_fact_also_of_what_another_process_adds(log: Log) -> None:
    learned = [{"rung": "native", "rate": 1.5}, {"rate": 2.0, "deep": {"a": [1, None]}}, {"rung": "text"}]
    for number, facts in enumerate(learned):
        with Session(Log(log.path), f"s{number}") as session:
            session.emit(Carded("d", "m", facts))
            session.emit(Carded("other", "m", {"rate": 9.0}))
        if number != 1:
            log.card("d")["rung"] = "mine"  # what is done to an answer stays with it
    assert log.card("d") == {"rung": "text", "rate": 2.0, "deep": {"a": [1, None]}}
    assert log.card("") == log.card("unknown") == {}


def test_the_disk_is_waited_for_with_each_reply_and_before_a_tool_that_reaches_further(log: Log) -> None:
    read, command = ToolCall("c1", "read", {"paths": ["a"]}), ToolCall("c2", "bash", {"command": "make"})
    events = (
        say("Build it."),
        Message("assistant", (read, command)),
        ToolBegan("c1", "read", "read", "a"),
        ToolEnded("c1", "read", True, 0.1),
        Message("tool", (ToolResult("c1", "a"),)),
        ToolBegan("c2", "bash", "exec", "make"),
        ToolEnded("c2", "bash", True, 0.1),
        Message("tool", (ToolResult("c2", "built"),)),
        Message("assistant", (Text("It is built."),)),
    )
    waited, level = list[bool](), 0

    def trace(statement: str) -> None:
        nonlocal level
        level = {"PRAGMA synchronous=NORMAL": 1, "PRAGMA synchronous=FULL": 0}.get(statement, level)
        if statement.startswith("INSERT INTO events"):
            waited.append(level == 0)

    with Session(log, "s1") as session:
        start(session, "task")
        log._db.set_trace_callback(trace)
        for event in events:
            session.emit(Said("t", event) if isinstance(event, Message) else event)
    assert waited == [True, True, *(False, False, False), *(True, False, False), True]
    assert log.query("PRAGMA synchronous") == [(2,)]
    assert [type(each.event).__name__ for each in log.events("s1")][1:] == [
        *("Said", "Said"),
        *("ToolBegan", "ToolEnded", "Said") * 2,
        "Said",
    ]
