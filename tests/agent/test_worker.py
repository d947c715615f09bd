"""A session is worked on in one process, and watched, answered, steered and stopped from any other."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.agent.worker import start_worker
from kith.core.events import Delta, Notice
from kith.core.values import Answer, Kept, Question
from kith.memory.inbox import Inbox, Letter, open_question
from kith.memory.live import LiveReader, Position
from kith.memory.log import LOG_FILE, Log
from kith.memory.past import Past
from kith.memory.session import Session
from waiting import until

OLD, NEW = "/ (len(numbers) + 1)", "/ max(len(numbers), 1)"


@pytest.fixture
def log(home: Path) -> Log:
    return Log(home / ".local/state/kith" / LOG_FILE)


@pytest.fixture
def desk(repository: Path, log: Log, sandbox: None) -> Callable[..., "Desk"]:
    return lambda *replies: Desk(repository, log, *replies)


EDIT = {"calls": [{"name": "edit", "args": {"path": "utils.py", "old": OLD, "new": NEW}}]}


class Desk:
    """A session that a process of its own works on, seen from here."""

    def __init__(self, root: Path, log: Log, *replies: object) -> None:
        script = root.parent / "script.json"
        script.write_text(json.dumps(list(replies)))
        self.root, self.log, self.id = root, log, "desk"
        self.inbox = Inbox(log, self.id)
        self.flags = {"model": f"replay/{script}", "check": ("none",)}

    def say(self, words: str) -> None:
        self.inbox.write(Letter(words, "the test", flags=self.flags))

    def start(self, words: str) -> subprocess.Popen[bytes]:
        self.say(words)
        return start_worker(self.root, self.log.path.parent, self.id)

    def question(self) -> Question:
        found = until(lambda: open_question(self.log, self.id))
        assert isinstance(found, Question)
        return found

    def ended(self, tasks: int = 1) -> Past:
        until(lambda: (past := self.log.past(self.id)).ended and past.tasks == tasks)
        return self.log.past(self.id)


def test_a_change_is_approved_from_another_process(desk: Callable[..., Desk]) -> None:
    played = desk(EDIT, "Mended.")
    worker = played.start("Mend mean()")
    question = played.question()
    assert [file.path for file in question.files] == ["utils.py"] and not question.changes
    assert played.inbox.claim(question.id, Answer("all", by="the page"))
    assert not played.inbox.claim(question.id, Answer("none", by="another tab")), "the first answer wins"
    past = played.ended()
    assert past.ended and past.ended.status == "done" and past.applied
    assert NEW in (played.root / "utils.py").read_text()
    assert worker.wait(60) == 0


@pytest.mark.slow
@pytest.mark.parametrize("places", [":/opt/none", ".", "/opt/none:"])
def test_a_project_brings_no_modules_of_its_own(repository: Path, log: Log, places: str) -> None:
    for name in ("sitecustomize", "kith", "json"):
        (repository / f"{name}.py").write_text(f"open({str(repository / 'ran')!r}, 'w')\n")
    Inbox(log, "one").write(Letter("x", flags={"model": "replay/none.json"}))
    environ = {**os.environ, "PYTHONPATH": places}
    assert start_worker(repository, log.path.parent, "one", environ).wait(60) == 0
    assert not (repository / "ran").exists() and log.past("one").ended


@pytest.mark.slow
def test_pieces_are_kept_by_their_numbers(desk: Callable[..., Desk]) -> None:
    two = {"calls": [EDIT["calls"][0], {"name": "write", "args": {"path": "b.txt", "content": "b\n"}}]}
    played = desk(two, "Two changes.")
    played.start("Mend mean()")
    question = played.question()
    played.inbox.claim(question.id, Answer("some", kept=(Kept("b.txt", (0,)),), by="the page"))
    past = played.ended()
    assert [file.path for file in past.applied[-1].files] == ["b.txt"]
    assert OLD in (played.root / "utils.py").read_text()


@pytest.mark.slow
def test_a_stop_from_elsewhere_ends_the_task(desk: Callable[..., Desk]) -> None:
    played = desk({"text": "Too late.", "delay": 30})
    worker = played.start("Wait")
    until(lambda: played.log.is_open(played.id))
    until(lambda: played.log.past(played.id).tasks)
    played.inbox.stop("the page")
    past = played.ended()
    assert past.ended and past.ended.status == "interrupted"
    assert worker.wait(60) == 0


@pytest.mark.slow
def test_words_that_come_meanwhile_reach_the_model_at_its_next_step(
    desk: Callable[..., Desk], tmp_path: Path
) -> None:
    look = {"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}], "when": str(tmp_path / "said")}
    played = desk(look, "As you say.")
    worker = played.start("Look")
    until(lambda: played.log.past(played.id).tasks)
    played.say("use tabs")
    (tmp_path / "said").touch()
    past = played.ended()
    assert past.ended and past.ended.text == "As you say."
    *before, last = [message.text for message in past.threads["task"]]
    assert last == "As you say." and "use tabs" in before
    assert worker.wait(60) == 0


@pytest.mark.slow
def test_words_that_come_later_are_the_next_task_of_the_same_conversation(
    desk: Callable[..., Desk],
) -> None:
    played = desk("Hello.", "Hello again.")
    assert played.start("Say hello").wait(60) == 0
    assert played.start("And again").wait(60) == 0
    past = played.ended(2)
    said = [message.text for message in past.threads["task"] if message.role == "user"]
    assert len(said) == 2 and said[1] == "And again"


@pytest.mark.slow
def test_a_refusal_before_the_task_is_in_the_log(desk: Callable[..., Desk]) -> None:
    played = desk("Hello.")
    played.inbox.write(Letter("Say hello", flags={"model": "replay/nowhere.json"}))
    start_worker(played.root, played.log.path.parent, played.id).wait(60)
    past = played.ended()
    assert past.ended and past.ended.status != "done" and "nowhere.json" in past.ended.text


def test_what_is_shown_is_seen_while_it_lasts_and_nothing_twice(home: Path) -> None:
    log = Log(home / "log.sqlite3")
    with Session(log, "s") as session:
        watch = LiveReader(Log(log.path), "s")
        session.emit(Notice("one"))
        session.emit(Delta("hel "))
        first = watch.look()
        assert [seen.kind for seen in first] == ["Notice", "Delta"]
        session.emit(Delta("lo "))
        again = LiveReader(Log(log.path), "s", first[0].position)
        assert [json.loads(seen.body)["text"] for seen in again.look()] == ["hel ", "lo "]
        assert [json.loads(seen.body)["text"] for seen in watch.look()] == ["lo "]
        session.emit(Notice("two"))
        assert [json.loads(seen.body).get("text") for seen in watch.look()] == ["two"]
        session.emit(Delta("again "))
    assert [seen.kind for seen in watch.look()] == ["Delta"], "it stays for a while when the session is left"
    assert not watch.look()


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(("no", "look", "come back"))), max_size=40))
def test_a_reader_misses_nothing_and_sees_nothing_twice(steps: list[tuple[bool, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Log(Path(folder) / "log.sqlite3")
        seen: list[tuple[int, bool]] = []
        shown: list[list[int]] = [[]]  # pieces that nobody has seen yet, by the file that holds them
        lost: set[int] = set()
        watch = LiveReader(log, "s")

        def look() -> None:
            for each in watch.look():
                seen.append((int(json.loads(each.body)["text"]), each.stored))
            shown[:] = [[]]

        def finish_file() -> None:
            if shown[-1]:
                shown.append([])
                lost.update(shown.pop(0) if len(shown) > 3 else ())

        with Session(log, "s") as session:
            for number, (stored, then) in enumerate(steps):
                session.emit(Notice(str(number)) if stored else Delta(f"{number} "))
                if stored:
                    finish_file()
                else:
                    shown[-1].append(number)
                if then == "come back":
                    watch = LiveReader(log, "s", Position.parse(str(watch.position)))
                if then != "no":
                    look()
        finish_file()  # so does who leaves the session
        look()
        assert seen == [(number, kind) for number, (kind, _) in enumerate(steps) if number not in lost]
