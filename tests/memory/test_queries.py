"""Money from the log: by the calendar of this machine, by task, and what is usual."""

import json
import sqlite3
from base64 import urlsafe_b64encode
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from kith.core.events import Answered, Called, RunStarted
from kith.core.values import Answer, Consent
from kith.memory.log import Log
from kith.memory.permits import agreed
from kith.memory.queries import paid_today, usual_cost


def started(root: Path) -> RunStarted:
    return RunStarted("x", str(root), "", "0")


def called(usd: float | None, model: str = "m") -> Called:
    return Called(model, "edit", 1, usd=usd)


def test_a_day_begins_at_midnight_here(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.sqlite3")
    for usd in (0.25, None, 0.5):
        log.append("a", called(usd), ())
    log.append("b", called(1.0), ("step",))
    assert paid_today(log) == pytest.approx(1.75)
    assert paid_today(log, datetime.now() + timedelta(days=1)) == 0.0
    with sqlite3.connect(log.path) as database:  # two of them were yesterday
        database.execute("UPDATE events SET at = at - 86400 WHERE session = 'a'")
    assert paid_today(log) == pytest.approx(1.0)
    assert paid_today(log, datetime.now() - timedelta(days=1)) == pytest.approx(1.75)


def test_a_task_is_what_came_after_its_beginning(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.sqlite3")
    for event in (started(tmp_path), called(1.0), started(tmp_path), called(0.5), called(0.25)):
        log.append("a", event, ())
    assert log.paid_in("a") == pytest.approx(0.75) and log.paid_in("b") == 0.0


def test_what_is_usual_is_the_one_in_the_middle(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.sqlite3")
    for session, usd in (("a", 0.1), ("b", 9.0), ("c", 0.2), ("d", 0.0), ("e", None)):
        log.append(session, called(usd), ())
    usual = usual_cost(log, "m")
    assert usual and usual.usd == pytest.approx(0.2) and usual.sessions == 3
    assert usual_cost(log, "another") is None


def test_the_questions_use_an_index_also_in_an_older_log(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite3"
    Log(path).close()
    with sqlite3.connect(path) as database:
        for name in ("calls", "answers"):
            database.execute(f"DROP INDEX {name}")
    Log(path).close()
    with sqlite3.connect(path) as database:
        query = "EXPLAIN QUERY PLAN SELECT 1 FROM events WHERE kind = 'Called' AND at >= 5"
        assert "calls" in str(database.execute(query).fetchall())


def test_the_last_answer_about_a_model_holds(tmp_path: Path) -> None:
    log, here = Log(tmp_path / "log.sqlite3"), tmp_path / "here"
    one, other = Consent("far/m", "https://x", "work"), Consent("far/m", "https://x", "review")
    log.append("a", started(here), ())
    for consent, choice in ((one, "always"), (other, "always"), (one, "yes"), (other, "ask again")):
        log.append("a", Answered("q", Answer(choice), consent), ())
    log.append("a", Answered("0123456789ab", Answer("always")), ())  # of another question
    assert agreed(log, here) == (one,)
    assert agreed(log, tmp_path) == ()


def test_an_answer_of_an_older_log_is_known_by_its_question(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.sqlite3")
    log.append("a", started(tmp_path), ())
    told = urlsafe_b64encode(b'["far/m", "https://x", "work"]').decode().rstrip("=")
    body = json.dumps({"question_id": f"cloud.{told}.0123456789ab", "answer": {"choice": "always"}})
    log.query(
        "INSERT INTO events (session, at, path, kind, body) VALUES ('a', 1, '', 'Answered', ?)", (body,)
    )
    assert agreed(log, tmp_path) == (Consent("far/m", "https://x", "work"),)


def test_a_yes_is_good_for_its_session(tmp_path: Path) -> None:
    log, consent = Log(tmp_path / "log.sqlite3"), Consent("far/m", "https://x", "work")
    log.append("a", started(tmp_path), ())
    log.append("a", Answered("q", Answer("yes"), consent), ())
    assert agreed(log, tmp_path, "a") == (consent,)
    assert agreed(log, tmp_path, "b") == agreed(log, tmp_path) == ()
