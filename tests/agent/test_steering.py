"""What is said to a session from elsewhere is told once, whoever is killed, and every face is named."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kith.agent.project import Project
from kith.agent.steering import hearing, shared, until_stopped
from kith.agent.worker import start_worker
from kith.core.events import Answered, Delta, Notice
from kith.core.run import Run
from kith.core.values import Answer, Question
from kith.memory.inbox import Inbox, Letter, can_resume, open_question, was_cut_off
from kith.memory.live import FOLDER, LiveReader, LiveTail, sweep
from kith.memory.log import LOG_FILE, Log
from kith.memory.past import Past
from kith.memory.session import Session
from waiting import until

WRITE = {"calls": [{"name": "write", "args": {"path": "new.txt", "content": "new\n"}}]}
LOOK = {"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}]}


@pytest.fixture
def log(home: Path) -> Log:
    return Log(home / ".local/state/kith" / LOG_FILE)


class Played:
    """A session that processes of their own work on."""

    def __init__(self, root: Path, log: Log) -> None:
        self.root, self.log, self.id = root, log, "played"
        self.inbox = Inbox(log, self.id)

    def play(self, *replies: object) -> dict[str, object]:
        """The settings by which a model plays these replies."""
        script = self.root.parent / "script.json"
        script.write_text(json.dumps(replies))
        return {"model": f"replay/{script}", "check": ("none",)}

    def say(self, words: str, *replies: object) -> None:
        self.inbox.write(Letter(words, "the test", flags=self.play(*replies)))

    def start(self) -> subprocess.Popen[bytes]:
        return start_worker(self.root, self.log.path.parent, self.id)

    def question(self, but: str = "") -> Question:
        def asked() -> Question | None:
            found = open_question(self.log, self.id)
            return found if found and found.id != but else None

        found = until(asked)
        assert isinstance(found, Question)
        return found

    @property
    def past(self) -> Past:
        return self.log.past(self.id)

    @property
    def said(self) -> list[str]:
        """What persons said in the conversation."""
        return [each.text for each in self.past.threads["task"] if each.author == "person"]


@pytest.fixture
def played(repository: Path, log: Log, sandbox: None) -> Played:
    return Played(repository, log)


def kill(worker: subprocess.Popen[bytes]) -> None:
    worker.send_signal(signal.SIGKILL)
    worker.wait(60)


# --- a process that died ---------------------------------------------------------------------


@pytest.mark.slow
def test_a_task_whose_process_died_at_a_question_goes_on_and_asks_anew(played: Played) -> None:
    played.say("Write it", WRITE, "Written.")
    worker = played.start()
    old = played.question()
    kill(worker)
    assert was_cut_off(played.log, played.id) and can_resume(played.log, played.id)
    played.inbox.claim(old.id, Answer("all", by="the page"))  # too late: nobody heard it
    played.inbox.write(Letter("", "the page", resume=True))
    worker = played.start()
    new = played.question(but=old.id)
    played.inbox.claim(new.id, Answer("all", by="the page"))
    assert worker.wait(60) == 0
    past = played.past
    assert past.ended and past.ended.status == "done" and past.tasks == 1 and len(past.applied) == 1
    assert not can_resume(played.log, played.id) and not played.inbox.waiting()


@pytest.mark.slow
def test_words_for_a_task_whose_process_died_steer_it_when_it_goes_on(played: Played) -> None:
    played.say("Look", LOOK, {"text": "Too late.", "delay": 60})
    worker = played.start()
    until(lambda: len(played.past.calls) == 1)
    kill(worker)
    played.say("use tabs", {"text": "As you say.", "expect": "use tabs"})
    assert played.start().wait(60) == 0
    past = played.past
    assert past.ended and past.ended.text == "As you say." and past.tasks == 1
    assert played.said[-1] == "use tabs" and not played.inbox.waiting()


@pytest.mark.slow
def test_what_is_over_is_not_gone_on_with(played: Played) -> None:
    played.say("Say hello", "Hello.")
    played.inbox.write(Letter("", "the page", resume=True))
    assert played.start().wait(60) == 0
    past = played.past
    assert past.tasks == 1 and past.ended and past.ended.status == "done"
    assert "nothing" in past.notices[-1] and not played.inbox.waiting()


@pytest.mark.slow
def test_a_worker_that_cannot_read_the_settings_says_so_once(played: Played, home: Path) -> None:
    (home / ".config/kith").mkdir(parents=True)
    (home / ".config/kith/config.toml").write_text("model = [")
    played.say("Say hello", "Hello.")
    assert played.start().wait(60) == 0
    assert played.past.ended and "config.toml" in played.past.ended.text
    assert not played.inbox.waiting()


@pytest.mark.slow
def test_a_project_that_is_gone_is_said(log: Log, tmp_path: Path) -> None:
    gone = Played(tmp_path / "gone", log)
    gone.inbox.write(Letter("Say hello"))
    assert gone.start().wait(60) == 0
    assert gone.past.ended and gone.past.ended.status == "failed" and not gone.inbox.waiting()


# --- words and stops -------------------------------------------------------------------------


def test_words_and_the_conversation_that_holds_them_are_written_as_one(log: Log) -> None:
    inbox, told = Inbox(log, "s"), []
    with Session(log, "s") as session:
        session.listeners.append(lambda event, path: told.append(event))
        hear = hearing(session)
        for words in ("one", "two"):
            inbox.write(Letter(words))
        inbox.write(Letter("an edit", kind="tool"))
        inbox.write(Letter("", resume=True))
        with pytest.raises(ZeroDivisionError):
            for words in hear():
                session.emit(Notice(words))
                assert not told, "the listeners hear it when it is written"
                raise ZeroDivisionError  # as a process that dies
        assert not log.last("s") and len(inbox.waiting()) == 4 and not told
        heard = []
        for words in hear():
            session.emit(Notice(words))
            heard.append(words)
        assert heard == ["one", "two"] and told == [Notice("one"), Notice("two")]
        assert [letter.kind for letter in inbox.letters(take=False)] == ["tool", "run"]
        assert [seen.kind for seen in LiveReader(Log(log.path), "s").look()] == ["Notice", "Notice"]


def test_a_stop_ends_what_was_said_before_it_too(log: Log) -> None:
    async def work() -> None:
        inbox.write(Letter("use tabs"))
        inbox.stop("the page")
        inbox.write(Letter("Something else"))
        await asyncio.sleep(60)

    inbox = Inbox(log, "s")
    with Session(log, "s") as session:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(until_stopped(session, work()))
        (notice,) = [each.event for each in log.events("s")]
    assert notice == Notice("Stopped from the page. The model was not told: use tabs")
    assert [letter.words for letter in inbox.letters()] == ["Something else"], "that is the next task"


# --- who answers -----------------------------------------------------------------------------


@pytest.mark.parametrize(("by", "named"), [("", "the terminal"), ("an editor", "an editor")])
def test_every_answer_names_its_face(log: Log, by: str, named: str, repository: Path) -> None:
    async def own(question: Question) -> Answer:
        return Answer("all", by=by)

    with Session(log, "s") as session:
        run = Run(session.emit, shared(session, own), Project.open(repository, {}).tree)
        asyncio.run(run.ask(Question("q", "change", "Apply?", ("all", "none"))))
        (told,) = [each.event for each in log.events("s", kinds=("Answered",))]
    assert isinstance(told, Answered) and told.answer.by == named
    given = Inbox(log, "s").answer_to("q")
    assert given and given.by == named


# --- disks and clocks ------------------------------------------------------------------------


def test_what_cannot_be_shown_keeps_nobody_from_working(log: Log) -> None:
    (log.path.parent / FOLDER).write_text("no folder")
    with Session(log, "s") as session:
        session.emit(Delta("lost "))
        session.emit(Notice("one"))
    assert [seen.kind for seen in LiveReader(log, "s").look()] == ["Notice"]


def test_a_clock_that_is_wrong_changes_nothing(log: Log) -> None:
    with Session(log, "s") as session:
        session.emit(Notice("one"))
        session.emit(Delta("two "))
    log.query("UPDATE events SET at = -5.0")
    assert [(seen.kind, seen.stored) for seen in LiveReader(log, "s").look()] == [
        ("Notice", True),
        ("Delta", False),
    ]


def test_what_was_shown_is_removed_when_nobody_works_and_everybody_has_looked(log: Log) -> None:
    def files() -> list[str]:
        return sorted(file.name for file in (log.path.parent / FOLDER).iterdir())

    with Session(log, "s") as session:
        for number in range(6):
            session.emit(Delta(f"{number} "))
            session.emit(Notice(str(number)))
        assert len(files()) == 2
    sweep(log)
    assert len(files()) == 2, "somebody may be about to look"
    dead = LiveTail(log, "open")
    dead.show(Delta("at work"), (), 0)
    for file in (log.path.parent / FOLDER).iterdir():
        os.utime(file, (0, 0))
    with Session(log, "open"):
        sweep(log)
        assert files() == ["open-0.jsonl"]
    sweep(log)
    assert files() == []


@pytest.mark.slow
def test_a_full_disk_is_said_and_loses_no_words(log: Log, played: Played) -> None:
    """No file of the process may grow: what SQLite and others say then is what they say of a full disk."""
    full = log.path.stat().st_size
    played.say("Say hello", "Hello.")
    code = (
        "import resource, runpy, sys; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({full // 8}, {full // 8})); "
        f"sys.argv[1:] = {[str(played.root), played.id]!r}; "
        "runpy.run_module('kith.agent.worker', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=played.root, capture_output=True, text=True)
    assert done.returncode and "written" in done.stderr
    assert played.inbox.waiting(), "they are heard when there is room"
    assert played.start().wait(60) == 0 and played.past.ended and played.past.ended.text == "Hello."
