"""Many processes and one session: who is killed, comes at the wrong moment, or asks twice for the same."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kith.agent.steering import keep_pieces
from kith.agent.worker import start_worker
from kith.core.errors import BusyError
from kith.core.events import Asked, Delta, Notice
from kith.core.values import Answer, Change, Kept
from kith.memory.inbox import Inbox, Letter
from kith.memory.live import LiveReader, LiveTail, Position
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from overdue import run_watched
from waiting import until

EDIT = {"calls": [{"name": "write", "args": {"path": "new.txt", "content": "new\n"}}]}


class Played:
    """A session that processes of their own work on."""

    def __init__(self, root: Path, log: Log) -> None:
        self.root, self.log, self.id = root, log, "played"
        self.inbox = Inbox(log, self.id)

    def say(self, *replies: object) -> None:
        script = self.root.parent / "script.json"
        script.write_text(json.dumps(replies))
        self.inbox.write(Letter("Do it", flags={"model": f"replay/{script}", "check": ("none",)}))

    def start(self) -> subprocess.Popen[bytes]:
        return start_worker(self.root, self.log.path.parent, self.id)

    @property
    def tasks(self) -> int:
        return self.log.past(self.id).tasks

    @property
    def end(self) -> str:
        ended = self.log.past(self.id).ended
        return ended.status if ended else ""


@pytest.fixture
def log(home: Path) -> Log:
    return Log(home / ".local/state/kith" / LOG_FILE)


@pytest.fixture
def played(repository: Path, log: Log, sandbox: None) -> Played:
    return Played(repository, log)


@pytest.mark.slow
def test_words_outlive_a_worker_that_is_killed_before_it_began(played: Played) -> None:
    with Session(played.log, played.id):  # so that it waits, with the letter in its hands
        played.say("Done.")
        worker = played.start()
        until(lambda: (played.log.path.parent / "workers" / f"{played.id}.lock").exists())
        time.sleep(0.5)
        worker.send_signal(signal.SIGKILL)
        worker.wait(60)
    assert played.inbox.letters(take=False), "nobody has heard them"
    played.start().wait(60)
    assert played.tasks == 1 and played.end == "done"


@pytest.mark.slow
def test_two_workers_do_a_letter_once(played: Played) -> None:
    played.say("Done.", "Twice?")
    for worker in [played.start() for _ in range(3)]:
        worker.wait(60)
    assert played.tasks == 1 and played.end == "done"


@pytest.mark.slow
def test_a_stop_before_the_start_counts_and_an_older_one_does_not(played: Played) -> None:
    played.inbox.stop("the page")
    played.say("Done.")
    played.start().wait(60)
    assert played.end == "done", "that stop was asked of nobody"
    played.say({"text": "Too late.", "delay": 60})
    played.inbox.stop("the page")
    played.start().wait(60)
    assert played.tasks == 2 and played.end == "interrupted"


@pytest.mark.slow
def test_words_that_were_heard_where_the_session_is_at_work_are_no_task(played: Played) -> None:
    with Session(played.log, played.id):
        played.say("Never asked.")
        worker = played.start()
        time.sleep(0.1)
        assert [letter.words for letter in played.inbox.letters()] == ["Do it"]  # as the loop hears them
    worker.wait(60)
    assert played.tasks == 0


@pytest.mark.slow
def test_an_answer_to_a_dead_process_decides_nothing(played: Played) -> None:
    played.say(EDIT, "Written.")
    worker = played.start()
    until(lambda: any(isinstance(each.event, Asked) for each in played.log.events(played.id)))
    worker.send_signal(signal.SIGKILL)
    worker.wait(60)
    assert not played.log.is_open(played.id)
    (asked,) = [each.event for each in played.log.events(played.id, kinds=("Asked",))]
    assert isinstance(asked, Asked) and played.inbox.claim(asked.question.id, Answer("none"))
    assert not (played.root / "new.txt").exists()
    again = ["run", "--resume", played.id, "--yes", "--check", "none"]
    done = run_watched([sys.executable, "-m", "kith", *again], played.root)
    assert done.returncode == 0, done.stderr
    assert (played.root / "new.txt").read_text() == "new\n", "who was asked again has decided"


def test_a_session_at_work_is_not_forgotten(log: Log) -> None:
    with Session(log, "s") as session:
        session.emit(Notice("one"))
        session.emit(Delta("and words of its model"))
        with pytest.raises(BusyError, match="is running"):
            log.delete("s")
    log.delete("s")
    assert not log.last("s") and not list((log.path.parent / "live").iterdir())


def test_who_asks_whether_a_session_is_open_never_keeps_it_shut(log: Log) -> None:
    (log.path.parent / "locks").mkdir()
    stale, over = log.path.parent / "locks" / "s.lock", threading.Event()

    def ask() -> None:
        while not over.wait(0.0005):  # nobody asks all the time: on a busy machine that would keep it shut
            log.is_open("s")

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        for _ in range(50):
            stale.touch()  # as a process leaves it that was killed
            with Session(Log(log.path), "s"):
                pass
    finally:
        over.set()
        for thread in asking:
            thread.join()


def test_pieces_go_on_where_a_process_died(log: Log) -> None:
    log.path.parent.mkdir(exist_ok=True)
    dead, alive = LiveTail(log, "s"), LiveTail(log, "s")
    dead.show(Delta("a long beginning"), (), 0)
    watch = LiveReader(log, "s")
    assert len(watch.look()) == 1
    (file,) = (log.path.parent / "live").iterdir()
    with file.open("ab") as cut:
        cut.write(b'{"path": [], "ki')
    for word in ("one", "two", "three"):
        alive.show(Delta(word), (), 0)
    words = [json.loads(seen.body)["text"] for seen in watch.look()]
    assert words == ["one", "two", "three"]
    alive.end()


@pytest.mark.parametrize("text", ["9" * 30, f"1.{'9' * 30}", "-1", "1.", "٣", ""])
def test_a_position_is_one_that_can_be_counted_to(text: str) -> None:
    if text == "1.":
        assert Position.parse(text) == Position(1)
    else:
        with pytest.raises(ValueError, match="position"):
            Position.parse(text)


def test_pieces_that_do_not_exist_keep_nothing() -> None:
    new, binary = Change("new.txt", None, b"new\n"), Change("logo", b"\0a", b"\0b")
    assert keep_pieces((new,), (Kept("new.txt", (7,)),)) == ()
    assert keep_pieces((new,), (Kept("new.txt", (0, 7)),)) == (new,)
    assert keep_pieces((new, binary), (Kept("new.txt", (0,)),)) == (new,), "a file that nobody named"


def test_the_first_of_many_answers_wins(log: Log) -> None:
    won: list[str] = []

    def answer(name: str) -> None:
        if Inbox(Log(log.path), "s").claim("q", Answer("all", by=name)):
            won.append(name)

    racing = [threading.Thread(target=answer, args=(str(number),)) for number in range(8)]
    for thread in racing:
        thread.start()
    for thread in racing:
        thread.join()
    given = Inbox(log, "s").answer_to("q")
    assert len(won) == 1 and given and given.by == won[0]
