"""A session cut at any event resumes: nothing is lost, nothing runs twice, the end is the same."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agreeing import agree
from cutting import die_after, find_cuts
from kith.agent.project import Project
from kith.agent.tasks import Task, run_task
from kith.core.errors import UsageError
from kith.core.events import Event, Said
from kith.core.values import Change
from mending import CHECK, DONE, NEW, OLD, edit
from outside import Kith

WRONG = OLD.replace("+ 1", "+ 2")
MARK = {"calls": [{"name": "bash", "args": {"command": "echo once >> marks.txt"}}]}
SCRIPT = [
    {"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}]},
    json.dumps({"steps": ["Divide by the count"]}),
    edit(OLD, WRONG),
    MARK,
    DONE,
    edit(WRONG, NEW),
    DONE,
]


def write_script(folder: Path, replies: list[Any]) -> str:
    file = folder / "script.json"
    file.write_text(json.dumps([{"text": each} if isinstance(each, str) else each for each in replies]))
    return f"replay/{file}"


def replies_heard(app: Project, session: str) -> int:
    """How many of the script's replies are in the log; kith's own closing words are not."""
    events: list[Event] = [record.event for record in app.log.events(session)]
    said = [event.message for event in events if isinstance(event, Said)]
    return sum(message.role == "assistant" and message.author != "kith" for message in said)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(5))
@pytest.mark.usefixtures("sandbox")
def test_cut_after_any_kind_of_event_it_ends_the_same(repository: Path, tmp_path: Path, start: int) -> None:
    fixed = (repository / "utils.py").read_text().replace(OLD, NEW)
    events = list[Event]()
    app = Project.open(repository, {"model": write_script(tmp_path, SCRIPT), "check": (CHECK,)})
    whole = asyncio.run(
        run_task(app, Task("fix mean", plan="yes"), agree, [lambda e, path: events.append(e)])
    )
    assert whole.report["status"] == "done"
    lasting = [each for each in events if not getattr(each, "transient", False)]
    for number in find_cuts(lasting)[start::5]:  # five tests share them
        subprocess.run(["git", "checkout", "-q", "."], cwd=repository, check=True)
        subprocess.run(["git", "clean", "-fdq"], cwd=repository, check=True)
        model = write_script(tmp_path, SCRIPT)
        child = os.fork()
        if not child:
            given = {"model": model, "check": (CHECK,)}
            die_after(repository, given, Task("fix mean", plan="yes"), number)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code == 9
        app = Project.open(repository, {})
        session = app.sessions()[0].id
        rest = SCRIPT[replies_heard(app, session) :]
        # What was interrupted is not run again: where that was the edit, the check says so, and it is made.
        again = {"calls": [{"name": "write", "args": {"path": "utils.py", "content": fixed}}]}
        app = Project.open(repository, {"model": write_script(tmp_path, [*rest, again, DONE])})
        result = asyncio.run(run_task(app, Task("", resume=session), agree))
        assert result.report["status"] == "done", f"cut after event {number}: {result.report['text']}"
        marks = repository / "marks.txt"
        assert NEW in (repository / "utils.py").read_text(), f"cut after event {number}"
        assert not marks.exists() or marks.read_text() == "once\n", f"cut after event {number}"


def test_a_finished_session_is_not_resumed_and_stays_finished(kith: Kith, tmp_path: Path) -> None:
    model = write_script(tmp_path, [edit(), DONE])
    report = kith.run("--yes", "-m", model, "--check", "none", "fix mean")
    refused = kith("run", "-m", model, "--resume", report["session"], code=2)
    assert "is over (done)" in refused.stderr
    assert json.loads(kith("sessions", "--json").stdout)[0]["status"] == "done"


def test_a_session_of_another_folder_is_not_resumed(repository: Path, tmp_path: Path) -> None:
    app = Project.open(repository, {"model": write_script(tmp_path, ["ok"])})
    report = asyncio.run(run_task(app, Task("what?"), agree)).report
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(UsageError, match="belongs to"):
        asyncio.run(run_task(Project.open(other, {}), Task("", resume=report["session"]), agree))


@pytest.mark.slow
def test_the_steps_limit_can_be_raised_and_the_work_goes_on(kith: Kith, tmp_path: Path) -> None:
    model = write_script(tmp_path, [edit(), DONE])
    report = kith.run("--yes", "-m", model, "--check", CHECK, "--max-steps", "1", "fix mean", code=4)
    assert report["status"] == "limit"
    model = write_script(tmp_path, [DONE])
    report = kith.run("--yes", "-m", model, "--resume", report["session"])
    assert report["status"] == "done" and NEW in (kith.folder / "utils.py").read_text()
    assert report["receipt"]["checks"]["after"][0]["ok"], "the check is remembered"


def test_a_read_only_session_stays_read_only(kith: Kith, tmp_path: Path) -> None:
    model = write_script(tmp_path, [{"calls": [{"name": "list", "args": {}}]}])
    report = kith.run("--read-only", "-m", model, "--max-steps", "1", "look", code=4)
    model = write_script(tmp_path, [edit(), "I may not."])
    report = kith.run("--yes", "-m", model, "--resume", report["session"])
    assert report["changes"] == [] and OLD in (kith.folder / "utils.py").read_text()


def test_a_change_the_log_missed_can_still_be_undone(repository: Path) -> None:
    """A process may die between the journal's last word and the log's."""
    utils = repository / "utils.py"
    before = utils.read_bytes()
    change = Change("utils.py", before, before.replace(OLD.encode(), NEW.encode()))
    asyncio.run(Project.open(repository, {}).tree.apply((change,)))
    Kith(repository)("undo")
    assert utils.read_bytes() == before
