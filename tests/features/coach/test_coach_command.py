"""`kith coach` from outside: a model that edits well only when it may send whole files."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kith.agent.project import Project
from kith.core.decisions import Coached, Compared
from kith.core.events import Called, Judged, Proposed, RunEnded, RunStarted
from kith.core.run import new_id
from kith.core.values import FileChange, Ran
from kith.features.coach.adoption import FEWEST
from kith.features.coach.experiment import Recorded, find_tasks
from kith.features.coach.strategy import COACH, Levers, Strategy, options_of
from kith.features.demo.standin.ollama import make_id
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from outside import Kith, StandIn

WHOLE = Strategy(Levers(edits="whole"))
ASKED_WHOLE = "its path on a line of its own"
MODEL, KIND, TASKS = "ollama/standin", "edit-small", 24
DIGEST = make_id("standin:latest", length=64)


class Moody:
    """A model that solves every task when it is asked for whole files, and else every second one."""

    spoiled = False

    def __call__(self, request: Any) -> str:
        first = next(each["content"] for each in request["messages"] if each["role"] == "user")
        number, system = int(re.findall(r"Let n(\d+)\.py", first)[-1]), request["messages"][0]["content"]
        name = f"n{number:02}.py"
        if ASKED_WHOLE in system:
            return f"{name}\n```\nvalue = {0 if self.spoiled else number}\n```\n"
        old = "valeu := zero" if number % 2 else "value = 0"
        return f"{name}\n<<<<<<< SEARCH\n{old}\n=======\nvalue = {number}\n>>>>>>> REPLACE\n"


@pytest.fixture
def numbers(tmp_path: Path, home: Path) -> Kith:
    """A project of small files, each of which is to say its number."""
    folder = tmp_path / "numbers"
    folder.mkdir()
    for number in range(1, TASKS + 1):
        (folder / f"n{number:02}.py").write_text("value = 0\n")
    hook = tmp_path / "hook-ran"
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Zeros"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    for name in ("post-checkout", "pre-commit", "post-commit"):
        place = folder / ".git" / "hooks" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\ntouch '{hook}'\n")
        place.chmod(0o755)
    settings = home / ".config" / "kith" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[coach]\nlive = 1.0\n")
    return Kith(folder)


def words_of(number: int) -> str:
    return f"Let n{number:02}.py say {number} instead of 0."


def check_of(number: int) -> str:
    return f"grep -q 'value = {number}$' n{number:02}.py"


def do(kith: Kith, number: int) -> dict[str, Any]:
    """One task of a person, who looks at the diff and leaves it at that."""
    return kith.run("--check", check_of(number), words_of(number), code=None)


def coached(kith: Kith) -> dict[str, Any]:
    """What `kith coach` knows of the one model."""
    (work,) = json.loads(kith("coach", "--json").stdout)["work"]
    return dict(work)


@pytest.fixture
def remember(home: Path, numbers: Kith) -> Callable[[int, bool, str], None]:
    """Puts a task into the log, as a run of it would: solved or not, asked in a way."""
    log = Log(home / ".local" / "state" / "kith" / LOG_FILE)
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=numbers.folder, text=True).strip()

    def write(number: int, solved: bool, strategy: str = "") -> None:
        ran = Ran(check_of(number), 0 if solved else 1, "", 0.1)
        options = {"check": check_of(number), "commit": commit}
        with Session(log, new_id()) as session:
            session.emit(RunStarted(words_of(number), str(numbers.folder), MODEL, "1", options))
            session.emit(Called(MODEL, "edit", 1, strategy=strategy))
            session.emit(Proposed((FileChange(f"n{number:02}.py", 1, 1, ""),)))
            session.emit(Judged(ran.command, False, 1, "no", (ran,), when="before"))
            session.emit(Judged(ran.command, solved, 1, "" if solved else "no", (ran,)))
            session.emit(RunEnded("done" if solved else "failed", ""))

    return write


def leave_unfinished(home: Path, numbers: Kith, some: range) -> None:
    """An experiment that was cut short after some pairs."""
    log = Log(home / ".local" / "state" / "kith" / LOG_FILE)
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=numbers.folder, text=True).strip()
    with Session(log, new_id()) as session:
        options = options_of(COACH, DIGEST, KIND, WHOLE.id)
        session.emit(RunStarted("coach", str(numbers.folder), MODEL, "1", options))
        session.emit(Coached(DIGEST, MODEL, KIND, WHOLE.data, "proposed", "edits break", "rules"))
        for number in some:
            task = Recorded(words_of(number), KIND, (check_of(number),), str(numbers.folder), commit)
            session.emit(Compared(WHOLE.id, task.id, number % 2 == 0, True, 1.0, 1.0))


Remember = Callable[..., None]


def test_without_recorded_tasks_the_exercises_are_enough_to_begin(numbers: Kith) -> None:
    tasks = find_tasks(Project.open(numbers.folder, {}), ())
    assert all(len(each) >= FEWEST for each in tasks.values()) and KIND in tasks


@pytest.mark.slow
def test_a_task_records_its_commit_when_the_tree_is_clean(numbers: Kith, stand_in: StandIn) -> None:
    stand_in(Moody())
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=numbers.folder, text=True).strip()
    do(numbers, 1)
    (numbers.folder / "n02.py").write_text("value = 2\n")
    do(numbers, 1)
    log = Log(Path.home() / ".local" / "state" / "kith" / LOG_FILE)
    sessions = [list(log.events(id)) for id in log.session_ids()]
    commits = [events[0].event.options.commit for events in sessions]  # type: ignore[union-attr]
    assert commits == [head, ""]


@pytest.mark.slow
def test_a_better_way_is_accepted_tried_live_adopted_and_undone(
    numbers: Kith, stand_in: StandIn, remember: Remember, home: Path, tmp_path: Path
) -> None:
    server = stand_in(Moody())
    for number in range(1, TASKS + 1):
        remember(number, number % 2 == 0)
    leave_unfinished(home, numbers, range(1, 19))

    # Two more pairs settle it, each done in a checkout beside the project.
    (tried,) = json.loads(numbers("coach", "run", "--minutes", "1", "--json").stdout)["tried"]
    assert tried["verdict"] == "accept" and "10 won, 0 lost in 20 pairs" in tried["why"]
    assert len(server.requests) >= 4
    assert coached(numbers)["canary"] == WHOLE.id
    assert subprocess.check_output(["git", "status", "--porcelain"], cwd=numbers.folder) == b""
    assert not (tmp_path / "hook-ran").exists()
    assert len(list((home / ".cache" / "kith" / "coach").iterdir())) == 1

    # Live work tries it, and holds what the trials promised.
    assert do(numbers, 3)["status"] == "rejected"
    assert ASKED_WHOLE in server.requests[-1]["messages"][0]["content"]
    for number in range(1, 31):
        remember(1 + number % TASKS, True, WHOLE.id)
    assert coached(numbers)["champion"] == WHOLE.id
    assert "asked edits whole" in numbers("coach").stdout

    # It stops being better: the original holds again, and the way is not tried a second time.
    for number in range(1, 31):
        remember(1 + number % TASKS, False, WHOLE.id)
    told = coached(numbers)
    assert (told["champion"], told["canary"]) == ("", "")
    assert [each["state"] for each in told["history"]] == ["proposed", "canary", "adopted", "undone"]
    assert do(numbers, 4)["status"] == "rejected"
    assert ASKED_WHOLE not in server.requests[-1]["messages"][0]["content"]


@pytest.mark.slow
def test_a_person_may_adopt_and_undo_by_hand(numbers: Kith, stand_in: StandIn, home: Path) -> None:
    stand_in(Moody())
    leave_unfinished(home, numbers, range(1, 2))
    assert "No way" in numbers("coach", "adopt", WHOLE.id, code=2).stderr  # nothing has accepted it yet
    numbers("coach", "undo", WHOLE.id[:4])
    assert coached(numbers)["ways"][0]["state"] == "undone"
    assert "No way" in numbers("coach", "undo", WHOLE.id, code=2).stderr


def adopt(home: Path, numbers: Kith) -> None:
    with Session(Log(home / ".local" / "state" / "kith" / LOG_FILE), new_id()) as session:
        options = options_of(COACH, DIGEST, KIND, WHOLE.id)
        session.emit(RunStarted("coach", str(numbers.folder), MODEL, "1", options))
        session.emit(Coached(DIGEST, MODEL, KIND, WHOLE.data, "adopted", "better", "rules"))


@pytest.mark.slow
def test_original_asks_a_task_in_no_tuned_way(
    numbers: Kith, stand_in: StandIn, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_COACH_LIVE", "0")  # else one task in twenty is asked as before
    server = stand_in(Moody())
    adopt(home, numbers)
    for options, tuned in (((), True), (("--original",), False)):
        told = numbers("run", "--check", check_of(4), *options, words_of(4), code=None).stderr
        assert (ASKED_WHOLE in server.requests[-1]["messages"][0]["content"]) is tuned
        assert (f"another way by kith coach ({WHOLE.id}): edits whole" in told) is tuned, told


@pytest.mark.slow
def test_the_whole_course_with_nothing_prepared(numbers: Kith, stand_in: StandIn) -> None:
    stand_in(Moody())
    solved = [do(numbers, number)["status"] == "rejected" for number in range(1, TASKS + 1)]
    assert sum(solved) == TASKS // 2
    (tried,) = json.loads(numbers("coach", "run", "--json").stdout)["tried"]
    assert tried["levers"] == {"edits": "whole"} and tried["verdict"] == "accept"


@pytest.mark.slow
def test_an_experiment_ends_after_so_many_trials(
    numbers: Kith, stand_in: StandIn, remember: Remember, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(Moody())
    for number in range(1, TASKS + 1):
        remember(number, number % 2 == 0)
    leave_unfinished(home, numbers, range(1, 4))
    monkeypatch.setenv("KITH_COACH_MAX_TRIALS", "3")  # fewer than would settle it
    tried = json.loads(numbers("coach", "run", "--minutes", "1", "--json").stdout)["tried"]
    assert {(each["verdict"], each["figures"]["pairs"]) for each in tried} == {("refuse", 3)}
