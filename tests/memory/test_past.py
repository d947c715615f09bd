"""The fold of a session: read bit by bit it is the same, and what was handed out stays as it was."""

from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kith.core.decisions import Routed
from kith.core.events import (
    Applied,
    Called,
    Compacted,
    Event,
    Named,
    Notice,
    Options,
    Proposed,
    Resumed,
    RunEnded,
    RunStarted,
    Said,
    TodoSet,
    ToolBegan,
    ToolEnded,
)
from kith.core.values import FileChange, Message, Ran, Text, TodoItem, Usage, say
from kith.memory.log import Log
from kith.memory.past import Past, fold
from kith.memory.session import Session

FILES = (FileChange("a.py", 1, 1, "diff"),)
EVENTS: tuple[Event, ...] = (
    RunStarted("task", "/p", "m", "0", Options(plan="no", symbols=True)),
    RunStarted("task", "/p", "m", "0", Options(plan="no", symbols=True)),
    RunStarted("!make", "/p", "", "0", Options("command")),
    RunEnded("done", "ok"),
    Resumed(),
    Said("task", say("words")),
    Said("task", Message("assistant", (Text("answer"),), "m")),
    Said("planner", say("plan")),
    Called("m", "edit", 1, Usage(10, 1)),
    Compacted("task", 1, "short", 10, 5),
    Routed("edit", ("m",), "why", after="n"),
    TodoSet((TodoItem("one"),)),
    Named("a name"),
    ToolBegan("c", "write", "write", "a.py"),
    ToolEnded("c", "bash", True, 0.1, "", Ran("make", 0, "output", 0.1)),
    Proposed(FILES),
    Applied("c1", FILES),
    Notice("careful", "warning"),
)
# Counts of tokens, and commands of the time before the last two tasks, are not looked for in a long log.
_FORGOTTEN = ("read", "untold")


def facts(past: Past | None) -> dict[str, Any]:
    if past is None:
        return {}
    found = {name: getattr(past, name) for name in past.__struct_fields__ if name not in _FORGOTTEN}
    # Its conversations are those of the present task; of the one before it nobody reads more than its end.
    return found | {"last": {k: v for k, v in facts(past.last).items() if k not in ("threads", "compacted")}}


def test_a_session_read_bit_by_bit_is_the_same_as_read_at_once(tmp_path: Path) -> None:
    log, ids = Log(tmp_path / "log.sqlite3"), map(str, count())

    @given(st.lists(st.lists(st.sampled_from(EVENTS), max_size=12), max_size=4))
    def check(parts: list[list[Event]]) -> None:
        session, told = next(ids), list[Event]()
        handed_out: list[tuple[Past, dict[str, Any]]] = []
        for part in parts:
            with log.at_once():
                for event in part:
                    log.append(session, event, ())
            told += part
            handed_out.append((log.past(session), facts(fold(told))))
        assert facts(Log(log.path).past(session)) == facts(fold(told))
        assert all(facts(past) == then for past, then in handed_out)

    check()


def test_what_is_taken_back_is_not_remembered(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.sqlite3")
    with Session(log, "s") as session:
        session.emit(EVENTS[0])
        try:
            with session.at_once():
                session.emit(Said("task", say("words")))
                assert log.past("s").threads["task"]
                raise RuntimeError
        except RuntimeError:
            pass
        session.emit(Named("x"))
        assert log.past("s").threads == {}
    log.delete("s")
    assert log.past("s") == Past()
